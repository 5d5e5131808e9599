# complete.sh - a pending block is not reused before its complete; of several
# blocks of an id the oldest is meant; a sync ends no complete.
exec "$FRAGSIM" run --policy bestfit:align=64,segment=1024 --placements - - <<'EOF'
{"op":"alloc","id":"a","size":1024}
{"op":"free","id":"a","pending":true}
{"op":"alloc","id":"a","size":512}
{"op":"free","id":"a","pending":true}
{"op":"sync"}
{"op":"alloc","id":"b","size":512}
{"op":"alloc","id":"c","size":1024}
{"op":"complete","id":"a"}
{"op":"alloc","id":"d","size":1024}
{"op":"complete","id":"a"}
{"op":"alloc","id":"e","size":64}
{"op":"empty_cache"}
EOF
