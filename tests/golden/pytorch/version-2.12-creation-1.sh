# version-2.12-creation-1.sh - found by scripts/oracles/pytorch; the output is PyTorch's.
exec "$FRAGSIM" run --policy pytorch:version=2.12 --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":85899345920}}
{"op":"alloc","id":1,"size":632061440}
{"op":"alloc","id":2,"size":632061440}
{"op":"free","id":1}
{"op":"alloc","id":3,"size":2097152}
{"op":"free","id":2}
{"op":"free","id":3}
{"op":"empty_cache"}
EOF
