#!/bin/bash
# record.sh [NAME...] - record these programs, or all, as NAME.fsb here: real PyTorch 2.15.0 on the fake device of scripts/torch-run
# (scripts/torch-run/setup.sh 2.15.0 once, about 2.5 GB). FRAGSIM is the program (build/fragsim). Times are left out: a fake device has none.
set -eo pipefail
cd "$(dirname "$0")"
fragsim=$(realpath "${FRAGSIM:-../../build/fragsim}")
run="../../scripts/torch-run/torch-run 2.15.0 programs.py"
snapshot=$(mktemp)
trap 'rm -f "$snapshot"' EXIT
export FAKE_TOTAL=900G
for name in ${*:-$($run --list)}; do
	$run "$name" "$snapshot"
	"$fragsim" trace convert -q -t lines "$snapshot" - | sed 's/,"t":[0-9]*//' | "$fragsim" trace convert -q -t fsb - "$name.fsb"
done
