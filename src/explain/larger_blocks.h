/* larger_blocks.h - the blocks of the last round before a failure that are larger than ever. */
#pragma once

#include "explain/history.h"

/* Blocks of the last round that are larger than any earlier one of their stack. */
struct frag_larger {
	uint64_t bytes;         /* 0: they are not most of the round's live bytes */
	double ratio;           /* the median of their sizes to the largest earlier one */
};

/* Of the history before the request at step `at`, which failed. -FRAG_ENOMEM */
int frag_find_larger(struct frag_larger *out, const struct frag_history *h, uint64_t at,
		     struct frag_error *err);
