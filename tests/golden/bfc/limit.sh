# limit.sh - what is left of the limit is the last region, in whole 256 bytes; the output is TensorFlow's.
exec "$FRAGSIM" run --policy bfc:memory_limit=10486060 --on-oom continue --placements - - <<'EOF'
{"op":"alloc","id":1,"size":3145728}
{"op":"alloc","id":2,"size":5242880}
{"op":"alloc","id":3,"size":3145728}
{"op":"alloc","id":4,"size":2097152}
{"op":"alloc","id":5,"size":1}
{"op":"free","id":1}
{"op":"alloc","id":6,"size":1}
EOF
