# version-2.3-divisions-1.sh - found by scripts/oracles/pytorch; the output is PyTorch's.
exec "$FRAGSIM" run --policy pytorch:version=2.3 --alloc-conf roundup_power2_divisions:1 --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":85899345920}}
{"op":"alloc","id":1,"size":103455336}
EOF
