# pending.sh - of the halves one is pending, and not moved: the other is. Where
# both are, nothing can be, and the request is out of memory.
exec "$FRAGSIM" run --policy compact:over=bestfit,segment=1024 --on-oom continue --check --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":4096,"context_bytes":0,"granularity_bytes":1024}}
{"op":"alloc","id":"a","size":512}
{"op":"alloc","id":"b","size":512}
{"op":"alloc","id":"c","size":512}
{"op":"alloc","id":"d","size":512}
{"op":"alloc","id":"e","size":2048}
{"op":"free","id":"b"}
{"op":"free","id":"c"}
{"op":"free","id":"a","pending":true}
{"op":"alloc","id":"f","size":1024}
{"op":"free","id":"f"}
{"op":"free","id":"d","pending":true}
{"op":"alloc","id":"g","size":1024}
{"op":"alloc","id":"h","size":1024}
EOF
