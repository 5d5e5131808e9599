# version-2.4-pool.sh - found by scripts/oracles/pytorch; the output is PyTorch's.
exec "$FRAGSIM" run --policy pytorch:version=2.4 --alloc-conf expandable_segments:True --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":85899345920}}
{"op":"alloc","id":1,"size":512,"pool":1}
EOF
