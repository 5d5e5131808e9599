/* policy_ranges.c - a policy that lives in expandable ranges. */
#include "support/policy_ranges.h"

#define ALIGN UINT64_C(512)
#define POOLS 16

struct ranges {
	frag_segment range[POOLS];      /* handle + 1; 0: none yet */
};

static uint64_t up(uint64_t x, uint64_t m)
{
	return (x + m - 1) / m * m;
}

/* Gives back each page that lies whole in a free block of the range. */
static int unmap_free(struct frag_policy *p, frag_segment s)
{
	frag_block b = frag_heap_look_segment(p->heap, s).first;
	int rc = 0;

	while (b != FRAG_NO_BLOCK && !rc) {
		struct frag_block_view k = frag_heap_look(p->heap, b);
		uint64_t from = up(k.offset, RANGES_PAGE);
		uint64_t to = (k.offset + k.bytes) / RANGES_PAGE * RANGES_PAGE;

		if (k.state != FRAG_FREE || to <= from) {
			b = k.next;
			continue;
		}
		rc = frag_heap_unmap(p->heap, b, from, to - from, &b);
		/* what was unmapped may have joined its neighbours: begin again */
		b = frag_heap_look_segment(p->heap, s).first;
	}
	return rc;
}

static int unmap_all(struct frag_policy *p)
{
	struct ranges *r = p->state;
	int rc = 0;

	for (uint32_t i = 0; i < POOLS && !rc; i++) {
		struct frag_segment_view s;

		if (!r->range[i])
			continue;
		rc = unmap_free(p, r->range[i] - 1);
		s = frag_heap_look_segment(p->heap, r->range[i] - 1);
		if (rc || s.mapped)
			continue;
		rc = frag_heap_release(p->heap, s.first);
		if (!rc)
			r->range[i] = 0;
	}
	return rc;
}

/*
 * Maps the lowest hole in which need bytes fit, together with the free block just
 * below it; *out is the free block that holds them.
 */
static int map_hole(struct frag_policy *p, frag_segment s, uint64_t need, frag_block *out)
{
	frag_block b = frag_heap_look_segment(p->heap, s).first;
	uint64_t below = 0;

	for (; b != FRAG_NO_BLOCK; b = frag_heap_look(p->heap, b).next) {
		struct frag_block_view k = frag_heap_look(p->heap, b);

		if (k.state == FRAG_UNMAPPED && below + k.bytes >= need)
			return frag_heap_map(p->heap, b, k.offset, up(need - below, RANGES_PAGE),
					     out);
		below = k.state == FRAG_FREE ? k.bytes : 0;
	}
	return -FRAG_EDEVMEM;
}

static int find_range(struct frag_policy *p, frag_list list, frag_segment *handle)
{
	frag_block b;
	int rc = 0;

	if (!*handle) {
		rc = frag_heap_reserve(p->heap, list, RANGES_PAGES * RANGES_PAGE, RANGES_PAGE, &b);
		if (!rc)
			*handle = frag_heap_look(p->heap, b).segment + 1;
	}
	return rc;
}

static int expand(struct frag_policy *p, frag_list list, frag_segment *handle, uint64_t need,
		  frag_block *out)
{
	int rc = find_range(p, list, handle);

	return rc ? rc : map_hole(p, *handle - 1, need, out);
}

static int ranges_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	struct ranges *r = p->state;
	uint64_t need = up(rq->bytes, ALIGN);
	frag_list list;
	int rc = frag_heap_list(p->heap, rq->pool, 0, &list);

	if (rc)
		return rc;
	if (rq->pool >= POOLS)
		return -FRAG_EDEVMEM;
	*out = frag_heap_find(p->heap, list, need);
	if (*out == FRAG_NO_BLOCK)
		rc = expand(p, list, &r->range[rq->pool], need, out);
	if (rc == -FRAG_EDEVMEM) {
		frag_heap_count_retry(p->heap);
		rc = unmap_all(p);
		rc = rc ? rc : expand(p, list, &r->range[rq->pool], need, out);
	}
	return rc ? rc : frag_heap_take(p->heap, out, rq->bytes, need);
}

static int ranges_free(struct frag_policy *p, frag_block b)
{
	return frag_heap_give(p->heap, b, NULL);
}

static int ranges_notice(struct frag_policy *p, const struct frag_notice *n, bool *handled)
{
	*handled = n->kind == FRAG_NOTICE_EMPTY_CACHE;
	return *handled ? unmap_all(p) : 0;
}

const struct frag_policy_ops policy_ranges = {
	.name = "ranges",
	.summary = "best fit in expandable ranges",
	.order = FRAG_ORDER_SIZE,
	.state_size = sizeof(struct ranges),
	.alloc = ranges_alloc,
	.free = ranges_free,
	.notice = ranges_notice,
};
