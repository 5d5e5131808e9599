/*
 * policy_twolevel.c - two-level segregated fit (Masmano et al., 2004), for tests of what sorts.
 *
 * Free blocks stand in a list for each class of sizes, the last one freed first. A
 * request is rounded up to a class, so that whatever that list has is large enough;
 * neighbours merge at once, whatever lists they stand in.
 */
#include "fragsim/policy.h"

/* As places in p->param. */
enum { ALIGN, STEPS, SEGMENT };

static const struct frag_param_spec tlsf_params[] = {
	{ .name = "align", .type = FRAG_PARAM_SIZE, .fallback = 512, .min = 1,
	  .power_of_two = true, .help = "blocks are multiples of this" },
	{ .name = "steps", .type = FRAG_PARAM_COUNT, .fallback = 4, .min = 1, .max = 64,
	  .power_of_two = true, .help = "classes in each doubling" },
	{ .name = "segment", .type = FRAG_PARAM_SIZE, .fallback = 2 << 20, .min = 1,
	  .help = "segments are multiples of this" },
	{ 0 },
};

struct tlsf {
	uint64_t clock;         /* verbs so far: the age of free blocks */
};

static uint64_t log2_of(uint64_t x)
{
	return 63 - (uint64_t)__builtin_clzll(x);
}

/* The class that a block of these bytes is in; what is smaller than all is in one never asked. */
static uint32_t class_of(uint64_t bytes, uint64_t align, uint64_t steps)
{
	const uint64_t units = bytes / align;
	uint64_t power, rest;

	if (!units)
		return UINT32_MAX;
	power = log2_of(units);
	rest = units - (UINT64_C(1) << power);
	rest = power < log2_of(steps) ? rest * (steps >> power) : rest >> (power - log2_of(steps));
	return (uint32_t)(power * steps + rest);
}

/* The least class of which every block holds bytes. */
static uint32_t class_for(uint64_t bytes, uint64_t align, uint64_t steps)
{
	uint32_t class = class_of(bytes, align, steps);

	/* one unit less is in this class too: it has blocks that are too small */
	if (bytes > align && class_of(bytes - align, align, steps) == class)
		class++;
	return class;
}

static uint32_t tlsf_which(const void *state, const uint64_t *param,
			   const struct frag_segment_view *s, const struct frag_block_view *b)
{
	(void)state;
	(void)s;
	return class_of(b->bytes, param[ALIGN], param[STEPS]);
}

/* The last one freed is the first. */
static uint64_t tlsf_key(const void *state, const uint64_t *param,
			 const struct frag_segment_view *s, const struct frag_block_view *b)
{
	const struct tlsf *t = state;

	(void)param;
	(void)s;
	(void)b;
	return UINT64_MAX - t->clock;
}

static int find(struct frag_policy *p, uint32_t pool, uint64_t need, frag_block *out)
{
	const uint64_t align = p->param[ALIGN], steps = p->param[STEPS];
	uint32_t last = class_of(UINT64_C(1) << 53, align, steps);
	frag_list list;
	int rc = 0;

	*out = FRAG_NO_BLOCK;
	for (uint32_t c = class_for(need, align, steps); c <= last && *out == FRAG_NO_BLOCK; c++) {
		rc = frag_heap_list(p->heap, pool, c, &list);
		if (rc)
			return rc;
		*out = frag_heap_find(p->heap, list, 0);
	}
	return rc;
}

static int tlsf_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	uint64_t need = frag_round_up_pow2(rq->bytes, p->param[ALIGN]);
	struct tlsf *t = p->state;
	frag_list list;
	int rc = find(p, rq->pool, need, out);

	t->clock++;
	if (!rc && *out == FRAG_NO_BLOCK) {
		rc = frag_heap_list(p->heap, rq->pool, 0, &list);
		rc = rc ? rc : frag_policy_obtain(p, list, frag_round_up(need, p->param[SEGMENT]),
						  true, out);
	}
	return rc ? rc : frag_heap_take(p->heap, out, rq->bytes, need);
}

static int tlsf_free(struct frag_policy *p, frag_block b)
{
	struct tlsf *t = p->state;

	t->clock++;
	return frag_heap_give(p->heap, b, NULL);
}

extern const struct frag_policy_ops policy_twolevel;
const struct frag_policy_ops policy_twolevel = {
	.name = "twolevel",
	.summary = "two-level segregated fit",
	.params = tlsf_params,
	.order = FRAG_ORDER_KEY,
	.which = tlsf_which,
	.key = tlsf_key,
	.state_size = sizeof(struct tlsf),
	.alloc = tlsf_alloc,
	.free = tlsf_free,
};
