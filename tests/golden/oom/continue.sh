# continue.sh - what failed is skipped from then on; the run goes on.
"$FRAGSIM" run --quiet --on-oom continue --policy bestfit:align=64,segment=1024 --steps steps - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":2048,"granularity_bytes":1024}}
{"op":"alloc","id":1,"size":1024}
{"op":"alloc","id":2,"size":1025}
{"op":"record_stream","id":2,"stream":9}
{"op":"free","id":2,"pending":true}
{"op":"alloc","id":2,"size":10}
{"op":"complete","id":2}
{"op":"free","id":2}
{"op":"sync"}
EOF
status=$?
cut -d, -f1,4-9,13 steps
exit $status
