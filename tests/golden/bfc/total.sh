# total.sh - without a limit the total is it, context or not; the output is TensorFlow's.
exec "$FRAGSIM" run --policy bfc --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":41943040,"context_bytes":3145728}}
{"op":"alloc","id":1,"size":3145728}
{"op":"alloc","id":2,"size":5242880}
{"op":"alloc","id":3,"size":31457280}
{"op":"alloc","id":4,"size":4194304}
{"op":"alloc","id":5,"size":12582912}
{"op":"alloc","id":6,"size":1048576}
EOF
