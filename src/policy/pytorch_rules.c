/* pytorch_rules.c - the rules that requests and restored segments share. */
#include "policy/pytorch.h"
#include "policy/pytorch_settings.h"

#define MIN_REST 512            /* of a small or expandable block that is split */
#define LARGE_REST MIB          /* of a large one: the remainder must be larger */

int frag_pytorch_find_lists(struct frag_policy *p, const struct frag_request *rq)
{
	struct pytorch *t = p->state;
	int rc = 0;

	t->last.known = false;
	for (uint32_t i = 0; i < 2 && !rc; i++) {
		rc = frag_heap_list(p->heap, rq->pool, rq->stream * 2 + i, &t->last.list[i]);
		if (!rc)
			frag_heap_set_list_user(p->heap, t->last.list[i], rq->stream_order);
	}
	t->last.stream = rq->stream;
	t->last.pool = rq->pool;
	t->last.known = !rc;
	return rc;
}

bool frag_pytorch_splits(const struct pytorch *t, bool large, uint64_t need, uint64_t rest)
{
	if (!large || t->set[EXPANDABLE_SEGMENTS])
		return rest >= MIN_REST;
	return rest > LARGE_REST && need < t->max_split;
}

uint32_t frag_pytorch_calls(const struct frag_policy *p)
{
	uint32_t count;

	frag_heap_calls(p->heap, &count);
	return count;
}

void frag_pytorch_count_splits(struct frag_policy *p, uint32_t first)
{
	struct pytorch *t = p->state;
	uint32_t count;
	const struct frag_call *calls = frag_heap_calls(p->heap, &count);

	for (uint32_t i = first; i < count; i++)
		frag_stats_call(&t->stats, &calls[i], frag_pytorch_is_large(p->heap, calls[i].list),
				frag_pytorch_is_oversize(t, calls[i].bytes));
}
