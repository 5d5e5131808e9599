/*
 * snapshot_host.c - describes the pinned host memory of a snapshot, without a simulation.
 *
 * The file has the blocks at the end and the log that led there, which is read
 * backwards. A block that was allocated and not freed must be there at the end:
 * where it is not, the end is corrected.
 */
#include "base/hash.h"
#include "snapshot/snapshot.h"

#define SIZE_HIGHEST (UINT64_C(1) << 53)

struct walk {
	const struct frag_snapshot *s;
	struct frag_map live;           /* addresses of the blocks at the moment */
	uint64_t now;                   /* their bytes */
	struct frag_host_memory host;
};

static uint64_t snapshot_host_size_of(const struct frag_snapshot *s, const struct frag_value *dict)
{
	uint64_t size;

	return frag_value_u64(frag_dict_get(&s->values, dict, "size"), &size)
	       && size <= SIZE_HIGHEST ? size : 0;
}

/* A file may claim anything. */
static void snapshot_host_add(uint64_t *to, uint64_t much)
{
	*to = much > UINT64_MAX - *to ? UINT64_MAX : *to + much;
}

/* The block is there at the moment; one that is already is no other. */
static bool snapshot_host_enter(struct walk *w, uint64_t addr, uint64_t size)
{
	if (frag_map_get(&w->live, addr) != FRAG_MAP_NONE)
		return true;
	snapshot_host_add(&w->now, size);
	w->host.peak_bytes = w->now > w->host.peak_bytes ? w->now : w->host.peak_bytes;
	return frag_map_add(&w->live, addr, 0);
}

/* Past its birth, backwards. */
static void snapshot_host_leave(struct walk *w, uint64_t addr, uint64_t size)
{
	if (frag_map_get(&w->live, addr) != FRAG_MAP_NONE) {
		frag_map_remove(&w->live, addr, 0);
		w->now -= size < w->now ? size : w->now;
		return;
	}
	snapshot_host_add(&w->host.live_bytes, size);
	snapshot_host_add(&w->host.peak_bytes, size);
	w->host.live++;
}

/* Blocks that are allocated at the end. A list that is in many places is not read as often. */
static bool enter_end(struct walk *w)
{
	const struct frag_values *v = &w->s->values;
	const struct frag_value *segments = frag_dict_get(v, &w->s->root, "host_segments");
	uint64_t left = v->cells, addr;

	for (uint32_t i = 0; i < frag_list_count(segments); i++) {
		const struct frag_value *segment = frag_list_at(v, segments, i);
		const struct frag_value *blocks = frag_dict_get(v, segment, "blocks");

		for (uint32_t k = 0; k < frag_list_count(blocks) && left; k++, left--) {
			const struct frag_value *block = frag_list_at(v, blocks, k);

			if (!frag_text_is(frag_dict_get(v, block, "state"), "active_allocated")
			    || !frag_value_u64(frag_dict_get(v, block, "address"), &addr))
				continue;
			if (!snapshot_host_enter(w, addr, snapshot_host_size_of(w->s, block)))
				return false;
		}
	}
	w->host.live_bytes = w->now;
	w->host.live = w->live.count;
	return true;
}

/*
 * Backwards an alloc ends a block and a free begins one, so the bytes in use reach their peak
 * although the first state is unknown.
 */
static bool walk_back(struct walk *w)
{
	const struct frag_values *v = &w->s->values;
	const struct frag_value *log = frag_dict_get(v, &w->s->root, "host_traces");
	bool good = true;

	w->host.events = frag_list_count(log);
	for (uint32_t i = frag_list_count(log); i-- > 0 && good;) {
		const struct frag_value *event = frag_list_at(v, log, i);
		const struct frag_value *action = frag_dict_get(v, event, "action");
		uint64_t addr;

		if (!frag_value_u64(frag_dict_get(v, event, "addr"), &addr))
			continue;
		if (frag_text_is(action, "alloc"))
			snapshot_host_leave(w, addr, snapshot_host_size_of(w->s, event));
		else if (frag_text_is(action, "free_requested"))
			good = snapshot_host_enter(w, addr, snapshot_host_size_of(w->s, event));
	}
	return good;
}

int frag_snapshot_host(const struct frag_snapshot *s, struct frag_host_memory *out)
{
	struct walk w = { .s = s };
	bool good = frag_map_init(&w.live, frag_hash_seed()) && enter_end(&w) && walk_back(&w);

	frag_map_fini(&w.live);
	*out = w.host;
	return good ? 0 : frag_fail_nomem(s->err);
}
