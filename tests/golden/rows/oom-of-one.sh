# oom-of-one.sh - an OOM ends the run of one policy; the others go on, each
# with its own rows.
"$FRAGSIM" run --quiet -p buddy:min=1024,segment=4096 -p direct --steps steps.csv \
	--placements places - <<'EOF'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":4096,"granularity_bytes":1024}}
{"op":"alloc","id":1,"size":1000}
{"op":"alloc","id":2,"size":2049}
{"op":"free","id":1}
EOF
status=$?
cat steps.csv places
exit $status
