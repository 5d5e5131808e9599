# classes.sh - the least class that holds it: 64, 128, 192, 256, 320, 384,
# 448, 512, 640, ...
exec "$FRAGSIM" run --policy sizeclass:quantum=64,steps=4,max_small=1024,slab=1024,segment=1024 --placements - - <<'EOF'
{"op":"alloc","id":"a","size":1}
{"op":"alloc","id":"b","size":65}
{"op":"alloc","id":"c","size":192}
{"op":"alloc","id":"d","size":193}
{"op":"alloc","id":"e","size":257}
{"op":"alloc","id":"f","size":321}
{"op":"alloc","id":"g","size":448}
{"op":"alloc","id":"h","size":449}
{"op":"alloc","id":"i","size":513}
{"op":"alloc","id":"j","size":641}
{"op":"alloc","id":"k","size":769}
{"op":"alloc","id":"l","size":1024}
{"op":"alloc","id":"m","size":1025}
{"op":"alloc","id":"n","size":64}
{"op":"alloc","id":"o","size":128}
{"op":"alloc","id":"p","size":449}
{"op":"alloc","id":"q","size":450}
EOF
