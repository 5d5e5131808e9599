# help-complete.sh - the options of complete, asked for in three ways.
"$FRAGSIM" complete --help >long
"$FRAGSIM" complete -h >short
"$FRAGSIM" help complete >word
cmp long short
cmp long word
cat long
