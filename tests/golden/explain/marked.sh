# marked.sh - no request has failed, and none is printed; at a mark, as JSON.
printf '%s\n' '{"op":"alloc","id":1,"size":1000,"tag":"a"}' \
	'{"op":"alloc","id":"two","size":5000,"pool":"graph"}' '{"op":"mark","name":"here"}' \
	'{"op":"free","id":1}' >trace
"$FRAGSIM" explain --at here --policy bestfit --json - trace | sed 's/"version":\t"[^"]*"/"version":\t"V"/'
