# help-plan.sh - the options of plan, asked for in three ways.
"$FRAGSIM" plan --help >long
"$FRAGSIM" plan -h >short
"$FRAGSIM" help plan >word
cmp long short
cmp long word
cat long
