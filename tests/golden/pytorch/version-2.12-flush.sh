# version-2.12-flush.sh - found by scripts/oracles/pytorch; the output is PyTorch's.
exec "$FRAGSIM" run --policy pytorch:version=2.12 --alloc-conf per_process_memory_fraction:0.7 --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":524288000}}
{"op":"alloc","id":1,"size":2097152}
{"op":"record_stream","id":1,"stream":1}
{"op":"alloc","id":2,"size":67108864}
{"op":"alloc","id":3,"size":19922944}
{"op":"record_stream","id":3,"stream":1}
{"op":"free","id":3}
{"op":"free","id":1}
{"op":"alloc","id":4,"size":2097152}
{"op":"record_stream","id":4,"stream":1}
{"op":"free","id":4}
{"op":"alloc","id":5,"size":264241152}
EOF
