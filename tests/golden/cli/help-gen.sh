# help-gen.sh - the options of gen, asked for in three ways, with and without a
# scenario.
"$FRAGSIM" trace gen --help >long
"$FRAGSIM" trace gen -h >short
"$FRAGSIM" help trace gen >word
cmp long short
cmp long word
cat long
"$FRAGSIM" trace gen rebind --help >long
"$FRAGSIM" trace gen -h rebind >short
cmp long short
cat long
