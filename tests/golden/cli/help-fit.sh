# help-fit.sh - the options of fit, asked for in three ways.
"$FRAGSIM" fit --help >long
"$FRAGSIM" fit -h >short
"$FRAGSIM" help fit >word
cmp long short
cmp long word
cat long
