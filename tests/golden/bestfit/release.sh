# release.sh - where the device refuses, idle segments go back in order, once;
# then it is an OOM.
exec "$FRAGSIM" run --policy bestfit:align=64,segment=1024 --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":4096,"context_bytes":0,"granularity_bytes":1024}}
{"op":"alloc","id":"a","size":1024}
{"op":"alloc","id":"b","size":1024}
{"op":"alloc","id":"c","size":1024}
{"op":"alloc","id":"d","size":64}
{"op":"free","id":"c"}
{"op":"free","id":"a"}
{"op":"alloc","id":"e","size":2048}
{"op":"free","id":"b"}
{"op":"alloc","id":"f","size":1100}
EOF
