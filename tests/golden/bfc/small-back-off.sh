# small-back-off.sh - nine tenths of 2,304 bytes are rounded up to 2,304: from there it is 256 less (2.21 asks for ever, see scripts/oracles/bfc).
exec "$FRAGSIM" run --policy bfc:memory_limit=1073741824 --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":2098152,"granularity_bytes":1}}
{"op":"alloc","id":1,"size":2097152}
{"op":"alloc","id":2,"size":300}
{"op":"alloc","id":3,"size":300}
{"op":"alloc","id":4,"size":300}
{"op":"alloc","id":5,"size":1}
EOF
