# back-off.sh - each refused region is followed by one of nine tenths, a product in float; the output is TensorFlow's.
exec "$FRAGSIM" run --policy bfc:memory_limit=10000000000 --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":1000000000,"granularity_bytes":1}}
{"op":"alloc","id":1,"size":1000}
{"op":"alloc","id":2,"size":3145728}
{"op":"alloc","id":3,"size":943718400}
{"op":"alloc","id":4,"size":6000000}
{"op":"alloc","id":5,"size":1000}
{"op":"free","id":3}
{"op":"alloc","id":6,"size":838860800}
EOF
