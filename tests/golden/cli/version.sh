# version.sh - the program and its version, and what it was built with.
"$FRAGSIM" --version >long
"$FRAGSIM" -V >short
cmp long short
cat long
