# help-explain.sh - the options of explain, asked for in three ways.
"$FRAGSIM" explain --help >long
"$FRAGSIM" explain -h >short
"$FRAGSIM" help explain >word
cmp long short
cmp long word
cat long
