/*
 * tlsf.c - two-level segregated fit (Masmano et al., 2004; fragsim-policies(7), tlsf), in the
 * variant that games and drivers link (M. Conte's, version 3.1).
 *
 * Free blocks are in classes of sizes, the one that was freed last first. A request takes the
 * first block of the smallest class in which every block is large enough, so it needs no search.
 */
#include "policy/heap_access.h"
#include "policy/policies.h"

enum { SL_LOG2, SEGMENT, POOL };

#define UNIT_LOG2 9             /* blocks are multiples of 512 bytes, and their records elsewhere */
#define UNIT (UINT64_C(1) << UNIT_LOG2)
#define CLOCK_BITS 52           /* the other 12 are a class, which is below 2^11 */

static const struct frag_param_spec tlsf_params[] = {
	[SL_LOG2] = { .name = "sl_log2",
		      .type = FRAG_PARAM_COUNT,
		      .fallback = 5,
		      .min = 1,
		      .max = 5,
		      .help = "the second level's lists: each doubling has 2^sl_log2 classes" },
	[SEGMENT] = { .name = "segment",
		      .type = FRAG_PARAM_SIZE,
		      .fallback = 2 << 20,
		      .min = 1,
		      .help = "segments are multiples of this" },
	[POOL] = { .name = "pool",
		   .type = FRAG_PARAM_SIZE,
		   .fallback = 0,
		   .help = "bytes obtained before the first event and never released" },
	{ 0 },
};

struct tlsf {
	uint64_t clock;         /* requests and frees so far: the later, the nearer to the front */
};

static uint64_t tlsf_log2_of(uint64_t x)
{
	return 63 - (uint64_t)__builtin_clzll(x);
}

/* Bytes from one class to the next, where these bytes are. */
static uint64_t step_at(uint64_t bytes, uint64_t sl_log2)
{
	const uint64_t power = tlsf_log2_of(bytes);

	return power < UNIT_LOG2 + sl_log2 ? UNIT : UINT64_C(1) << (power - sl_log2);
}

/* The class that holds a block of these bytes: below 2^sl_log2 units a class is one size. */
static uint64_t tlsf_class_of(uint64_t bytes, uint64_t sl_log2)
{
	const uint64_t power = tlsf_log2_of(bytes), first = UNIT_LOG2 + sl_log2;

	if (power < first)
		return bytes >> UNIT_LOG2;
	return ((power - first) << sl_log2) + (bytes >> (power - sl_log2));
}

/* The start of the smallest class in which every block holds these bytes. */
static uint64_t class_for(uint64_t bytes, uint64_t sl_log2)
{
	return frag_round_up_pow2(bytes, step_at(bytes, sl_log2));
}

/* At the front of its class. */
static uint64_t tlsf_key(const void *state, const uint64_t *param,
			 const struct frag_segment_view *s, const struct frag_block_view *b)
{
	const struct tlsf *t = state;

	(void)s;
	return (tlsf_class_of(b->bytes, param[SL_LOG2]) << CLOCK_BITS)
	       + ((UINT64_C(1) << CLOCK_BITS) - 1 - t->clock);
}

static int tlsf_init(struct frag_policy *p)
{
	return frag_policy_begin_with(p, p->param[POOL]);
}

/* Takes a block of the next class that is certain to be large enough, else a new segment. */
static int tlsf_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	const uint64_t need = frag_round_up_pow2(rq->bytes, UNIT);
	const uint64_t least = class_for(need, p->param[SL_LOG2]);
	const uint64_t key = tlsf_class_of(least, p->param[SL_LOG2]) << CLOCK_BITS;
	struct tlsf *t = p->state;
	uint64_t found;
	frag_list list;
	int rc = frag_heap_list_unchecked(p->heap, rq->pool, 0, &list);

	if (rc)
		return rc;
	t->clock++;
	*out = frag_heap_find_key(p->heap, list, least, key);
	/* less than `least` would be a block that the request does not find */
	if (*out == FRAG_NO_BLOCK)
		rc = frag_policy_obtain(p, list, frag_round_up(least, p->param[SEGMENT]), true,
					out);
	if (rc)
		return rc;
	found = frag_heap_look_unchecked(p->heap, *out).bytes;
	return frag_heap_take_unchecked(p->heap, out, rq->bytes,
					found - need < UNIT ? found : need);
}

static int tlsf_free(struct frag_policy *p, frag_block b)
{
	struct tlsf *t = p->state;

	t->clock++;
	return frag_heap_give_unchecked(p->heap, b, NULL);
}

/* A block is found by its class, and keeps the bytes of the request alone. */
static uint64_t tlsf_round(const uint64_t *param, uint64_t granularity, uint64_t bytes)
{
	(void)param;
	(void)granularity;
	return frag_round_up_pow2(bytes, UNIT);
}

static struct frag_sought tlsf_seek(const struct frag_policy *p, const struct frag_request *rq)
{
	return (struct frag_sought){
		.list = frag_heap_find_list(p->heap, rq->pool, 0),
		.bytes = class_for(frag_round_up_pow2(rq->bytes, UNIT), p->param[SL_LOG2]),
	};
}

const struct frag_policy_ops frag_policy_tlsf = {
	.name = "tlsf",
	.summary = "the most recently freed block of the smallest sufficient class",
	.params = tlsf_params,
	.order = FRAG_ORDER_KEY,
	.key = tlsf_key,
	.state_size = sizeof(struct tlsf),
	.init = tlsf_init,
	.alloc = tlsf_alloc,
	.free = tlsf_free,
	.seek = tlsf_seek,
	.round = tlsf_round,
};
