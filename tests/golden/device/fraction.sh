# fraction.sh - at most floor(value * total) of segments; 1 is no limit; what
# is held stays.
exec "$FRAGSIM" run --policy bestfit:align=64,segment=1000 --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":12000,"context_bytes":0,"granularity_bytes":1}}
{"op":"set_fraction","value":0.55}
{"op":"alloc","id":"a","size":5000}
{"op":"free","id":"a"}
{"op":"alloc","id":"b","size":64}
{"op":"set_fraction","value":0.3}
{"op":"alloc","id":"c","size":6000}
{"op":"alloc","id":"d","size":4000}
{"op":"set_fraction","value":1}
{"op":"alloc","id":"e","size":4000}
{"op":"alloc","id":"f","size":64}
{"op":"free","id":"b"}
{"op":"free","id":"d"}
{"op":"free","id":"f"}
{"op":"set_fraction","value":0}
{"op":"alloc","id":"g","size":6001}
{"op":"alloc","id":"h","size":64}
EOF
