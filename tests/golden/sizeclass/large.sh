# large.sh - a free segment of exactly the bytes, of several the lowest; all
# that is free goes back where the device refuses.
exec "$FRAGSIM" run --policy sizeclass:quantum=64,steps=1,max_small=64,slab=512,segment=512 --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":2560,"context_bytes":0,"granularity_bytes":512}}
{"op":"alloc","id":"a","size":500}
{"op":"alloc","id":"b","size":512}
{"op":"alloc","id":"c","size":64}
{"op":"alloc","id":"d","size":513}
{"op":"free","id":"b"}
{"op":"free","id":"a"}
{"op":"alloc","id":"e","size":257}
{"op":"free","id":"c"}
{"op":"alloc","id":"f","size":65}
{"op":"free","id":"f"}
{"op":"free","id":"d"}
{"op":"alloc","id":"g","size":1025}
{"op":"alloc","id":"h","size":100}
EOF
