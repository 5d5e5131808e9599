# text.sh - the trace of fit/text.sh, tuned: 40 MiB with expandable segments, else 56.
cat >trace.ndjson <<'END'
{"format":"fragsim-trace","version":1,"device":{"context_bytes":"10MiB"}}
{"op":"alloc","id":1,"size":"30MiB"}
{"op":"free","id":1}
{"op":"alloc","id":2,"size":"9MiB"}
{"op":"alloc","id":3,"size":"25MiB"}
END
cat >lines <<'END'
# what may split, and what need not
max_split_size_mb:20
  expandable_segments:True   # pages of 20 MiB
END
"$FRAGSIM" tune --grid lines trace.ndjson
echo
"$FRAGSIM" tune --grid lines --format markdown -o out.csv trace.ndjson
echo
cat out.csv
