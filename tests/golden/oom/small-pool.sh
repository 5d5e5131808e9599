# small-pool.sh - a request of PyTorch's small pool is not served by free
# blocks of its large one: what is missing, and who is in the way, is measured
# where it is looked for.
cp "$GOLDEN_DIR/small-pool.ndjson" . && "$FRAGSIM" run -v --policy pytorch small-pool.ndjson |
	sed -n '/^OOM/,/^$/p'
