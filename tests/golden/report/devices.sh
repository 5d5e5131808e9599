# devices.sh - a line for each policy and device, the charts, the marks with
# the highest index.
cd "$GOLDEN_DIR"
exec "$FRAGSIM" run -v -p bestfit -p buddy:min=4096 two-devices.ndjson
