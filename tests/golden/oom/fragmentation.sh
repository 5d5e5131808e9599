# fragmentation.sh - enough is free, but not in one piece; the run stops
# there.
"$FRAGSIM" run --quiet --json result "$GOLDEN_DIR/fragmentation.ndjson"
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
