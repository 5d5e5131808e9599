# streams.sh - a recorded stream has to be synchronised after the free; with
# pending, both have to end; what one step ends is freed in the order of the
# frees.
exec "$FRAGSIM" run --policy direct --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":0,"context_bytes":0,"granularity_bytes":4096}}
{"op":"alloc","id":"a","size":1}
{"op":"alloc","id":"b","size":1}
{"op":"alloc","id":"c","size":1,"stream":2}
{"op":"alloc","id":"d","size":1}
{"op":"record_stream","id":"a","stream":2}
{"op":"record_stream","id":"b","stream":2}
{"op":"record_stream","id":"b","stream":"2"}
{"op":"record_stream","id":"c","stream":2}
{"op":"record_stream","id":"d","stream":1}
{"op":"sync"}
{"op":"free","id":"c"}
{"op":"free","id":"d","pending":true}
{"op":"free","id":"b"}
{"op":"free","id":"a"}
{"op":"sync","stream":2}
{"op":"complete","id":"d"}
{"op":"sync"}
EOF
