# policies-json.sh - the same for programs.
"$FRAGSIM" list policies --json list
"$FRAGSIM" list policies --json - | cmp - list
exec cat list
