# unknown.sh - a name that several cards begin with; a size; a capacity twice.
for options in '--device h100' '--device 24GiB' '--device l4 --device-bytes 24GiB' \
	'--device-bytes 24GiB --device l4'; do
	# shellcheck disable=SC2086
	"$FRAGSIM" run $options - && exit 9
	echo "status $?"
done
