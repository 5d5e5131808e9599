# help-record.sh - the options of record, asked for in three ways.
"$FRAGSIM" record --help >long
"$FRAGSIM" record -h >short
"$FRAGSIM" help record >word
cmp long short
cmp long word
cat long
