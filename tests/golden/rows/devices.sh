# devices.sh - an event that holds for every device is a row a device; the
# figures of an unlimited one are empty.
exec "$FRAGSIM" run --policy firstfit:align=64,segment=1024 --steps - - <<'EOF'
{"format":"fragsim-trace","version":1,"devices":[{"total_bytes":4096,"granularity_bytes":1024},{"other_bytes":5,"context_bytes":7,"granularity_bytes":1024}]}
{"op":"mark","name":"all"}
{"op":"alloc","id":1,"size":100,"device":1}
{"op":"sync","device":1}
{"op":"sync","stream":3}
{"op":"free","id":1}
{"op":"empty_cache"}
EOF
