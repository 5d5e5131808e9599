# device.sh - on a device that has room for all, for one without headroom, and for none.
cat >trace.ndjson <<'END'
{"format":"fragsim-trace","version":1}
{"op":"alloc","id":1,"size":"30MiB"}
{"op":"free","id":1}
{"op":"alloc","id":2,"size":"9MiB"}
{"op":"alloc","id":3,"size":"25MiB"}
END
for size in 64MiB 40MiB 30MiB; do
	"$FRAGSIM" tune --grid short --device-bytes "$size" trace.ndjson && s=0 || s=$?
	echo "status $s"
	echo
done
