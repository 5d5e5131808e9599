# one-region-refused.sh - allow_growth=false where the device has less; the output is TensorFlow's.
exec "$FRAGSIM" run --policy bfc:allow_growth=false --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":67108864,"context_bytes":5242957}}
{"op":"alloc","id":1,"size":1}
{"op":"alloc","id":2,"size":41943040}
{"op":"alloc","id":3,"size":20971520}
{"op":"free","id":2}
{"op":"alloc","id":4,"size":40894464}
EOF
