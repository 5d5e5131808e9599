# holds.sh - each condition that holds is a line, for each policy and device,
# and the status is 1, before the 3 of an OOM.
cd "$GOLDEN_DIR"
exec "$FRAGSIM" run -q -p bestfit -p direct --context-bytes 0 --device-bytes 7MiB --other-bytes 0 \
	--fail-if 'peak.reserved > 4MiB' --fail-if 'fi.max>=0' --fail-if ' oom != 0 ' \
	--fail-if 'lower_bound < 3145728.5' --fail-if steps==9 --fail-if 'utilization.min<0' \
	--fail-if 'last.device_free<1.5K' two-devices.ndjson
