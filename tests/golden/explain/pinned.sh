# pinned.sh - two blocks of 3 MiB keep 17 MiB each of 20 from serving 18 MiB;
# one of them finds room beside the other.
"$FRAGSIM" explain --policy bestfit:segment=20MiB - <"$GOLDEN_DIR/pinned.ndjson"
