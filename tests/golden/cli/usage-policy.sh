# usage-policy.sh - a policy that there is not, a key that it has not, a value
# out of range.
while IFS= read -r options; do
	echo "\$ fragsim $options" >&2
	status=0
	# Words, as a shell would split them, with quotes: hence eval.
	eval "\"\$FRAGSIM\" $options" || status=$?
	echo "exit status $status" >&2
done <<'EOF'
run -p "" a
run -p nope a
run -p Bestfit a
run -p bestfit: a
run -p bestfit:align a
run -p bestfit:Align=64 a
run -p bestfit:align= a
run -p bestfit:align=0 a
run -p bestfit:align=3 a
run -p bestfit:align=64,align=64 a
run -p bestfit:align=64, a
run -p bestfit:segment=0 a
run -p bestfit:min_split=0 a
run -p bestfit:release=maybe a
run -p bestfit:segment=0.3K a
run -p firstfit:steps=4 a
run -p buddy:segment=3MiB a
run -p buddy:pool=3MiB a
run -p buddy:min=4MiB a
run -p sizeclass:quantum=96 a
run -p sizeclass:steps=3 a
run -p sizeclass:steps=0 a
run -p sizeclass:max_small=4MiB a
run -p direct:align=64 a
EOF
