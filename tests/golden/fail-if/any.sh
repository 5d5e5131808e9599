# any.sh - any stands for five paths.
cd "$GOLDEN_DIR"
"$FRAGSIM" run -q --fail-if 'any>=0' two-devices.ndjson
echo "exit status $?"
"$FRAGSIM" run -q --fail-if 'any < 0' two-devices.ndjson
echo "exit status $?"
