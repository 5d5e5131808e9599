# help-what-if.sh - the options of what-if, asked for in three ways.
"$FRAGSIM" what-if --help >long
"$FRAGSIM" what-if -h >short
"$FRAGSIM" help what-if >word
cmp long short
cmp long word
cat long
