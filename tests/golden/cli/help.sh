# help.sh - the commands.
"$FRAGSIM" --help >long
"$FRAGSIM" -h >short
"$FRAGSIM" help >word
cmp long short
cmp long word
cat long
