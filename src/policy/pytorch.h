/* pytorch.h - the state of PyTorch's allocator, and its expandable segments. */
#pragma once

#include "fragsim/policy.h"
#include "policy/heap_access.h"
#include "policy/pytorch_stats.h"

#define SMALL_SEGMENT (UINT64_C(2) << 20)       /* also the page of small ranges */

struct pytorch {
	uint64_t set[FRAG_PARAMS_MAX];  /* settings now in force */
	uint64_t max_split;     /* bytes; UINT64_MAX: no limit */
	uint64_t non_split;     /* bytes by which a block may exceed an oversize request */
	uint64_t large_segment; /* bytes; also the page of large ranges */
	double   threshold;     /* of the garbage collection; 0: off */
	double   fraction;      /* of the total, that may be reserved ... */
	bool     limited;       /* ... if this is set; later than 2.9, 1 is no limit */
	bool     by_creation;   /* of equal blocks the one that was created first, in 2.12 */
	uint32_t open_pools;    /* contexts of pools that are open */
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

static inline bool frag_pytorch_in_range(const struct frag_heap *h, frag_block b)
{
	return frag_heap_page_unchecked(h, b) != 0;
}

/* A request, and what it needs. */
struct alloc_params {
	const struct frag_request *rq;
	frag_list list;         /* where it is searched for */
	uint64_t need;          /* rounded */
	uint64_t segment;       /* bytes of a new segment for it */
	bool large;
};

/*
 * A value that rises with the device's total; and a verb: whether it reaches `bytes`. The comparison
 * is noted: from then on the run is valid only for totals with the same answer.
 */
typedef uint64_t frag_pytorch_figure_fn(const struct frag_policy *p, uint64_t total,
					uint64_t page);
bool frag_pytorch_total_reaches(struct frag_policy *p, frag_pytorch_figure_fn *figure,
				uint64_t page, uint64_t bytes);

/* Of the free blocks from b on, one between blocks rather than at an end that can grow. */
frag_block frag_pytorch_prefer_hole(struct frag_policy *p, frag_block b);

/* Maps pages for the request, in a new expandable segment where none is long enough. */
int frag_pytorch_grow_range(struct frag_policy *p, const struct alloc_params *w,
			    frag_block *out);

/* An expandable segment that the trace begins with. */
int frag_pytorch_restore_range(struct frag_policy *p, const struct frag_restored_segment *seg,
			       frag_list list, frag_block *out);

/* The hook range_bytes: a length that the total decided follows the new total. */
uint64_t frag_pytorch_range_resized(struct frag_policy *p, uint64_t page, uint64_t bytes,
				    uint64_t end, uint64_t was);
