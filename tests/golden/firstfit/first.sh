# first.sh - the large enough free block with the lowest address.
exec "$FRAGSIM" run --policy firstfit:align=64,segment=1024 --placements - - <<'EOF'
{"op":"alloc","id":"a","size":256}
{"op":"alloc","id":"b","size":64}
{"op":"alloc","id":"c","size":512}
{"op":"free","id":"a"}
{"op":"alloc","id":"d","size":64}
{"op":"alloc","id":"e","size":128}
{"op":"alloc","id":"f","size":1000}
{"op":"free","id":"c"}
{"op":"alloc","id":"g","size":65}
{"op":"free","id":"f"}
{"op":"alloc","id":"h","size":700}
{"op":"alloc","id":"i","size":1}
EOF
