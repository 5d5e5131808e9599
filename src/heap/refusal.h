/*
 * refusal.h - why a verb was refused, for the one line that a user sees.
 *
 * The verb that refuses writes the reason, once; the engine adds policy and step. The next step
 * clears it, so a policy may go on after a refusal.
 */
#pragma once

#include "fragsim/heap.h"

/* Notes that the verb (or hook) broke a rule, as "verb: rule". Returns -FRAG_EPOLICY. */
int frag_refuse(struct frag_heap *h, const char *verb, const char *rule, ...)
	__attribute__((cold, format(printf, 3, 4)));

/*
 * The same with the block that it was about, as "verb: block 12 (segment 3, offset
 * 4096, 1024 bytes, free) rule". Where that handle is no block, that is the rule.
 */
int frag_refuse_block(struct frag_heap *h, const char *verb, frag_block b, const char *rule, ...)
	__attribute__((cold, format(printf, 4, 5)));

/* The last refusal of this step; "" where there was none. */
const char *frag_refusal(const struct frag_heap *h);
