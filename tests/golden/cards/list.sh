# list.sh - all cards, the smallest first.
"$FRAGSIM" list cards
