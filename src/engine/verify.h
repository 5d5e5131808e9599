/*
 * verify.h - the recorded decisions of a real allocator against ours.
 */
#ifndef ENGINE_VERIFY_H
#define ENGINE_VERIFY_H

#include "engine/logged.h"

/*
 * Runs the snapshot that the trace reads from its first record to its last, and
 * compares. by_age: the order of segments among themselves is that of their
 * creation, as from PyTorch 2.13 on, else that of their addresses.
 * -FRAG_ETRACE where there is nothing to compare.
 */
int frag_verify(struct frag_verdict *out, struct frag_trace *trace,
		const struct frag_choice *choice, bool by_age, struct frag_error *err);


#endif
