# no-collection.sh - where that could not help nothing goes back, and empty_cache asks in vain; the output is TensorFlow's.
exec "$FRAGSIM" run --policy bfc:memory_limit=16777216,garbage_collection=true --on-oom continue --placements - - <<'EOF'
{"op":"alloc","id":1,"size":2097152}
{"op":"alloc","id":2,"size":4194304}
{"op":"alloc","id":3,"size":8388608}
{"op":"free","id":1}
{"op":"free","id":3}
{"op":"empty_cache"}
{"op":"alloc","id":4,"size":13631488}
{"op":"alloc","id":5,"size":8388608}
EOF
