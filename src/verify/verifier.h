/*
 * verifier.h - the recorded decisions of a real allocator against ours.
 */
#ifndef VERIFY_VERIFIER_H
#define VERIFY_VERIFIER_H

#include "verify/logged_device.h"

/*
 * Runs the snapshot that the trace reads from its first record to its last, and
 * compares. by_age: the order of segments among themselves is that of their
 * creation, as from PyTorch 2.13 on, else that of their addresses. total: bytes of
 * each device where the snapshot does not say it, or 0: expandable ranges reach
 * that far.
 * -FRAG_ETRACE where there is nothing to compare.
 */
int frag_verify(struct frag_verdict *out, const struct frag_trace *trace,
		const struct frag_choice *choice, bool by_age, uint64_t total,
		struct frag_error *err);


#endif
