# near.sh - a word that is nearly one that there is: which one may be meant.
while IFS= read -r options; do
	echo "\$ fragsim $options" >&2
	status=0
	# Words, as a shell would split them, with quotes: hence eval.
	eval "\"\$FRAGSIM\" $options" || status=$?
	echo "exit status $status" >&2
done <<'EOF'
rnu a
list polices
--versoin
--verbose run a
run --stpes a.csv a
run --polycy=bestfit a
run --halp
run -p bestfti a
run -p PyTorch a
run -p bestfit:algn=512 a
run -p pytorch:max_split_size=128 a
run --alloc-conf expandable:True a
run --alloc-conf max-split-size-mb:128 a
trace gen qvk
run --fail-if 'peak.reservd > 3GiB' a
run --fail-if 'fi-device.max > 3' a
EOF
