# help-cards.sh - the options of cards, asked for in three ways.
"$FRAGSIM" list cards --help >long
"$FRAGSIM" list cards -h >short
"$FRAGSIM" help list cards >word
cmp long short
cmp long word
cat long
