/* pytorch.h - the state of PyTorch's allocator, and the rules of pytorch_rules.c. */
#ifndef POLICY_PYTORCH_H
#define POLICY_PYTORCH_H

#include "fragsim/policy.h"
#include "policy/heap_access.h"
#include "policy/pytorch_stats.h"

#define SMALL_SEGMENT (UINT64_C(2) << 20)       /* also the page of small ranges */

struct pytorch {
	uint64_t set[FRAG_PARAMS_MAX];  /* settings now in force */
	uint64_t max_split;     /* bytes; UINT64_MAX: no limit */
	uint64_t non_split;     /* bytes */
	uint64_t large_segment; /* bytes; also the page of large ranges */
	double   threshold;     /* of the garbage collection; 0: off */
	double   fraction;      /* of the total, that may be reserved ... */
	bool     limited;       /* ... if this is set; later than 2.9, 1 is no limit */
	bool     by_creation;   /* of equal blocks the one that was created first, in 2.12 */
	uint32_t contexts;      /* of pools, that are open */
	uint64_t polled;        /* step of the last poll for finished streams */
	uint32_t searches;      /* of the large lists of pool 0, while collection is on */
	bool     rejected;      /* the request failed without a try */
	struct frag_pytorch_stats stats;
	struct {
		uint32_t stream, pool;
		frag_list list[2];
		bool known;
	} last;                 /* lists looked up last */
};

/* Makes `last` the lists that serve such requests. */
int frag_pytorch_find_lists(struct frag_policy *p, const struct frag_request *rq);

/* The free list that serves such requests. */
static inline int frag_pytorch_list(struct frag_policy *p, const struct frag_request *rq,
				    bool large, frag_list *out)
{
	const struct pytorch *t = p->state;
	int rc = 0;

	if (!t->last.known || t->last.stream != rq->stream || t->last.pool != rq->pool)
		rc = frag_pytorch_find_lists(p, rq);
	*out = t->last.list[large];
	return rc;
}

static inline bool frag_pytorch_is_large(const struct frag_heap *h, frag_list list)
{
	return frag_look_list(h, list).which & 1;
}

static inline bool frag_pytorch_in_range(const struct frag_heap *h, frag_block b)
{
	return frag_page(h, b) != 0;
}

static inline bool frag_pytorch_is_oversize(const struct pytorch *t, uint64_t bytes)
{
	return bytes >= t->max_split;
}

/* Is a remainder of this size split off as a free block? */
bool frag_pytorch_splits(const struct pytorch *t, bool large, uint64_t need, uint64_t rest);

/* The step's device calls so far; and counts those from the first on. */
uint32_t frag_pytorch_calls(const struct frag_policy *p);
void frag_pytorch_count_splits(struct frag_policy *p, uint32_t first);

/* As in frag_policy_ops. */
int frag_pytorch_restore_segment(struct frag_policy *p, const struct frag_restored_segment *seg,
				 frag_block *out);
int frag_pytorch_restore_block(struct frag_policy *p, const struct frag_request *rq,
			       frag_block hole, uint64_t offset, uint64_t bytes, uint64_t room,
			       frag_block *out);

#endif
