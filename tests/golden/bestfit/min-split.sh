# min-split.sh - a rest smaller than min_split stays with the block; nothing
# is no block.
exec "$FRAGSIM" run --policy bestfit:align=64,segment=1024,min_split=256 --placements - - <<'EOF'
{"op":"alloc","id":"a","size":800}
{"op":"alloc","id":"b","size":768}
{"op":"alloc","id":"c","size":256}
{"op":"free","id":"b"}
{"op":"alloc","id":"d","size":600}
{"op":"alloc","id":"e","size":0}
{"op":"free","id":"e"}
{"op":"free","id":"d"}
{"op":"free","id":"c"}
{"op":"alloc","id":"f","size":513}
EOF
