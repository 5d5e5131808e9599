# version-2.12-pool.sh - found by scripts/oracles/pytorch; the output is PyTorch's.
exec "$FRAGSIM" run --policy pytorch:version=2.12 --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":62914560}}
{"op":"alloc","id":1,"size":2097152,"pool":2}
{"op":"alloc","id":2,"size":512}
{"op":"alloc","id":3,"size":2097152,"stream":13,"pool":2}
{"op":"free","id":2}
{"op":"alloc","id":4,"size":2097152,"stream":5,"pool":2}
EOF
