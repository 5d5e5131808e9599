# same.sh - a card is its bytes and a context, to every command that takes the one or the other.
trace=$TRACES/resnet50_train_bs32_fp32.ndjson.gz
cat >small.ndjson <<'END'
{"format":"fragsim-trace","version":1}
{"op":"alloc","id":1,"size":"3GiB"}
{"op":"alloc","id":2,"size":"3GiB"}
END
try()
{
	"$FRAGSIM" "$@" --device GTX-1650 >card 2>&1 && a=0 || a=$?
	"$FRAGSIM" "$@" --device-bytes 4083154944B --context-bytes 400MiB >bytes 2>&1 && b=0 || b=$?
	cmp card bytes && [ "$a" = "$b" ] && echo "$1: the same, status $a"
}
try run -p pytorch --json - small.ndjson
try diff -p bestfit -p buddy small.ndjson
try trace convert --to perfetto small.ndjson -
try fit -p pytorch --headroom --json - "$trace"
try fit --settings short --json - "$trace"
"$FRAGSIM" trace shrink --device GTX-1650 small.ndjson - 2>&1
# the context that a trace has stays, and 0 is none
sed '1s/}$/,"device":{"context_bytes":"1MiB"}}/' small.ndjson >own.ndjson
for options in own.ndjson 'small.ndjson --context-bytes 0'; do
	# shellcheck disable=SC2086
	"$FRAGSIM" run -p pytorch --device gtx-1650 --json - $options | grep -o '"context_bytes":[^,]*'
done
