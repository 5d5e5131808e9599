# help-info.sh - the options of info, asked for in three ways.
"$FRAGSIM" info --help >long
"$FRAGSIM" info -h >short
"$FRAGSIM" help info >word
cmp long short
cmp long word
cat long
