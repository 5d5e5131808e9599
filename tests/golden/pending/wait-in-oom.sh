# wait-in-oom.sh - a pending block keeps its segment from going back.
exec "$FRAGSIM" run --policy bestfit:align=64,segment=1024 --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":1024,"context_bytes":0,"granularity_bytes":1024}}
{"op":"alloc","id":"a","size":1024}
{"op":"free","id":"a","pending":true}
{"op":"alloc","id":"b","size":1024}
{"op":"free","id":"b","pending":true}
{"op":"complete","id":"b"}
{"op":"complete","id":"a"}
{"op":"alloc","id":"c","size":2048}
{"op":"alloc","id":"d","size":1024}
EOF
