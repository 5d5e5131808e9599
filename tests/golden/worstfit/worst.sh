# worst.sh - the largest free block, of equal ones the lowest.
exec "$FRAGSIM" run --policy worstfit:align=64,segment=1024 --placements - - <<'EOF'
{"op":"alloc","id":"a","size":128}
{"op":"alloc","id":"b","size":64}
{"op":"alloc","id":"c","size":256}
{"op":"alloc","id":"d","size":64}
{"op":"free","id":"c"}
{"op":"alloc","id":"e","size":64}
{"op":"alloc","id":"f","size":192}
{"op":"alloc","id":"g","size":64}
{"op":"alloc","id":"h","size":64}
{"op":"alloc","id":"i","size":256}
{"op":"alloc","id":"j","size":64}
EOF
