# help-leaks.sh - the options of leaks, asked for in three ways.
"$FRAGSIM" leaks --help >long
"$FRAGSIM" leaks -h >short
"$FRAGSIM" help leaks >word
cmp long short
cmp long word
cat long
