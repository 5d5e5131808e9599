# policies.sh - rows of several policies stand one policy after the other in
# the order given, whatever the threads; the same policy may stand twice.
"$FRAGSIM" run --quiet --threads 3 -p direct -p bestfit:align=64,segment=3072 -p direct \
	--steps steps.csv --placements places.ndjson - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":4096,"granularity_bytes":1024}}
{"op":"alloc","id":1,"size":1000}
{"op":"alloc","id":2,"size":2000}
{"op":"free","id":1}
EOF
cat steps.csv places.ndjson
