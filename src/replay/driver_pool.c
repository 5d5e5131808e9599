/*
 * driver_pool.c - the driver's own pool, where a policy would be: each request goes to it.
 *
 * It is no policy, because nobody here chooses anything: the table has the keys
 * that the pool is made with, and passes requests on. It is in no list.
 */
#include "replay/driver_pool.h"

enum { THRESHOLD, EVENTS, OPPORTUNISTIC, INTERNAL };

static int pool_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	frag_list list;
	int rc = frag_heap_list(p->heap, rq->pool, 0, &list);

	rc = rc ? rc : frag_heap_grow(p->heap, list, rq->bytes, out);
	return rc ? rc : frag_heap_take(p->heap, out, rq->bytes, rq->bytes);
}

static int pool_free(struct frag_policy *p, frag_block b)
{
	int rc = frag_heap_give(p->heap, b, &b);

	return rc ? rc : frag_heap_release(p->heap, b);
}

struct frag_gpu_pool_options frag_replay_pool_options(const struct frag_choice *choice)
{
	return (struct frag_gpu_pool_options){
		.threshold = choice->param[THRESHOLD], .events = choice->param[EVENTS] != 0,
		.opportunistic = choice->param[OPPORTUNISTIC] != 0,
		.internal = choice->param[INTERNAL] != 0,
	};
}

static const struct frag_param_spec params[] = {
	[THRESHOLD] = {
		.name = "release_threshold", .type = FRAG_PARAM_SIZE, .fallback = 0,
		.help = "what the pool keeps when somebody waits",
	},
	[EVENTS] = {
		.name = "follow_event_dependencies", .type = FRAG_PARAM_BOOL, .fallback = 1,
		.help = "memory freed on another stream is used again where an event orders it",
	},
	[OPPORTUNISTIC] = {
		.name = "allow_opportunistic", .type = FRAG_PARAM_BOOL, .fallback = 1,
		.help = "memory freed on another stream is used again once that has come so far",
	},
	[INTERNAL] = {
		.name = "allow_internal_dependencies", .type = FRAG_PARAM_BOOL, .fallback = 1,
		.help = "a stream may be made to wait for another one's free",
	},
	{ .name = NULL },
};

const struct frag_policy_ops frag_replay_pool = {
	.name = "cuda-async",
	.summary = "the driver's own pool, cudaMallocAsync",
	.params = params,
	.index = &frag_index_size,
	.alloc = pool_alloc,
	.free = pool_free,
};
