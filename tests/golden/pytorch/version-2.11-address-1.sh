# version-2.11-address-1.sh - found by scripts/oracles/pytorch; the output is PyTorch's.
exec "$FRAGSIM" run --policy pytorch:version=2.11 --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":85899345920}}
{"op":"alloc","id":1,"size":4096}
{"op":"alloc","id":2,"size":1048576}
{"op":"alloc","id":3,"size":1048064}
{"op":"free","id":3}
{"op":"free","id":2}
{"op":"free","id":1}
{"op":"alloc","id":4,"size":512}
EOF
