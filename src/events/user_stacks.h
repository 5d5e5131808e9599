/*
 * user_stacks.h - the stacks of a source without the frames that are not the program's.
 *
 * Where a stack has none of the program's, it is left with those of packages, then with
 * PyTorch's, and at last with all. What is left has numbers of its own, so that stacks that
 * differed in the rest are one.
 */
#ifndef EVENTS_USER_STACKS_H
#define EVENTS_USER_STACKS_H

#include "trace/stacks.h"

struct frag_own_stacks {
	struct frag_stack_table table;
	struct frag_map number;         /* by that of the source */
	struct frag_frame *frames;      /* of one stack */
};

/* Whether or not this succeeds, fini releases it; one that is zeroed is fine. */
bool frag_own_stacks_init(struct frag_own_stacks *s, uint64_t seed);
void frag_own_stacks_fini(struct frag_own_stacks *s);

/* The number of what is left of the source's stack; 0 where the host is out of memory. */
uint32_t frag_own_stacks_number(struct frag_own_stacks *s, uint32_t stack,
				const struct frag_source_ops *source, void *state);

#endif
