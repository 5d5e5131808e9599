# places.sh - requests go where the plan says: a is below b although it comes later, and d, which
# the plan has too little room for, and e and f, of which it knows nothing, go elsewhere.
cat >plan.json <<'END'
{"format":"fragsim-plan","version":1,"content":"0000000000000000","align":512,"bound":3072,"height":3584,
"complete":true,"buffers":[
{"id":"b","step":0,"end":3,"size":1024,"offset":2560,"pool":0,"device":0},
{"id":"a","step":1,"end":4,"size":2048,"offset":512,"pool":0,"device":0},
{"id":"c","step":2,"end":5,"size":512,"offset":0,"pool":0,"device":0}]}
END
exec "$FRAGSIM" run --policy plan:file=plan.json --placements - - <<'END'
{"op":"alloc","id":"b","size":1000}
{"op":"alloc","id":"a","size":2048}
{"op":"alloc","id":"d","size":513}
{"op":"alloc","id":"e","size":100}
{"op":"free","id":"a"}
{"op":"alloc","id":"f","size":100}
END
