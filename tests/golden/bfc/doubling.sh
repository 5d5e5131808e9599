# doubling.sh - regions of 2, 4, 8 MiB; a size doubled for a request is not doubled again; the output is TensorFlow's.
exec "$FRAGSIM" run --policy bfc --on-oom continue --placements - - <<'EOF'
{"op":"alloc","id":1,"size":1000}
{"op":"alloc","id":2,"size":3145728}
{"op":"alloc","id":3,"size":3145728}
{"op":"alloc","id":4,"size":104857600}
{"op":"alloc","id":5,"size":209715200}
{"op":"free","id":2}
{"op":"alloc","id":6,"size":4194304}
EOF
