# split.sh - a block of twice the request or more is split, a smaller one not; the output is TensorFlow's.
exec "$FRAGSIM" run --policy bfc --on-oom continue --placements - - <<'EOF'
{"op":"alloc","id":1,"size":1048576}
{"op":"alloc","id":2,"size":256}
{"op":"free","id":1}
{"op":"alloc","id":3,"size":524288}
{"op":"alloc","id":4,"size":256}
{"op":"free","id":3}
{"op":"alloc","id":5,"size":524289}
{"op":"free","id":5}
{"op":"alloc","id":6,"size":1048320}
{"op":"free","id":6}
{"op":"alloc","id":7,"size":262144}
{"op":"alloc","id":8,"size":307200}
EOF
