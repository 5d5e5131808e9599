# one-region.sh - allow_growth=false: all at once; the output is TensorFlow's.
exec "$FRAGSIM" run --policy bfc:memory_limit=67108864,allow_growth=false --on-oom continue --placements - - <<'EOF'
{"op":"alloc","id":1,"size":1}
{"op":"alloc","id":2,"size":10485760}
{"op":"alloc","id":3,"size":56623104}
{"op":"free","id":2}
{"op":"alloc","id":4,"size":4194304}
{"op":"alloc","id":5,"size":7340032}
{"op":"alloc","id":6,"size":6291456}
EOF
