# real-04.sh - found by scripts/oracles/bfc; the output is that of the real one.
exec "$FRAGSIM" run --policy bfc:memory_limit=2147483648,garbage_collection=true,fragmentation_fraction=0.1 --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":4563851159}}
{"op":"alloc","id":1,"size":2281925579,"stream":1}
{"op":"free","id":1}
{"op":"alloc","id":2,"size":987,"stream":15}
{"op":"record_stream","id":2,"stream":99}
{"op":"free","id":2}
{"op":"alloc","id":3,"size":512,"stream":15}
{"op":"alloc","id":4,"size":98096863,"stream":15}
{"op":"alloc","id":5,"size":6958439,"stream":1}
{"op":"free","id":5}
{"op":"alloc","id":6,"size":1649,"stream":15}
{"op":"alloc","id":7,"size":16467394,"stream":15}
{"op":"free","id":7}
{"op":"alloc","id":8,"size":126368,"stream":1}
{"op":"alloc","id":9,"size":410,"stream":1}
{"op":"record_stream","id":9,"stream":15}
{"op":"alloc","id":10,"size":568,"stream":1}
{"op":"free","id":10}
{"op":"alloc","id":11,"size":512,"stream":15}
{"op":"alloc","id":12,"size":60174526,"stream":1}
{"op":"alloc","id":13,"size":7549704,"stream":1}
{"op":"free","id":11}
{"op":"alloc","id":14,"size":41921017,"stream":1}
{"op":"alloc","id":15,"size":1,"stream":1}
{"op":"alloc","id":16,"size":306354,"stream":15}
EOF
