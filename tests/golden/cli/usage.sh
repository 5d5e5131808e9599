# usage.sh - wrong usage is one line that says what there is, and status 2.
while IFS= read -r options; do
	echo "\$ fragsim $options" >&2
	status=0
	# Words, as a shell would split them, with quotes: hence eval.
	eval "\"\$FRAGSIM\" $options" || status=$?
	echo "exit status $status" >&2
done <<'EOF'

bogus
help bogus
run
run a b
run --bogus a
run -x a
run --quiet -xq a
run -qp
run --c 5 a
run --help=3
run --policy
run --quiet=3 a
run --steps - --json - a
run --on-oom maybe a
run --threads 1025 a
run --threads -1 a
run --device-bytes 1.5 a
run --device-bytes 8192TiB a
run --device 8192TiB a
run --device 9007199254740992 a
run --context-bytes "" a
run --other-bytes 5KB a
run --granularity 0 a
list policies a
list policies --json
EOF
