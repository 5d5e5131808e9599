/*
 * snug.c - a policy as a plug-in: a free block is used whole, and only where the
 * request fills enough of it. fragsim-plugin(7) goes through it.
 */
#include <fragsim/plugin.h>

/* The keys, as places in p->param. */
enum { ALIGN, FILL };

static const struct frag_param_spec snug_params[] = {
	{ .name = "align", .type = FRAG_PARAM_SIZE, .fallback = 512, .min = 1,
	  .help = "blocks are multiples of this" },
	{ .name = "fill", .type = FRAG_PARAM_COUNT, .fallback = 50, .max = 100,
	  .help = "percent of a block that a request must fill" },
	{ 0 },
};

/* Answers a request with a block that has become allocated. */
static int snug_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	uint64_t need = frag_round_up(rq->bytes, p->param[ALIGN]);
	frag_list list;
	int rc = frag_heap_list(p->heap, rq->pool, 0, &list);

	if (rc)
		return rc;
	*out = frag_heap_find(p->heap, list, need);
	if (*out != FRAG_NO_BLOCK
	    && need < frag_heap_look(p->heap, *out).bytes / 100 * p->param[FILL])
		*out = FRAG_NO_BLOCK;
	if (*out == FRAG_NO_BLOCK)
		rc = frag_policy_obtain(p, list, need, true, out);
	if (rc)
		return rc;
	return frag_heap_take(p->heap, out, rq->bytes, frag_heap_look(p->heap, *out).bytes);
}

/* Takes a block back: it stays cached. */
static int snug_free(struct frag_policy *p, frag_block b)
{
	return frag_heap_give(p->heap, b, NULL);
}

static const struct frag_policy_ops snug = {
	.name = "snug",
	.summary = "the smallest free block, whole, if the request fills enough of it",
	.params = snug_params,
	.order = FRAG_ORDER_SIZE,
	.alloc = snug_alloc,
	.free = snug_free,
};

FRAG_PLUGIN(snug);
