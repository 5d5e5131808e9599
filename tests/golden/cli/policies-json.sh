# policies-json.sh - the same for programs.
"$FRAGSIM" policies --json list
"$FRAGSIM" policies --json - | cmp - list
exec cat list
