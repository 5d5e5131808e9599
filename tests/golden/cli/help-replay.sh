# help-replay.sh - the options of replay, asked for in three ways.
"$FRAGSIM" replay --help >long
"$FRAGSIM" replay -h >short
"$FRAGSIM" help replay >word
cmp long short
cmp long word
cat long
