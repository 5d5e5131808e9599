# real-02.sh - found by scripts/oracles/bfc; the output is that of the real one.
exec "$FRAGSIM" run --policy bfc:memory_limit=2068,garbage_collection=true --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":85899345920,"granularity_bytes":65536}}
{"op":"alloc","id":1,"size":111942,"stream":15}
{"op":"alloc","id":2,"size":130229869,"stream":14}
{"op":"record_stream","id":2,"stream":3}
{"op":"alloc","id":3,"size":74720132,"stream":1}
{"op":"free","id":3}
{"op":"free","id":1}
{"op":"sync","stream":99}
{"op":"free","id":2}
{"op":"alloc","id":4,"size":26652,"stream":15}
{"op":"alloc","id":5,"size":257,"stream":3}
{"op":"sync","stream":4}
{"op":"alloc","id":6,"size":562131211,"stream":12}
{"op":"alloc","id":7,"size":198585,"stream":5}
{"op":"alloc","id":8,"size":255,"stream":4}
{"op":"alloc","id":9,"size":424909313}
{"op":"alloc","id":10,"size":255,"stream":"side"}
{"op":"record_stream","id":10,"stream":11}
{"op":"record_stream","id":10,"stream":10}
{"op":"free","id":10}
{"op":"alloc","id":11,"size":7672,"stream":13}
{"op":"free","id":4}
{"op":"alloc","id":12,"size":390993818,"stream":5}
{"op":"record_stream","id":12,"stream":3}
{"op":"free","id":6}
EOF
