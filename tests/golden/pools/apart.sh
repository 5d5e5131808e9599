# apart.sh - blocks of different pools never share a segment; a refusal takes
# the idle segments of any pool; 1 and "1" are two pools.
exec "$FRAGSIM" run --policy bestfit:align=64,segment=1024 --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":4096,"context_bytes":0,"granularity_bytes":1024}}
{"op":"alloc","id":"a","size":64}
{"op":"alloc","id":"b","size":64,"pool":1}
{"op":"alloc","id":"c","size":64,"pool":"1"}
{"op":"alloc","id":"d","size":64,"pool":1}
{"op":"alloc","id":"e","size":64,"pool":0}
{"op":"free","id":"b"}
{"op":"free","id":"d"}
{"op":"alloc","id":"f","size":512}
{"op":"alloc","id":"g","size":512}
{"op":"alloc","id":"h","size":1024}
{"op":"alloc","id":"i","size":64,"pool":1}
EOF
