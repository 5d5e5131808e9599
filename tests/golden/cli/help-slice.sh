# help-slice.sh - the options of slice, asked for in three ways.
"$FRAGSIM" slice --help >long
"$FRAGSIM" slice -h >short
"$FRAGSIM" help slice >word
cmp long short
cmp long word
cat long
