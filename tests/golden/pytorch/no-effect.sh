# no-effect.sh - settings that choose no block are read all the same: what
# PyTorch refuses is refused.
for settings in release_lock_on_cudamalloc:True,pinned_num_register_threads:8 \
	release_lock_on_cudamalloc:yes pinned_num_register_threads:12; do
	echo '{"op":"alloc","id":1,"size":1}' |
		"$FRAGSIM" run --quiet --policy pytorch --alloc-conf $settings -
	echo "$settings $?"
done
