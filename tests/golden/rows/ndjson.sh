# ndjson.sh - the same rows as objects: the name of the file says so.
"$FRAGSIM" run --quiet --policy sizeclass:quantum=64,max_small=512,slab=1000,segment=1024 --steps steps.ndjson - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":8192,"context_bytes":1000,"granularity_bytes":1024}}
{"op":"alloc","id":"a","size":300,"t":1.50}
{"op":"free","id":"a","pending":true,"t":2e0}
{"op":"mark","name":"m","t":-0.0}
{"op":"complete","id":"a"}
{"op":"alloc","id":7,"size":1025,"t":1000000000000000000000}
{"op":"alloc","id":8,"size":"5000"}
{"op":"alloc","id":9,"size":1}
{"op":"sync"}
EOF
status=$?
cat steps.ndjson
exit $status
