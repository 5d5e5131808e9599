# help-anonymize.sh - the options of anonymize, asked for in three ways.
"$FRAGSIM" anonymize --help >long
"$FRAGSIM" anonymize -h >short
"$FRAGSIM" help anonymize >word
cmp long short
cmp long word
cat long
