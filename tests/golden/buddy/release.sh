# release.sh - idle segments go back where the device refuses; a size of its
# own is a power of two.
exec "$FRAGSIM" run --policy buddy:min=64,segment=1024 --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":3072,"context_bytes":0,"granularity_bytes":1024}}
{"op":"alloc","id":"a","size":64}
{"op":"alloc","id":"b","size":1000}
{"op":"alloc","id":"c","size":1024}
{"op":"free","id":"c"}
{"op":"free","id":"b"}
{"op":"alloc","id":"d","size":1100}
{"op":"alloc","id":"e","size":513}
{"op":"alloc","id":"f","size":512}
EOF
