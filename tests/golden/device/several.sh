# several.sh - each device has its policy; what names no device holds for all.
exec "$FRAGSIM" run --policy bestfit:align=64,segment=1024 --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"devices":[{"total_bytes":2048,"granularity_bytes":1024},{"granularity_bytes":1024}]}
{"op":"alloc","id":"a","size":64,"device":1}
{"op":"alloc","id":"b","size":64}
{"op":"alloc","id":"c","size":2048}
{"op":"alloc","id":"d","size":2048,"device":1}
{"op":"mark","name":"m"}
{"op":"free","id":"a"}
{"op":"free","id":"d"}
{"op":"free","id":"b"}
{"op":"empty_cache"}
{"op":"alloc","id":"e","size":1,"device":1}
{"op":"alloc","id":"f","size":1,"device":0}
{"op":"free","id":"e"}
{"op":"free","id":"f"}
{"op":"empty_cache","device":1}
EOF
