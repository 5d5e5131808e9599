# segments.sh - every request is a segment of its own, released when it is
# freed.
exec "$FRAGSIM" run --policy direct --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":16384,"context_bytes":0,"granularity_bytes":4096}}
{"op":"alloc","id":"a","size":1}
{"op":"alloc","id":"b","size":4097}
{"op":"free","id":"a"}
{"op":"alloc","id":"c","size":5000}
{"op":"alloc","id":"z","size":0}
{"op":"alloc","id":"d","size":1}
{"op":"free","id":"b"}
{"op":"free","id":"d"}
{"op":"alloc","id":"e","size":8192}
{"op":"empty_cache"}
{"op":"free","id":"z"}
EOF
