# pool.sh - an initial pool is ordinal 0, is on no line, is never released,
# and serves trace pool 0 alone.
exec "$FRAGSIM" run --policy bestfit:align=64,segment=1024,pool=1500 --placements - - <<'EOF'
{"op":"alloc","id":"a","size":1024}
{"op":"alloc","id":"b","size":448}
{"op":"alloc","id":"c","size":64}
{"op":"alloc","id":"d","size":64,"pool":1}
{"op":"free","id":"a"}
{"op":"alloc","id":"e","size":64,"pool":1}
{"op":"alloc","id":"f","size":1000}
{"op":"free","id":"b"}
{"op":"free","id":"c"}
{"op":"free","id":"d"}
{"op":"free","id":"e"}
{"op":"free","id":"f"}
{"op":"empty_cache"}
{"op":"alloc","id":"g","size":1500}
{"op":"alloc","id":"h","size":1473}
{"op":"alloc","id":"i","size":1472}
EOF
