# several.sh - two traces together; and one that survives nowhere below the bound.
cat >30.ndjson <<'END'
{"format":"fragsim-trace","version":1}
{"op":"alloc","id":1,"size":"30MiB"}
END
cat >50.ndjson <<'END'
{"format":"fragsim-trace","version":1}
{"op":"alloc","id":1,"size":"50MiB"}
END
"$FRAGSIM" fit -p pytorch 30.ndjson 50.ndjson
echo
"$FRAGSIM" fit -p pytorch --up-to 40MiB 30.ndjson 50.ndjson && exit 9
echo "status $?"
