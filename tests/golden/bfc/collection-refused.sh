# collection-refused.sh - the device refuses after the collection, too: all is gone, and it is out of memory; the output is TensorFlow's.
exec "$FRAGSIM" run --policy bfc:memory_limit=1073741824,garbage_collection=true --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":16777216}}
{"op":"alloc","id":1,"size":2097152}
{"op":"alloc","id":2,"size":4194304}
{"op":"alloc","id":3,"size":8388608}
{"op":"free","id":1}
{"op":"free","id":3}
{"op":"alloc","id":4,"size":13631488}
{"op":"alloc","id":5,"size":1048576}
EOF
