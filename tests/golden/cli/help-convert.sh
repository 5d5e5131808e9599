# help-convert.sh - the options of convert, asked for in three ways.
"$FRAGSIM" convert --help >long
"$FRAGSIM" convert -h >short
"$FRAGSIM" help convert >word
cmp long short
cmp long word
cat long
