# oom-without-lack.sh - enough bytes were free, yet none came: set_fraction
# forbids it (a tenth of 20 GiB), the policy keeps what it has, or has a limit of its own.
status=0
printf '%s\n' '{"op":"set_fraction","value":0.1}' '{"op":"alloc","id":1,"size":"3GiB"}' |
	"$FRAGSIM" run -v --device-bytes 20GiB - || status=$?
echo "exit status $status"
printf '%s\n' '{"op":"alloc","id":1,"size":"3GiB"}' '{"op":"free","id":1}' \
	'{"op":"alloc","id":2,"size":"8GiB"}' |
	"$FRAGSIM" run -v --device-bytes 10GiB --policy bestfit:release=false - || status=$?
echo "exit status $status"
printf '%s\n' '{"op":"alloc","id":1,"size":"1MiB"}' '{"op":"alloc","id":2,"size":"10MiB"}' |
	"$FRAGSIM" run -v --device-bytes 64MiB --policy bfc:memory_limit=10MiB - || status=$?
echo "exit status $status"
