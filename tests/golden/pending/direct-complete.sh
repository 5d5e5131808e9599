# direct-complete.sh - the step that ends a pending block gives its segment
# back.
exec "$FRAGSIM" run --policy direct --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":0,"context_bytes":0,"granularity_bytes":4096}}
{"op":"alloc","id":"a","size":1}
{"op":"alloc","id":"b","size":1}
{"op":"free","id":"a","pending":true}
{"op":"record_stream","id":"b","stream":5}
{"op":"free","id":"b"}
{"op":"sync","stream":6}
{"op":"sync","stream":5}
{"op":"complete","id":"a"}
EOF
