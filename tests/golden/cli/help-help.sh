# help-help.sh - the options of help, asked for in three ways.
"$FRAGSIM" help --help >long
"$FRAGSIM" help -h >short
"$FRAGSIM" help help >word
cmp long short
cmp long word
cat long
