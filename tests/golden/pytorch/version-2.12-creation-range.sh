# version-2.12-creation-range.sh - found by scripts/oracles/pytorch; the output is PyTorch's.
exec "$FRAGSIM" run --policy pytorch:version=2.12 --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":85899345920}}
{"op":"alloc","id":1,"size":645}
{"op":"alloc","id":2,"size":69}
{"op":"free","id":1}
{"op":"alloc","id":3,"size":3}
{"op":"alloc","id":4,"size":29}
{"op":"alloc","id":5,"size":512}
{"op":"free","id":2}
{"op":"free","id":3}
{"op":"alloc","id":6,"size":178}
EOF
