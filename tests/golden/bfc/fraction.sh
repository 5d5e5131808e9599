# fraction.sh - a twentieth of the limit is split off; the output is TensorFlow's.
exec "$FRAGSIM" run --policy bfc:memory_limit=1048576000,fragmentation_fraction=0.05 --on-oom continue --placements - - <<'EOF'
{"op":"alloc","id":1,"size":524288000}
{"op":"alloc","id":2,"size":12582912}
{"op":"free","id":1}
{"op":"alloc","id":3,"size":446693376}
{"op":"free","id":3}
{"op":"alloc","id":4,"size":446693377}
{"op":"free","id":4}
{"op":"alloc","id":5,"size":314572800}
EOF
