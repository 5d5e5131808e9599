# rover.sh - the first large enough free block at or after the rover, else the
# lowest; a free block that begins before the rover counts as before it.
exec "$FRAGSIM" run --policy nextfit:align=64,segment=1024 --placements - - <<'EOF'
{"op":"alloc","id":"a","size":256}
{"op":"alloc","id":"b","size":256}
{"op":"alloc","id":"c","size":256}
{"op":"free","id":"a"}
{"op":"alloc","id":"d","size":64}
{"op":"alloc","id":"e","size":256}
{"op":"free","id":"b"}
{"op":"alloc","id":"f","size":64}
{"op":"free","id":"f"}
{"op":"alloc","id":"g","size":64}
{"op":"alloc","id":"h","size":192}
{"op":"alloc","id":"i","size":1024}
{"op":"alloc","id":"j","size":64}
{"op":"free","id":"i"}
{"op":"alloc","id":"k","size":64}
{"op":"alloc","id":"l","size":128}
{"op":"alloc","id":"m","size":32}
{"op":"alloc","id":"n","size":1000}
{"op":"alloc","id":"o","size":64}
EOF
