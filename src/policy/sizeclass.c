/*
 * sizeclass.c - segregated fit: slabs of equal slots for small requests, whole
 * segments of one exact size for large ones; adjacent blocks never merge
 * (fragsim-policies(7), sizeclass).
 */
#include <inttypes.h>

#include "policy/policies.h"

enum { QUANTUM, STEPS, MAX_SMALL, SLAB, SEGMENT };

/* The free lists of a pool. */
enum { SLOTS, EMPTY_SLABS, LARGE };

static const struct frag_param_spec sizeclass_params[] = {
	{ .name = "quantum", .type = FRAG_PARAM_SIZE, .fallback = 512, .min = 1,
	  .power_of_two = true, .help = "the smallest class, and the step of the first ones" },
	{ .name = "steps", .type = FRAG_PARAM_COUNT, .fallback = 4, .min = 1, .max = 1 << 20,
	  .power_of_two = true, .help = "classes in each doubling" },
	{ .name = "max_small", .type = FRAG_PARAM_SIZE, .fallback = 1 << 20, .min = 1,
	  .help = "classes up to this one live in slabs" },
	{ .name = "slab", .type = FRAG_PARAM_SIZE, .fallback = 2 << 20, .min = 1,
	  .help = "bytes of a slab" },
	{ .name = "segment", .type = FRAG_PARAM_SIZE, .fallback = 2 << 20, .min = 1,
	  .help = "large segments are multiples of this" },
	{ 0 },
};

static int sizeclass_check(const uint64_t *param, struct frag_error *err)
{
	if (param[MAX_SMALL] <= param[SLAB])
		return 0;
	return frag_fail(err, FRAG_EUSAGE, "policy sizeclass: max_small=%" PRIu64
			 " is larger than slab=%" PRIu64, param[MAX_SMALL], param[SLAB]);
}

/* The smallest class that holds bytes. */
static uint64_t sizeclass_class_of(uint64_t bytes, uint64_t quantum, uint64_t steps)
{
	uint64_t power;

	if ((bytes - 1) / quantum < steps)
		return frag_round_up_pow2(bytes, quantum);
	power = UINT64_C(1) << (63 - __builtin_clzll(bytes - 1));
	return frag_round_up_pow2(bytes, power / steps);
}

static int small_alloc(struct frag_policy *p, const struct frag_request *rq, uint64_t need,
		       frag_block *out)
{
	frag_list slots, empty;
	int rc = frag_heap_list(p->heap, rq->pool, SLOTS, &slots);

	rc = rc ? rc : frag_heap_list(p->heap, rq->pool, EMPTY_SLABS, &empty);
	if (rc)
		return rc;
	*out = frag_heap_find(p->heap, slots, need);
	if (*out != FRAG_NO_BLOCK) {
		frag_segment s = frag_heap_look(p->heap, *out).segment;

		if (frag_heap_look_segment(p->heap, s).slot_size == need)
			return frag_heap_take(p->heap, out, rq->bytes, need);
	}
	*out = frag_heap_find(p->heap, empty, 1);
	if (*out == FRAG_NO_BLOCK)
		rc = frag_policy_obtain(p, empty, p->param[SLAB], true, out);
	rc = rc ? rc : frag_heap_carve(p->heap, *out, need, slots, out);
	return rc ? rc : frag_heap_take(p->heap, out, rq->bytes, need);
}

static int large_alloc(struct frag_policy *p, const struct frag_request *rq, uint64_t need,
		       frag_block *out)
{
	uint64_t bytes = frag_round_up(need, p->param[SEGMENT]);
	frag_list large;
	int rc = frag_heap_list(p->heap, rq->pool, LARGE, &large);

	if (rc)
		return rc;
	*out = frag_heap_find(p->heap, large, bytes);
	if (*out == FRAG_NO_BLOCK || frag_heap_look(p->heap, *out).bytes != bytes)
		rc = frag_policy_obtain(p, large, bytes, true, out);
	return rc ? rc : frag_heap_take(p->heap, out, rq->bytes, bytes);
}

static int sizeclass_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	uint64_t need = sizeclass_class_of(rq->bytes, p->param[QUANTUM], p->param[STEPS]);

	return need <= p->param[MAX_SMALL] ? small_alloc(p, rq, need, out)
					   : large_alloc(p, rq, need, out);
}

/* The class, or a whole segment of a large request. */
static uint64_t sizeclass_round(const uint64_t *param, uint64_t granularity, uint64_t bytes)
{
	const uint64_t need = sizeclass_class_of(bytes, param[QUANTUM], param[STEPS]);

	(void)granularity;
	return need <= param[MAX_SMALL] ? need : frag_round_up(need, param[SEGMENT]);
}

static struct frag_sought sizeclass_seek(const struct frag_policy *p, const struct frag_request *rq)
{
	const bool small = sizeclass_class_of(rq->bytes, p->param[QUANTUM], p->param[STEPS])
			   <= p->param[MAX_SMALL];

	return (struct frag_sought){
		.list = frag_heap_find_list(p->heap, rq->pool, small ? SLOTS : LARGE),
		.bytes = sizeclass_round(p->param, 1, rq->bytes),
	};
}

static int sizeclass_free(struct frag_policy *p, frag_block b)
{
	frag_segment s = frag_heap_look(p->heap, b).segment;
	struct frag_segment_view slab;
	frag_list empty;
	int rc = frag_heap_give(p->heap, b, NULL);

	slab = frag_heap_look_segment(p->heap, s);
	if (rc || !slab.slot_size || slab.live)
		return rc;
	rc = frag_heap_list(p->heap, slab.pool, EMPTY_SLABS, &empty);
	return rc ? rc : frag_heap_uncarve(p->heap, s, empty);
}

const struct frag_policy_ops frag_policy_sizeclass = {
	.name = "sizeclass",
	.summary = "slabs of equal slots for small requests, exact segments for large ones",
	.params = sizeclass_params,
	.order = FRAG_ORDER_SIZE,
	.check = sizeclass_check,
	.alloc = sizeclass_alloc,
	.free = sizeclass_free,
	.seek = sizeclass_seek,
	.round = sizeclass_round,
};
