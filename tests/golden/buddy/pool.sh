# pool.sh - an initial pool of 512: split and joined, never released.
exec "$FRAGSIM" run --policy buddy:min=64,segment=1024,pool=512 --placements - - <<'EOF'
{"op":"alloc","id":"a","size":64}
{"op":"alloc","id":"b","size":512}
{"op":"free","id":"a"}
{"op":"alloc","id":"c","size":257}
{"op":"free","id":"b"}
{"op":"free","id":"c"}
{"op":"alloc","id":"d","size":1,"pool":"x"}
{"op":"free","id":"d"}
{"op":"empty_cache"}
{"op":"alloc","id":"e","size":1000}
EOF
