# version-2.14-empty-range.sh - found by scripts/oracles/pytorch; the output is PyTorch's.
exec "$FRAGSIM" run --policy pytorch:version=2.14 --alloc-conf expandable_segments:True --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":60817408}}
{"op":"alloc","id":1,"size":83886081}
EOF
