# oom.sh - the message, the cause, what is missing, and who holds the memory.
cd "$GOLDEN_DIR/../oom"
exec "$FRAGSIM" run -p bestfit fragmentation.ndjson
