# usage.sh - what is no condition, names nothing, or is null, is wrong usage.
while IFS= read -r options; do
	echo "\$ fragsim $options" >&2
	status=0
	# Words, as a shell would split them, with quotes: hence eval.
	eval "\"\$FRAGSIM\" $options" || status=$?
	echo "exit status $status" >&2
done <<'EOF'
run --fail-if "" a
run --fail-if "peak.reserved" a
run --fail-if "peak.reserved > " a
run --fail-if "peak.reserved => 5" a
run --fail-if "peak.reserved > five" a
run --fail-if "peak.reserved > 5 5" a
run --fail-if "peak.reserved > 1e999" a
run --fail-if "peak.reserved > nan" a
run --fail-if "peak.reserved > 0x10" a
run --fail-if "> 5" a
run --fail-if "peak.nothing > 5" a
run --fail-if "peak > 5" a
run --fail-if "peak.fi > 5" a
run --fail-if "fi > 5" a
run --fail-if "status == 5" a
run --fail-if "peak.reserved > +5%" a
run --fail-if "any > -1" a
run -q --fail-if "fi.time_weighted_mean > 1" "$GOLDEN_DIR/two-devices.ndjson"
run -q --fail-if "last.device_free > 1" "$GOLDEN_DIR/two-devices.ndjson"
EOF
