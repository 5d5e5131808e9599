/* optimizer.h - where the optimizer steps of a program are, and what of its blocks is theirs. */
#ifndef SEARCH_OPTIMIZER_H
#define SEARCH_OPTIMIZER_H

#include "fragsim/engine.h"

/* From the mark that begins one up to the next mark. */
struct frag_optimizer_step {
	uint64_t from, to;      /* steps of the trace; to: UINT64_MAX where no mark follows */
};

struct frag_optimizer_steps {
	struct frag_optimizer_step *of;
	uint32_t count, capacity;
};

/* The next mark of the trace. False: memory is short; release it also then. */
bool frag_optimizer_note(struct frag_optimizer_steps *steps, const struct frag_event *mark);
/* Is a block that is born at this step born in one of them? */
bool frag_optimizer_covers(const struct frag_optimizer_steps *steps, uint64_t birth);
void frag_optimizer_fini(struct frag_optimizer_steps *steps);   /* one that is zeroed is fine */

/* A block for who has no such marks. */
struct frag_grown {
	uint64_t bytes;         /* as the program requested them */
	uint32_t iteration;     /* in which it was born */
	bool weight;            /* else it is long-lived, and came later */
	bool of_optimizer;      /* set by the next function */
};

/*
 * Optimizer state by how it grows: once, and by the sizes of the weights. *of_optimizer* are, of
 * the iteration with most such bytes, the blocks that have the size of a weight, where these come
 * to half of the weights at least. False: memory is short.
 */
bool frag_optimizer_find(struct frag_grown *blocks, uint32_t count);

#endif
