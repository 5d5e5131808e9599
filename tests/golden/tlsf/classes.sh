# classes.sh - in units of 512 bytes the classes are 1 to 8, then 10, 12, 14, 16, 20, ...: 9 are
# looked for from 10 on, and 25 from 28 on; of a class the block freed last is the first.
exec "$FRAGSIM" run --policy tlsf:sl_log2=2,segment=32KiB --placements - - <<'EOF'
{"op":"alloc","id":"a","size":4096}
{"op":"alloc","id":"b","size":1024}
{"op":"alloc","id":"c","size":4096}
{"op":"alloc","id":"d","size":1024}
{"op":"alloc","id":"e","size":4608}
{"op":"alloc","id":"f","size":512}
{"op":"free","id":"a"}
{"op":"free","id":"c"}
{"op":"free","id":"e"}
{"op":"alloc","id":"g","size":4096}
{"op":"alloc","id":"h","size":4600}
{"op":"alloc","id":"i","size":4000}
{"op":"alloc","id":"j","size":1536}
{"op":"free","id":"g"}
{"op":"alloc","id":"k","size":2560}
{"op":"alloc","id":"l","size":4096}
{"op":"alloc","id":"m","size":12800}
EOF
