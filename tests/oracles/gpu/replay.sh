#!/bin/sh
# replay.sh - fragsim replay on a real GPU; skipped where there is none. Prints TAP.
#
# The same placements as `run` with the figures that replay found, predictions
# that hold, an out-of-memory on purpose, patterns that stay, and the table of
# costs, which is shown.
set -eu

cd "$(dirname "$0")/../../.."
. tests/oracles/gpu/begin.inc

# other_bytes: what the last replay left to others, with the memory outside its limit.
other_bytes()
{
	/usr/bin/python3 -B -c 'import json, sys
print(json.load(open(sys.argv[1]))["runs"][0]["device"]["other_bytes"])' "$folder/r.json"
}

# same POLICY TRACE LIMIT: replay and run agree, byte for byte. The profile has the pages that small
# segments share, which no option of run can say.
same()
{
	"$program" replay -q -p "$1" --limit "$3" --on-oom continue --json "$folder/r.json" \
		--write-profile "$folder/profile.json" --placements "$folder/replay" "$2" \
		>"$folder/out" 2>&1
	case $? in 0 | 3) ;; *) return 1 ;; esac
	"$program" run -q -p "$1" --on-oom continue --placements "$folder/run" \
		--profile "$folder/profile.json" --other-bytes "$(other_bytes)" "$2" >>"$folder/out" 2>&1
	cmp "$folder/run" "$folder/replay" >>"$folder/out" 2>&1
}

trace=$traces/resnet50_train_bs32_fp32.ndjson.gz
for policy in bestfit buddy sizeclass pytorch pytorch:expandable_segments=true; do
	for limit in 4GiB 2GiB; do
		status=0
		(set +e; same "$policy" "$trace" "$limit") || status=1
		report "$status" "run and replay place alike: $policy, limit $limit"
	done
done
# Within 4 GiB alone: a driver packs small segments less tightly than the simulated device, so near a
# limit direct has an out-of-memory at another step.
status=0
(set +e; same direct "$trace" 4GiB) || status=1
report "$status" "run and replay place alike: direct, limit 4GiB"

for policy in bestfit pytorch pytorch:expandable_segments=true; do
	status=0
	"$program" replay -p "$policy" --fail-if 'prediction.error_percent > 1' \
		--fail-if 'prediction.differs > 0' \
		"$traces/resnet50_train_bs32_fp32.ndjson.gz" >"$folder/out" 2>&1 || status=$?
	report "$status" "the prediction holds to one percent: $policy"
	sed -n '/ on device 0, /,$p' "$folder/out" | sed 's/^/# /'
done

status=0
"$program" replay -q -p pytorch --limit 1GiB "$traces/resnet50_train_bs32_fp32.ndjson.gz" \
	>"$folder/out" 2>&1 || status=$?
report "$((status != 3))" "a limit that is too small is an out-of-memory, status 3"

status=0
"$program" replay -q --verify -p bestfit -p pytorch -p pytorch:expandable_segments=true \
	"$traces/resnet50_train_bs32_fp32.ndjson.gz" >"$folder/out" 2>&1 || status=$?
report "$status" "patterns stay where they were written"

echo "1..$number"
exit "$failed"
