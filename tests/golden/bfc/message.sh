# message.sh - a limit of the policy's own is named as such, not as a fraction
printf '{"op":"alloc","id":1,"size":"2MiB"}\n{"op":"alloc","id":2,"size":"2MiB"}\n{"op":"free","id":1}\n{"op":"alloc","id":3,"size":"5MiB"}\n' > t.ndjson
"$FRAGSIM" run -p bfc:memory_limit=8MiB --device-bytes 1GiB t.ndjson
echo
"$FRAGSIM" run -p bfc:memory_limit=4MiB t.ndjson
