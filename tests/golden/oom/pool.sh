# pool.sh - an initial pool that the device refuses ends that run at step 0,
# also where it is told to go on.
"$FRAGSIM" run --on-oom continue --steps steps --placements places --json result --quiet \
	-p bestfit:pool=2MiB -p bestfit - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":2097152,"context_bytes":1}}
{"op":"mark","name":"m"}
{"op":"alloc","id":1,"size":0}
EOF
status=$?
cut -d, -f1,2,5,6,8 steps
cat places
/usr/bin/python3 -B -c '
import json
for run in json.load(open("result"))["runs"]:
    print(run["policy"]["name"], run["status"], run["steps"], run["counts"]["ooms"])
    for oom in run["oom"]:
        oom.pop("metrics")      # the property tests judge them
        print(*("%s: %s" % pair for pair in oom.items()), sep="\n")
'
exit $status
