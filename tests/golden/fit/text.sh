# text.sh - 30 MiB are freed, and 9 of them taken again: 25 no longer fit into the rest.
#
# The default obtains 30 MiB, and then 26 for 25: two calls, 56 MiB, a context of 10 beside them.
# Expandable segments map two pages of 20 MiB, and 9 and 25 fit into 40. Never more than 34 MiB
# are requested at once. So the card with the least memory that is known will do.
cat >trace.ndjson <<'END'
{"format":"fragsim-trace","version":1,"device":{"context_bytes":"10MiB"}}
{"op":"alloc","id":1,"size":"30MiB"}
{"op":"free","id":1}
{"op":"alloc","id":2,"size":"9MiB"}
{"op":"alloc","id":3,"size":"25MiB"}
END
"$FRAGSIM" fit -p pytorch --alloc-conf '' --alloc-conf expandable_segments:True trace.ndjson
echo
"$FRAGSIM" fit -p pytorch --alloc-conf '' --alloc-conf expandable_segments:True --format markdown \
	-o out.csv trace.ndjson
echo
cat out.csv
echo
# 80 - 66 and 80 - 50
"$FRAGSIM" fit --alloc-conf '' --alloc-conf expandable_segments:True --headroom \
	--device-bytes 80MiB --granularity 2MiB trace.ndjson | grep headroom
