# limited.sh - the floor is what the program requests, also where a policy's own limit ends its run.
#
# cupy refuses the second request on any device. 10 MiB and 30 are requested at once all the same.
cat >trace.ndjson <<'EOF'
{"format":"fragsim-trace","version":1}
{"op":"alloc","id":1,"size":"10MiB"}
{"op":"alloc","id":2,"size":"30MiB"}
EOF
"$FRAGSIM" fit -p cupy:limit=20MiB -p direct --format csv trace.ndjson | cut -d, -f2,5-7
# a batch of n requests n MiB: 100 are the last that fit, and nothing beyond has to be tried
for n in 2 4; do
	printf '{"format":"fragsim-trace","version":1}\n{"op":"alloc","id":1,"size":"%sMiB"}\n' $n >$n.ndjson
done
"$FRAGSIM" predict -p cupy:limit=1MiB -p direct --largest --device-bytes 100MiB 2.ndjson=2 \
	4.ndjson=4 | tail -n 4
"$FRAGSIM" predict -p cupy:limit=1MiB --at 8 2.ndjson=2 4.ndjson=4 | grep '^at 8'
