# help-verify.sh - the options of verify, asked for in three ways.
"$FRAGSIM" verify --help >long
"$FRAGSIM" verify -h >short
"$FRAGSIM" help verify >word
cmp long short
cmp long word
cat long
