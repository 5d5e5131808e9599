# A sync ends the pending block of the first device, whose number is far beyond the blocks of the
# second: each is searched for alone.
awk 'BEGIN {
	print "{\"format\":\"fragsim-trace\",\"version\":1,\"devices\":[{},{}]}"
	print "{\"op\":\"alloc\",\"id\":0,\"size\":3000000,\"device\":1}"
	for (i = 1; i < 300000; i++)
		print "{\"op\":\"alloc\",\"id\":" i ",\"size\":16}"
	print "{\"op\":\"record_stream\",\"id\":299999,\"stream\":7}"
	print "{\"op\":\"free\",\"id\":299999}"
	print "{\"op\":\"sync\"}"
}' >trace.ndjson
"$FRAGSIM" fit -q -p bestfit:align=16 --format csv trace.ndjson | cut -d, -f4,6
