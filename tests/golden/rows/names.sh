# names.sh - .jsonl means the same as .ndjson; .JSONL and .json do not.
for name in a.jsonl a.JSONL a.json; do
	"$FRAGSIM" run --quiet --steps "$name" - <<'EOF'
{"op":"mark","name":"m"}
EOF
	cat "$name"
done
