# help-shrink.sh - the options of shrink, asked for in three ways.
"$FRAGSIM" shrink --help >long
"$FRAGSIM" shrink -h >short
"$FRAGSIM" help shrink >word
cmp long short
cmp long word
cat long
