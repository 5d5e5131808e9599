# help-sweep.sh - the options of sweep, asked for in three ways.
"$FRAGSIM" sweep --help >long
"$FRAGSIM" sweep -h >short
"$FRAGSIM" help sweep >word
cmp long short
cmp long word
cat long
