# context.sh - while the context of a pool is open, as in a graph capture, no event is polled, no
# cache is flushed and empty_cache does nothing. scripts/oracles/pytorch: PyTorch 2.8 and 2.15.
cat >polled.ndjson <<'END'
{"op":"alloc","id":1,"size":30000000}
{"op":"record_stream","id":1,"stream":1}
{"op":"free","id":1}
{"op":"sync","stream":1}
{"op":"begin_pool","pool":1,"stream":2}
{"op":"alloc","id":2,"size":30000000}
{"op":"alloc","id":5,"size":1000,"stream":2,"pool":1}
{"op":"end_pool","pool":1}
{"op":"alloc","id":3,"size":30000000}
END
cat >flushed.ndjson <<'END'
{"format":"fragsim-trace","version":1,"device":{"total_bytes":"70MiB"}}
{"op":"alloc","id":1,"size":30000000}
{"op":"free","id":1}
{"op":"begin_pool","pool":1,"stream":2}
{"op":"alloc","id":2,"size":60000000}
{"op":"alloc","id":3,"size":60000000,"stream":2,"pool":1}
{"op":"empty_cache"}
{"op":"end_pool","pool":1}
{"op":"alloc","id":4,"size":60000000}
END
for version in 2.8 2.15; do
	for trace in polled flushed; do
		"$FRAGSIM" run -q -p pytorch:version=$version --on-oom continue --placements - \
			$trace.ndjson || echo "status $?"
	done
done
# other policies ignore the context, and a slice opens it again
"$FRAGSIM" run -q -p bestfit --placements - polled.ndjson
"$FRAGSIM" trace slice --from-step 6 polled.ndjson -
"$FRAGSIM" trace convert polled.ndjson polled.fsb && "$FRAGSIM" trace convert -q polled.fsb polled.again.ndjson &&
	"$FRAGSIM" trace info polled.again.ndjson | grep ' events:'
for line in '{"op":"end_pool","pool":1}' '{"op":"begin_pool","pool":0}' '{"op":"begin_pool"}' \
	'{"op":"begin_pool","pool":1}
{"op":"begin_pool","pool":1}' '{"op":"release_pool","pool":1}
{"op":"begin_pool","pool":1}'; do
	printf '%s\n' "$line" >bad.ndjson
	"$FRAGSIM" run bad.ndjson 2>&1 || echo "status $?"
done
