# version.sh - the program and its version.
"$FRAGSIM" --version
"$FRAGSIM" -V
