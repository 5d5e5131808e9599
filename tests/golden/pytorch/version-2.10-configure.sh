# version-2.10-configure.sh - found by scripts/oracles/pytorch; the output is PyTorch's.
exec "$FRAGSIM" run --policy pytorch:version=2.10 --alloc-conf max_non_split_rounding_mb:40 --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":85899345920}}
{"op":"configure","value":"max_split_size_mb:20"}
{"op":"alloc","id":1,"size":67108864}
{"op":"free","id":1}
{"op":"alloc","id":2,"size":33554432}
EOF
