# stay.sh - a segment serves the pool that it was obtained for as long as it
# is held, in every policy: here sizeclass and direct by turns of nothing but
# their slabs.
exec "$FRAGSIM" run --policy sizeclass:quantum=64,max_small=512,slab=1024 --placements - - <<'EOF'
{"op":"alloc","id":"a","size":512,"pool":"p"}
{"op":"free","id":"a"}
{"op":"alloc","id":"b","size":512}
{"op":"alloc","id":"c","size":64,"pool":"p"}
{"op":"empty_cache"}
{"op":"free","id":"c"}
{"op":"empty_cache"}
EOF
