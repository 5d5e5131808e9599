# foreign-members.sh - a mark's value and a setting's name are of no concern to
# them, in whatever order they stand.
cat > trace <<END
{"op":"mark","name":"one","value":5}
{"value":"text","op":"mark","name":"two"}
{"op":"mark","name":"three","value":"text"}
{"name":"max_split_size_mb:1","op":"configure","value":"max_split_size_mb:64"}
{"name":3,"op":"set_fraction","value":0.5}
{"op":"alloc","id":1,"size":5,"value":[1],"name":{}}
END
"$FRAGSIM" run --quiet --policy pytorch --json - trace | grep -A1 '"name":.*"[a-z]*",$' | grep -B1 '"step"'
