# no-release.sh - release=false: nothing is given back where the device
# refuses.
exec "$FRAGSIM" run --policy bestfit:align=64,segment=1024,release=false --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":2048,"context_bytes":0,"granularity_bytes":1024}}
{"op":"alloc","id":"a","size":1024}
{"op":"alloc","id":"b","size":1024}
{"op":"free","id":"a"}
{"op":"alloc","id":"c","size":1025}
{"op":"alloc","id":"d","size":64}
{"op":"free","id":"c"}
{"op":"empty_cache"}
{"op":"free","id":"d"}
{"op":"empty_cache"}
EOF
