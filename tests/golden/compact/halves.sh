# halves.sh - two segments are half live, and a request needs all of one: the
# lower half, which costs as much, goes into the hole of the other segment, and
# is freed by its id.
exec "$FRAGSIM" run --policy compact:over=bestfit,segment=1024,block_cost=1 --check --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":4096,"context_bytes":0,"granularity_bytes":1024}}
{"op":"alloc","id":"a","size":512}
{"op":"alloc","id":"b","size":512}
{"op":"alloc","id":"c","size":512}
{"op":"alloc","id":"d","size":512}
{"op":"alloc","id":"e","size":2048}
{"op":"free","id":"b"}
{"op":"free","id":"c"}
{"op":"alloc","id":"f","size":1024}
{"op":"free","id":"a"}
{"op":"alloc","id":"g","size":512}
EOF
