# slabs.sh - the lowest free slot of the lowest slab of the class; an empty
# slab serves any class but no large request.
exec "$FRAGSIM" run --policy sizeclass:quantum=64,steps=4,max_small=512,slab=1024,segment=2048 --placements - - <<'EOF'
{"op":"alloc","id":"a","size":65}
{"op":"alloc","id":"b","size":128}
{"op":"alloc","id":"c","size":300}
{"op":"alloc","id":"d","size":320}
{"op":"alloc","id":"e","size":257}
{"op":"alloc","id":"f","size":320}
{"op":"free","id":"c"}
{"op":"free","id":"f"}
{"op":"alloc","id":"g","size":320}
{"op":"alloc","id":"h","size":512}
{"op":"alloc","id":"i","size":513}
{"op":"alloc","id":"j","size":2049}
{"op":"free","id":"i"}
{"op":"alloc","id":"k","size":2048}
{"op":"free","id":"j"}
{"op":"alloc","id":"l","size":2000}
{"op":"free","id":"b"}
{"op":"alloc","id":"m","size":100}
{"op":"free","id":"h"}
{"op":"alloc","id":"n","size":1000}
{"op":"free","id":"a"}
{"op":"free","id":"m"}
{"op":"alloc","id":"o","size":64}
{"op":"alloc","id":"p","size":512}
{"op":"free","id":"p"}
{"op":"alloc","id":"q","size":500,"pool":7}
{"op":"empty_cache"}
EOF
