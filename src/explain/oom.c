/*
 * oom.c - why a request found no memory: who holds it, and the least that had to be freed.
 *
 * It is called by the simulation, which it only asks.
 */
#include "explain/holders.h"

/* What the device has left, with what could be given back. */
static uint64_t left_over(const struct frag_oom *oom)
{
	const struct frag_metrics *m = &oom->metrics;
	uint64_t left = UINT64_MAX;

	if (m->limited)
		left = m->device_free > 0 ? (uint64_t)m->device_free : 0;
	if (oom->limit != UINT64_MAX && (oom->limit < oom->used || oom->limit - oom->used < left))
		left = oom->limit > oom->used ? oom->limit - oom->used : 0;
	return left == UINT64_MAX ? left : left + m->releasable;
}

/* What would have to be freed at least, and whose that is. */
static int find_hole(struct frag_oom *oom, const struct frag_heap *heap,
		     const struct frag_event *ev, const struct frag_scene *scene)
{
	const struct frag_wish wish = {
		.bytes = ev->bytes, .pool = ev->pool, .tried = oom->tried,
		.left = left_over(oom),
	};
	struct frag_window w;

	if (!frag_window_find(heap, &wish, &w))
		return 0;
	oom->hole = (struct frag_hole){
		.bytes = w.bytes, .live = w.live, .segment = w.ordinal, .offset = w.offset,
		.whole = w.whole,
	};
	return frag_scene_holders(scene, &w, oom->hole.holders, &oom->hole.holder_count);
}

static int explain(void *ctx, const struct frag_sim *sim, uint32_t device,
		   const struct frag_event *ev, struct frag_oom *oom, struct frag_error *err)
{
	struct frag_scene scene;
	int rc = frag_scene_init(&scene, sim, device);

	(void)ctx;
	rc = rc ? rc : frag_scene_holders(&scene, NULL, oom->holders, &oom->holder_count);
	if (!rc && ev && oom->fragmentation && !oom->metrics.opaque)
		rc = find_hole(oom, frag_sim_heap(sim, device), ev, &scene);
	frag_scene_fini(&scene);
	return rc ? frag_fail_nomem(err) : 0;
}

const struct frag_oom_hook frag_oom_explain = { .explain = explain };
