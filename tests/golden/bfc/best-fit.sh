# best-fit.sh - the smallest that is large enough, of equals the one with the lowest address; the output is TensorFlow's.
exec "$FRAGSIM" run --policy bfc --on-oom continue --placements - - <<'EOF'
{"op":"alloc","id":1,"size":262144}
{"op":"alloc","id":2,"size":262144}
{"op":"alloc","id":3,"size":262144}
{"op":"alloc","id":4,"size":262144}
{"op":"alloc","id":5,"size":262144}
{"op":"alloc","id":6,"size":262144}
{"op":"alloc","id":7,"size":262144}
{"op":"alloc","id":8,"size":262144}
{"op":"free","id":7}
{"op":"free","id":3}
{"op":"free","id":5}
{"op":"alloc","id":10,"size":204800}
{"op":"alloc","id":11,"size":204800}
{"op":"free","id":1}
{"op":"free","id":2}
{"op":"alloc","id":12,"size":204800}
{"op":"alloc","id":13,"size":409600}
{"op":"alloc","id":14,"size":10}
EOF
