# help-run.sh - the options of run, asked for in three ways.
"$FRAGSIM" run --help >long
"$FRAGSIM" run -h >short
"$FRAGSIM" help run >word
cmp long short
cmp long word
cat long
