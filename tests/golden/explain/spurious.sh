# spurious.sh - PyTorch waits for its streams, which frees 14 MiB, and asks the
# device again; it does not look there. Asked once more, it does.
"$FRAGSIM" explain --policy pytorch - <"$GOLDEN_DIR/spurious.ndjson"
