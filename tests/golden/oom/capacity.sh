# capacity.sh - too little is free, in whatever pieces; each policy and device
# says it of itself, the others go on.
"$FRAGSIM" run --quiet --json result -p buddy -p direct -p sizeclass - <<'EOF'
{"format":"fragsim-trace","version":1,"devices":[{},{"total_bytes":"3GiB","context_bytes":1073741824}]}
{"op":"alloc","id":"x","size":"1025MiB","device":1}
{"op":"alloc","id":"y","size":1610612737,"device":0}
{"op":"alloc","id":"z","size":"1023MiB","device":1}
{"op":"alloc","id":"w","size":1,"device":1}
EOF
status=$?
/usr/bin/python3 -B -c '
import json
for run in json.load(open("result"))["runs"]:
    print(run["policy"]["name"], run["status"], run["steps"], run["counts"]["ooms"])
    for oom in run["oom"]:
        oom.pop("metrics")      # the property tests judge them
        print(*("%s: %s" % pair for pair in oom.items()), sep="\n")
'
exit $status
