# help-extrapolate.sh - the options of extrapolate, asked for in three ways.
"$FRAGSIM" extrapolate --help >long
"$FRAGSIM" extrapolate -h >short
"$FRAGSIM" help extrapolate >word
cmp long short
cmp long word
cat long
