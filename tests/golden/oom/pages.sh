# pages.sh - under expandable segments a request of 12 MiB finds 10 MiB at the
# end of the range, so the device is asked for one page of 20 MiB, and has 10.
cp "$GOLDEN_DIR/pages.ndjson" . && "$FRAGSIM" run -v --alloc-conf expandable_segments:True pages.ndjson |
	sed -n '/^OOM/,/^$/p'
