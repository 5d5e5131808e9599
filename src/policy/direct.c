/* direct.c - no caching: every request is a separate segment (fragsim-policies(7), direct). */
#include "policy/policies.h"

static int direct_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	uint64_t bytes = frag_heap_round(p->heap, rq->bytes);
	frag_list list;
	int rc = frag_heap_list(p->heap, rq->pool, 0, &list);

	rc = rc ? rc : frag_heap_grow(p->heap, list, bytes, out);
	return rc ? rc : frag_heap_take(p->heap, out, rq->bytes, bytes);
}

static struct frag_sought direct_seek(const struct frag_policy *p, const struct frag_request *rq)
{
	return (struct frag_sought){
		.list = frag_heap_find_list(p->heap, rq->pool, 0),
		.bytes = frag_heap_round(p->heap, rq->bytes),
	};
}

static uint64_t direct_round(const uint64_t *param, uint64_t granularity, uint64_t bytes)
{
	(void)param;
	return frag_round_up(bytes, granularity);
}

static int direct_free(struct frag_policy *p, frag_block b)
{
	int rc = frag_heap_give(p->heap, b, &b);

	return rc ? rc : frag_heap_release(p->heap, b);
}

const struct frag_policy_ops frag_policy_direct = {
	.name = "direct",
	.summary = "every request is its own segment, released when it is freed",
	.order = FRAG_ORDER_SIZE,
	.alloc = direct_alloc,
	.free = direct_free,
	.seek = direct_seek,
	.round = direct_round,
};
