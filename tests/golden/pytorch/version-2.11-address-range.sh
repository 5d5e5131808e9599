# version-2.11-address-range.sh - found by scripts/oracles/pytorch; the output is PyTorch's.
exec "$FRAGSIM" run --policy pytorch:version=2.11 --alloc-conf expandable_segments:True --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":85899345920}}
{"op":"alloc","id":1,"size":2}
{"op":"alloc","id":2,"size":512}
{"op":"configure","value":"expandable_segments:False"}
{"op":"alloc","id":3,"size":313}
{"op":"free","id":1}
{"op":"configure","value":"expandable_segments:True"}
{"op":"alloc","id":4,"size":740864}
{"op":"free","id":3}
{"op":"alloc","id":5,"size":451}
EOF
