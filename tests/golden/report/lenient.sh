# lenient.sh - what was left out is told by kind, on standard error and in the
# report.
exec "$FRAGSIM" run --lenient - <<'EOF'
{"op":"free","id":1}
{"op":"alloc","id":1,"size":-5}
{"op":"alloc","id":1,"size":5,"t":3}
{"op":"free","id":2,"t":2}
{"op":"mark","name":"m","t":1}
EOF
