# help-cards.sh - the options of cards, asked for in three ways.
"$FRAGSIM" cards --help >long
"$FRAGSIM" cards -h >short
"$FRAGSIM" help cards >word
cmp long short
cmp long word
cat long
