# no-stream.sh - an alloc without a stream is one on stream 0, whatever came
# before: the order in which segments go back depends on it.
trace()
{
	cat <<EOF
{"op":"alloc","id":"a","size":"30MiB","stream":5}
{"op":"alloc","id":"b","size":"30MiB"$1}
{"op":"free","id":"a"}
{"op":"free","id":"b"}
{"op":"empty_cache"}
EOF
}

trace ',"stream":0' | "$FRAGSIM" run --quiet --policy pytorch --placements said -
trace '' | "$FRAGSIM" run --quiet --policy pytorch --placements silent -
cmp said silent && echo the same
