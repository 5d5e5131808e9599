# pending.sh - 3 MiB of what a request needs are freed, and still in use.
"$FRAGSIM" explain --policy bestfit:segment=4MiB - <"$GOLDEN_DIR/pending.ndjson"
