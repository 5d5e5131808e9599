# help-diff.sh - the options of diff.
"$FRAGSIM" diff -h
