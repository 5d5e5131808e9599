# merge.sh - a freed block joins both neighbours, but no region another; the output is TensorFlow's.
exec "$FRAGSIM" run --policy bfc --on-oom continue --placements - - <<'EOF'
{"op":"alloc","id":1,"size":1048576}
{"op":"alloc","id":2,"size":524288}
{"op":"alloc","id":3,"size":524288}
{"op":"alloc","id":4,"size":4194304}
{"op":"free","id":1}
{"op":"free","id":3}
{"op":"free","id":2}
{"op":"alloc","id":5,"size":2097152}
{"op":"free","id":5}
{"op":"free","id":4}
{"op":"alloc","id":6,"size":5242880}
EOF
