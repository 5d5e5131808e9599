# granularity.sh - a segment takes whole pages of the device.
exec "$FRAGSIM" run --policy bestfit:align=64,segment=64 --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":3500,"context_bytes":500,"granularity_bytes":1000}}
{"op":"alloc","id":"a","size":64}
{"op":"alloc","id":"b","size":1000}
{"op":"alloc","id":"c","size":1}
EOF
