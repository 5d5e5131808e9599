# named.sh - two of them with their sources, as text and as JSON.
"$FRAGSIM" list cards t4 H100_80GB
"$FRAGSIM" list cards --json - t4 H100_80GB
