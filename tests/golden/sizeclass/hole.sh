# hole.sh - what a request lacks is looked for where the policy looks: a small one not among large.
#
# Two slabs of 64 KiB have 48 KiB live each, a large block has 40 KiB, and the device 32 KiB left.
# No block but one in a slab can serve 4 KiB, and a slab of their class takes 64 KiB: the least to
# give back is the whole segment of 40 KiB. 40 KiB, a large size, can be where that block is.
cat >trace.ndjson <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":"200KiB","granularity_bytes":"4KiB"}}
{"op":"alloc","id":1,"size":"16KiB"}
{"op":"alloc","id":2,"size":"16KiB"}
{"op":"alloc","id":3,"size":"16KiB"}
{"op":"alloc","id":4,"size":"16KiB"}
{"op":"alloc","id":5,"size":"16KiB"}
{"op":"alloc","id":6,"size":"16KiB"}
{"op":"alloc","id":7,"size":"16KiB"}
{"op":"free","id":1}
{"op":"alloc","id":8,"size":"40KiB"}
{"op":"alloc","id":9,"size":"4KiB"}
{"op":"alloc","id":10,"size":"40KiB"}
EOF
"$FRAGSIM" run -q --on-oom continue --json out.json \
	-p sizeclass:max_small=16KiB,slab=64KiB,segment=4KiB trace.ndjson
echo "status $?"
sed -n '/"hole":	{/,/"holders"/p' out.json
