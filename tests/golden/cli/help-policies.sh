# help-policies.sh - the options of policies, asked for in three ways.
"$FRAGSIM" policies --help >long
"$FRAGSIM" policies -h >short
"$FRAGSIM" help policies >word
cmp long short
cmp long word
cat long
