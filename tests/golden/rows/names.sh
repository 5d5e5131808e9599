# names.sh - .jsonl means the same as .ndjson; .csv and no ending are CSV.
for name in a.jsonl a.csv a; do
	"$FRAGSIM" run --quiet --steps "$name" - <<'EOF'
{"op":"mark","name":"m"}
EOF
	cat "$name"
done
