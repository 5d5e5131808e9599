# help-tune.sh - the options of tune, asked for in three ways.
"$FRAGSIM" tune --help >long
"$FRAGSIM" tune -h >short
"$FRAGSIM" help tune >word
cmp long short
cmp long word
cat long
