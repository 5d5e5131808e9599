# version-2.9-fraction.sh - found by scripts/oracles/pytorch; the output is PyTorch's.
exec "$FRAGSIM" run --policy pytorch:version=2.9 --alloc-conf garbage_collection_threshold:0.5 --on-oom continue --placements - - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":41943040}}
{"op":"alloc","id":1,"size":8388608}
{"op":"set_fraction","value":1}
{"op":"free","id":1}
{"op":"alloc","id":2,"size":512}
{"op":"alloc","id":3,"size":512,"stream":1}
EOF
