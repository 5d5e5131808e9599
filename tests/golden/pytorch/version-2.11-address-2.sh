# version-2.11-address-2.sh - found by scripts/oracles/pytorch; the output is PyTorch's.
exec "$FRAGSIM" run --policy pytorch:version=2.11 --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":85899345920}}
{"op":"alloc","id":1,"size":40684032}
{"op":"alloc","id":2,"size":40894464}
{"op":"free","id":2}
{"op":"free","id":1}
{"op":"alloc","id":3,"size":2097152}
EOF
