# quoting.sh - ids as RFC 4180 and JSON want them.
cat >trace <<'EOF'
{"op":"alloc","id":"a,b","size":0}
{"op":"alloc","id":"say \"x\"","size":0}
{"op":"alloc","id":"two\nlines\r","size":0}
{"op":"alloc","id":"\u00e9\ud83d\ude00\u0001\t\\","size":0}
{"op":"alloc","id":" b ","size":0}
{"op":"alloc","id":"12","size":0}
{"op":"alloc","id":12,"size":0}
EOF
"$FRAGSIM" run --quiet --steps csv --placements places trace
sed 's/,ok,.*//' csv
cat places
