# small-pool.sh - a request of PyTorch's small pool is not served by free
# blocks of its large one: what is missing, and who is in the way, is measured
# where it is looked for.
"$FRAGSIM" run -v --policy pytorch "$GOLDEN_DIR/small-pool.ndjson" |
	sed -n '/^OOM/,/^$/p'
