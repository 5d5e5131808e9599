# oversize.sh - whether a segment is oversize is asked when it comes and again
# when it goes: under a max_split_size_mb that came in between, fewer than none
# are left, as in PyTorch.
"$FRAGSIM" run --quiet --policy pytorch --json result - <<'EOF'
{"op":"alloc","id":1,"size":"40MiB"}
{"op":"configure","value":"max_split_size_mb:20"}
{"op":"free","id":1}
{"op":"empty_cache"}
EOF
/usr/bin/python3 -B -c '
import json
stats = json.load(open("result"))["runs"][0]["pytorch"]
for name in "oversize_allocations", "oversize_segments":
    print(name, *("%s %d" % pair for pair in stats[name].items()))
'
