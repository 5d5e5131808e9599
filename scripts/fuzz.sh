#!/bin/sh
# fuzz.sh MINUTES FUZZER... - run each fuzzer, FOLDER/fuzz_NAME, for so long. It begins
# with tests/fuzz/corpus/NAME and what it found before, in FOLDER/corpus/NAME; what
# breaks it goes to FOLDER/NAME-*. FUZZARGS are more arguments of libFuzzer.
set -eu

seconds=$(($1 * 60))
shift
for fuzzer in "$@"; do
	folder=${fuzzer%/*}
	name=${fuzzer##*/fuzz_}
	kept=tests/fuzz/corpus/$name
	if [ ! -d "$kept" ]; then
		kept=
	fi
	mkdir -p "$folder/corpus/$name"
	# Words, of which there may be none.
	# shellcheck disable=SC2086
	"$fuzzer" -max_total_time=$seconds -artifact_prefix="$folder/$name-" ${FUZZARGS-} \
		"$folder/corpus/$name" $kept
done
