# ties.sh - the smallest free block that is large enough, of equal ones the
# lowest.
exec "$FRAGSIM" run --policy bestfit:align=64,segment=1024 --placements - - <<'EOF'
{"op":"alloc","id":"a","size":64}
{"op":"alloc","id":"b","size":64}
{"op":"alloc","id":"c","size":64}
{"op":"alloc","id":"d","size":64}
{"op":"alloc","id":"e","size":64}
{"op":"free","id":"b"}
{"op":"free","id":"d"}
{"op":"alloc","id":"f","size":64}
{"op":"alloc","id":"g","size":1}
{"op":"free","id":"a"}
{"op":"free","id":"c"}
{"op":"free","id":"f"}
{"op":"alloc","id":"h","size":129}
{"op":"alloc","id":"i","size":704}
{"op":"alloc","id":"j","size":64}
{"op":"free","id":"e"}
{"op":"alloc","id":"k","size":64}
{"op":"alloc","id":"l","size":2000}
EOF
