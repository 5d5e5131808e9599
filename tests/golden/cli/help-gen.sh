# help-gen.sh - the options of gen, asked for in three ways, with and without a
# scenario.
"$FRAGSIM" gen --help >long
"$FRAGSIM" gen -h >short
"$FRAGSIM" help gen >word
cmp long short
cmp long word
cat long
"$FRAGSIM" gen rebind --help >long
"$FRAGSIM" gen -h rebind >short
cmp long short
cat long
