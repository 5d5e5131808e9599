/* oom_explain.c - the hook of fragsim/engine.h: what an out-of-memory finds on its device. */
#include "explain/top_tags.h"

/* The free bytes of the device, and those of segments that can be released. */
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

/* Finds the minimum to be freed, and its tags. */
static int oom_find_hole(struct frag_oom *oom, const struct frag_sim *sim, uint32_t device,
			 const struct frag_event *ev)
{
	const struct frag_failed_request request = {
		.bytes = ev->bytes, .pool = ev->pool, .list = frag_sim_seek(sim, ev).list,
		.demand = oom->demand, .left = left_over(oom),
	};
	struct frag_block_window w;

	if (!frag_window_find(frag_sim_heap(sim, device), &request, &w))
		return 0;
	oom->hole = (struct frag_hole){
		.bytes = w.bytes, .live = w.live, .segment = w.ordinal, .offset = w.offset,
		.whole = w.whole,
	};
	return frag_top_tags_find(sim, device, &w, oom->hole.holders, &oom->hole.holder_count);
}

static int oom_explain(void *ctx, const struct frag_sim *sim, uint32_t device,
		       const struct frag_event *ev, struct frag_oom *oom, struct frag_error *err)
{
	int rc = frag_top_tags_find(sim, device, NULL, oom->holders, &oom->holder_count);

	(void)ctx;
	if (!rc && ev && oom->fragmentation && !oom->metrics.opaque)
		rc = oom_find_hole(oom, sim, device, ev);
	return rc ? frag_fail_nomem(err) : 0;
}

const struct frag_oom_hook frag_oom_explain = { .explain = oom_explain };
