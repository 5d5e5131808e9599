# named.sh - two of them with their sources, as text and as JSON.
"$FRAGSIM" cards t4 H100_80GB
"$FRAGSIM" cards --json - t4 H100_80GB
