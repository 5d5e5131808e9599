# help-report.sh - the options of report, asked for in three ways.
"$FRAGSIM" report --help >long
"$FRAGSIM" report -h >short
"$FRAGSIM" help report >word
cmp long short
cmp long word
cat long
