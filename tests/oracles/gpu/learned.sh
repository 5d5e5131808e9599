#!/bin/sh
# learned.sh - what fragsim replay learns of a real GPU; skipped where there is none. Prints TAP.
#
# Its profile, which a run simulates alike; the largest piece that it has; its
# driver's own pool within the limit. What was found is shown.
set -eu

cd "$(dirname "$0")/../../.."
. tests/oracles/gpu/begin.inc
trace=$traces/resnet50_train_bs32_fp32.ndjson.gz

# good TITLE COMMAND...: one test, good where the command is.
good()
{
	title=$1
	shift
	status=0
	"$@" >"$folder/out" 2>&1 || status=$?
	report "$status" "$title"
}

# say FILE PYTHON: evaluates it with `d`, the JSON of the file; fails where it is not true.
say()
{
	/usr/bin/python3 -B -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(json.dumps(d)[:1500])
sys.exit(not eval(sys.argv[2]))' "$1" "$2"
}

profile=$folder/profile.json
good "a profile is written" "$program" replay -q -p direct -p bestfit \
	-p pytorch:expandable_segments=true --write-profile "$profile" "$trace"
good "it has what was called, and a device with a name" say "$profile" \
	'{c["call"] for c in d["calls"]} >= {"cudaMalloc", "cudaFree", "map"} and d["device"]["name"]'
sed 's/^/# /' "$profile"
for policy in direct bestfit pytorch; do
	"$program" replay -q -p "$policy" --placements "$folder/replay" "$trace" \
		>"$folder/out" 2>&1 || :
	"$program" run -q -p "$policy" --profile "$profile" --placements "$folder/run" "$trace" \
		>>"$folder/out" 2>&1 || :
	good "run on the profile places alike: $policy" cmp "$folder/replay" "$folder/run"
done
good "what direct takes, small requests among it, is shown" \
	"$program" replay -p direct --json "$folder/r.json" "$trace"
sed -n '/ on device 0, /,$p' "$folder/out" | sed 's/^/# /'

good "the largest piece is found at marks" "$program" replay --probe marks \
	--json "$folder/r.json" "$trace"
sed -n '/^  probes/,$p' "$folder/out" | sed 's/^/# /'
good "it is no more than what is free" say "$folder/r.json" \
	'd["runs"][0]["probes"] and all(0 < p["largest_bytes"] <= p["free_bytes"]
	for p in d["runs"][0]["probes"])'

for keys in '' ':release_threshold=4GiB' ':allow_opportunistic=false,allow_internal_dependencies=false'
do
	good "the driver's own pool serves the trace: cuda-async$keys" "$program" replay \
		--allocator "cuda-async$keys" --limit 6GiB --json "$folder/r.json" "$trace"
	sed -n '/^policy/,/^$/p; / on device 0, /,$p' "$folder/out" | sed 's/^/# /'
	good "it stays below the limit" say "$folder/r.json" \
		'0 < d["runs"][0]["peak"]["reserved"] <= 6 << 30'
done
good "patterns stay in the pool" "$program" replay -q --verify --allocator cuda-async "$trace"
status=0
"$program" replay -q --allocator cuda-async --limit 1GiB "$trace" >"$folder/out" 2>&1 || status=$?
report "$((status != 3))" "a limit that is too small is an out-of-memory in the pool, too"

echo "1..$number"
exit "$failed"
