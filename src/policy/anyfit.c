/*
 * anyfit.c - bestfit, firstfit, nextfit, worstfit: any free block may be split, adjacent free
 * blocks merge at once (fragsim-policies(7), bestfit). They differ in the block that they
 * choose.
 */
#include "policy/fit_keys.h"
#include "policy/heap_access.h"
#include "policy/policies.h"

static const struct frag_param_spec fit_params[] = {
	FRAG_FIT_KEYS(0, ""),
	{ 0 },
};

typedef frag_block choose_fn(struct frag_policy *p, frag_list list, uint64_t need);

static int anyfit_init(struct frag_policy *p)
{
	return frag_policy_begin_with(p, p->param[POOL]);
}

/* Inline, so that each of the four has a copy with its own choose function. */
static inline int fit_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out,
			    choose_fn *choose)
{
	uint64_t need = frag_round_up_pow2(rq->bytes, p->param[ALIGN]);
	uint64_t found;
	frag_list list;
	int rc = frag_heap_list_unchecked(p->heap, rq->pool, 0, &list);

	if (rc)
		return rc;
	*out = choose(p, list, need);
	if (*out == FRAG_NO_BLOCK)
		rc = frag_policy_obtain(p, list, frag_round_up(need, p->param[SEGMENT]),
					p->param[RELEASE], out);
	if (rc)
		return rc;
	found = frag_heap_look_unchecked(p->heap, *out).bytes;
	if (found - need < p->param[MIN_SPLIT])
		need = found;
	return frag_heap_take_unchecked(p->heap, out, rq->bytes, need);
}

static uint64_t fit_round(const uint64_t *param, uint64_t granularity, uint64_t bytes)
{
	(void)granularity;
	return frag_round_up_pow2(bytes, param[ALIGN]);
}

static struct frag_sought fit_seek(const struct frag_policy *p, const struct frag_request *rq)
{
	return (struct frag_sought){
		.list = frag_heap_find_list(p->heap, rq->pool, 0),
		.bytes = frag_round_up_pow2(rq->bytes, p->param[ALIGN]),
	};
}

static frag_block choose_first(struct frag_policy *p, frag_list list, uint64_t need)
{
	return frag_heap_find_unchecked(p->heap, list, need);
}

static int first_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	return fit_alloc(p, rq, out, choose_first);
}

static frag_block choose_worst(struct frag_policy *p, frag_list list, uint64_t need)
{
	frag_block b = frag_heap_find_largest(p->heap, list);

	if (b == FRAG_NO_BLOCK || frag_heap_look_unchecked(p->heap, b).bytes < need)
		return FRAG_NO_BLOCK;
	return b;
}

static int worst_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	return fit_alloc(p, rq, out, choose_worst);
}

/* The address just after the last block that was allocated. */
struct rover {
	uint64_t offset;
	uint32_t ordinal;
};

static frag_block choose_next(struct frag_policy *p, frag_list list, uint64_t need)
{
	const struct rover *rover = p->state;
	frag_block b = frag_heap_find_from(p->heap, list, need, rover->ordinal, rover->offset);

	return b != FRAG_NO_BLOCK ? b : frag_heap_find_unchecked(p->heap, list, need);
}

static int next_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	struct rover *rover = p->state;
	struct frag_block_view b;
	int rc = fit_alloc(p, rq, out, choose_next);

	if (rc)
		return rc;
	b = frag_heap_look_unchecked(p->heap, *out);
	rover->ordinal = frag_heap_look_segment_unchecked(p->heap, b.segment).ordinal;
	rover->offset = b.offset + b.bytes;
	return 0;
}

const struct frag_policy_ops frag_policy_bestfit = {
	.name = "bestfit",
	.summary = "the smallest free block that is large enough",
	.params = fit_params,
	.order = FRAG_ORDER_SIZE,
	.init = anyfit_init,
	.alloc = first_alloc,
	.free = frag_policy_give,
	.seek = fit_seek,
	.round = fit_round,
};

const struct frag_policy_ops frag_policy_firstfit = {
	.name = "firstfit",
	.summary = "the large enough free block with the lowest address",
	.params = fit_params,
	.order = FRAG_ORDER_ADDRESS,
	.init = anyfit_init,
	.alloc = first_alloc,
	.free = frag_policy_give,
	.seek = fit_seek,
	.round = fit_round,
};

const struct frag_policy_ops frag_policy_nextfit = {
	.name = "nextfit",
	.summary = "the first large enough free block after the one allocated last",
	.params = fit_params,
	.order = FRAG_ORDER_ADDRESS,
	.state_size = sizeof(struct rover),
	.init = anyfit_init,
	.alloc = next_alloc,
	.free = frag_policy_give,
	.seek = fit_seek,
	.round = fit_round,
};

const struct frag_policy_ops frag_policy_worstfit = {
	.name = "worstfit",
	.summary = "the largest free block",
	.params = fit_params,
	.order = FRAG_ORDER_SIZE,
	.init = anyfit_init,
	.alloc = worst_alloc,
	.free = frag_policy_give,
	.seek = fit_seek,
	.round = fit_round,
};
