# same.sh - a card is its bytes, to every command that takes the one or the other.
trace=$TRACES/resnet50_train_bs32_fp32.ndjson.gz
cat >small.ndjson <<'END'
{"format":"fragsim-trace","version":1}
{"op":"alloc","id":1,"size":"3GiB"}
{"op":"alloc","id":2,"size":"3GiB"}
END
try()
{
	"$FRAGSIM" "$@" --device GTX-1650 >card 2>&1 && a=0 || a=$?
	"$FRAGSIM" "$@" --device-bytes 4083154944B >bytes 2>&1 && b=0 || b=$?
	cmp card bytes && [ "$a" = "$b" ] && echo "$1: the same, status $a"
}
try run -p pytorch --json - small.ndjson
try diff -p bestfit -p buddy small.ndjson
try convert --to perfetto small.ndjson -
try fit -p pytorch --static-room --json - "$trace"
try tune --grid short --json - "$trace"
try shrink small.ndjson -
