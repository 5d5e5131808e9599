# fraction.sh - the limit of a fraction is rounded to the nearest byte, as in
# PyTorch: 0.7 of 180 MiB is 132120575.99999999 as a double, and all of the
# 126 MiB may be reserved. A byte less of device, 0.7 less of limit: refused.
for bytes in 188743680 188743679; do
	"$FRAGSIM" run --quiet --policy pytorch:per_process_memory_fraction=0.7 \
		--device-bytes $bytes --placements - - <<'EOF'
{"op":"alloc","id":1,"size":132120576}
EOF
done
