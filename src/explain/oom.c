/*
 * oom.c - why a request found out of memory: who holds it, and the least that had to be freed.
 *
 * It is called by the simulation, which it only asks.
 */
#include "explain/live_by_tag.h"

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
static int oom_find_hole(struct frag_oom *oom, const struct frag_sim *sim, uint32_t device,
			 const struct frag_event *ev)
{
	struct frag_sought sought = { .list = FRAG_NO_LIST };
	struct frag_failed_request wish = {
		.bytes = ev->bytes, .pool = ev->pool, .tried = oom->demand,
		.left = left_over(oom),
	};
	struct frag_block_window w;
	const int rc = frag_sim_seek(sim, ev, &sought);

	if (rc)
		return rc;
	wish.list = sought.list;
	if (!frag_window_find(frag_sim_heap(sim, device), &wish, &w))
		return 0;
	oom->hole = (struct frag_hole){
		.bytes = w.bytes, .live = w.live, .segment = w.ordinal, .offset = w.offset,
		.whole = w.whole,
	};
	return frag_holders_find(sim, device, &w, oom->hole.holders, &oom->hole.holder_count);
}

static int oom_explain(void *ctx, const struct frag_sim *sim, uint32_t device,
		       const struct frag_event *ev, struct frag_oom *oom, struct frag_error *err)
{
	int rc = frag_holders_find(sim, device, NULL, oom->holders, &oom->holder_count);

	(void)ctx;
	if (!rc && ev && oom->fragmentation && !oom->metrics.opaque)
		rc = oom_find_hole(oom, sim, device, ev);
	return rc ? frag_fail_nomem(err) : 0;
}

const struct frag_oom_hook frag_oom_explain = { .explain = oom_explain };
