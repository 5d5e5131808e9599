# oversize.sh - a refusal counts for no_refusal, also where PyTorch counts no retry.
#
# Blocks of 20 MiB and more are not split, and 60 MiB are too many for 30: these are obtained
# beside them, 90 MiB in all. A smaller device refuses, the 60 MiB are released, and PyTorch does
# not count that second try. It is the same where the trace sets the limit on the way.
cat >trace.ndjson <<'EOF'
{"format":"fragsim-trace","version":1}
{"op":"alloc","id":1,"size":"60MiB"}
{"op":"free","id":1}
{"op":"alloc","id":2,"size":"30MiB"}
EOF
sed '1a {"op":"configure","value":"max_split_size_mb:20"}' trace.ndjson >later.ndjson
for trace in trace later; do
	"$FRAGSIM" fit -p pytorch -p pytorch:max_split_size_mb=20 --format csv $trace.ndjson |
		cut -d, -f1-2,6-7,9,12-13
done
