# streams.sh - one list for all streams; a pending block is free when it is waited for; the output is TensorFlow's.
exec "$FRAGSIM" run --policy bfc --on-oom continue --placements - - <<'EOF'
{"op":"alloc","id":1,"size":1048576,"stream":3}
{"op":"free","id":1}
{"op":"alloc","id":2,"size":1048576,"stream":"copy"}
{"op":"record_stream","id":2,"stream":9}
{"op":"free","id":2}
{"op":"alloc","id":3,"size":1048576}
{"op":"sync","stream":9}
{"op":"alloc","id":4,"size":1048576,"stream":5}
{"op":"free","id":3,"pending":true}
{"op":"alloc","id":5,"size":1048576}
{"op":"complete","id":3}
{"op":"alloc","id":6,"size":1048576}
EOF
