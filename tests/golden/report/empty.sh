# empty.sh - a valid trace of no steps.
echo '{"format":"fragsim-trace","version":1,"events":[]}' | "$FRAGSIM" run -
