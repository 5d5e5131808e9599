# help-merge.sh - the options of merge, asked for in three ways.
"$FRAGSIM" merge --help >long
"$FRAGSIM" merge -h >short
"$FRAGSIM" help merge >word
cmp long short
cmp long word
cat long
