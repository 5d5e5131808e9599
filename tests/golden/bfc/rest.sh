# rest.sh - of a large block 128 MiB are split off, one byte less is not; the output is TensorFlow's.
exec "$FRAGSIM" run --policy bfc --on-oom continue --placements - - <<'EOF'
{"op":"alloc","id":1,"size":524288000}
{"op":"alloc","id":2,"size":12582656}
{"op":"free","id":1}
{"op":"alloc","id":3,"size":390070272}
{"op":"free","id":3}
{"op":"alloc","id":4,"size":390070273}
{"op":"free","id":4}
{"op":"alloc","id":5,"size":390070529}
{"op":"free","id":5}
{"op":"alloc","id":6,"size":104857600}
EOF
