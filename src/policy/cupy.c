/*
 * cupy.c - the MemoryPool of CuPy (fragsim-policies(7), cupy): best fit in segments of just the
 * size that was requested first, which stay with the stream that requested them.
 */
#include "policy/heap_access.h"
#include "policy/policies.h"

enum { LIMIT };

#define UNIT 512

static const struct frag_param_spec cupy_params[] = {
	[LIMIT] = { .name = "limit", .type = FRAG_PARAM_SIZE, .fallback = 0,
	  .help = "bytes obtained at most; 0: no limit" },
	{ 0 },
};

/* Do `bytes` more than `held` exceed the limit? */
static bool over(const struct frag_policy *p, uint64_t held, uint64_t bytes)
{
	return p->param[LIMIT] && (bytes > p->param[LIMIT] || held > p->param[LIMIT] - bytes);
}

/*
 * Cached segments are released if the limit requires it, and if the device refuses; a request
 * that alone exceeds the limit fails at once. CuPy calls the device a third time, after Python
 * has collected its garbage: a trace has no garbage, so the third call follows directly.
 */
static int cupy_obtain(struct frag_policy *p, frag_list list, uint64_t bytes, frag_block *out)
{
	const struct frag_totals *now = frag_heap_totals(p->heap);
	int rc = 0;

	if (!over(p, 0, bytes) && over(p, now->reserved, bytes))
		rc = frag_heap_release_idle(p->heap);
	if (rc)
		return rc;
	if (over(p, now->reserved, bytes)) {
		frag_heap_note_tried(p->heap, bytes);
		return -FRAG_EDEVMEM;
	}
	rc = frag_policy_obtain(p, list, bytes, true, out);
	return rc == -FRAG_EDEVMEM ? frag_heap_grow(p->heap, list, bytes, out) : rc;
}

static int cupy_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	const uint64_t need = frag_round_up_pow2(rq->bytes, UNIT);
	frag_list list;
	int rc = frag_heap_list_unchecked(p->heap, rq->pool, rq->stream, &list);

	if (rc)
		return rc;
	*out = frag_heap_find_unchecked(p->heap, list, need);
	if (*out == FRAG_NO_BLOCK)
		rc = cupy_obtain(p, list, need, out);
	return rc ? rc : frag_heap_take_unchecked(p->heap, out, rq->bytes, need);
}

static uint64_t cupy_round(const uint64_t *param, uint64_t granularity, uint64_t bytes)
{
	(void)param;
	(void)granularity;
	return frag_round_up_pow2(bytes, UNIT);
}

static struct frag_sought cupy_seek(const struct frag_policy *p, const struct frag_request *rq)
{
	return (struct frag_sought){
		.list = frag_heap_find_list(p->heap, rq->pool, rq->stream),
		.bytes = frag_round_up_pow2(rq->bytes, UNIT),
	};
}

const struct frag_policy_ops frag_policy_cupy = {
	.name = "cupy",
	.summary = "the pool of CuPy: best fit in segments of just the size requested",
	.params = cupy_params,
	.order = FRAG_ORDER_SIZE,
	.alloc = cupy_alloc,
	.free = frag_policy_give,
	.seek = cupy_seek,
	.round = cupy_round,
};
