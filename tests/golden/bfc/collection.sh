# collection.sh - garbage_collection: unused regions go back before it is out of memory; the output is TensorFlow's.
exec "$FRAGSIM" run --policy bfc:memory_limit=16777216,garbage_collection=true --on-oom continue --placements - - <<'EOF'
{"op":"alloc","id":1,"size":2097152}
{"op":"alloc","id":2,"size":4194304}
{"op":"alloc","id":3,"size":8388608}
{"op":"free","id":1}
{"op":"free","id":3}
{"op":"alloc","id":4,"size":11534336}
{"op":"free","id":2}
{"op":"alloc","id":5,"size":7340032}
EOF
