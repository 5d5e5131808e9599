# help-ranks.sh - the options of ranks, asked for in three ways.
"$FRAGSIM" ranks --help >long
"$FRAGSIM" ranks -h >short
"$FRAGSIM" help ranks >word
cmp long short
cmp long word
cat long
