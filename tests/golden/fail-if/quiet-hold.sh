# quiet-hold.sh - a condition that does not hold is no line; an OOM is status
# 3.
cd "$GOLDEN_DIR"
exec "$FRAGSIM" run -q --device-bytes 2MiB --context-bytes 0 --other-bytes 0 \
	--fail-if 'peak.reserved > 4MiB' --fail-if 'oom>1' \
	two-devices.ndjson
