/* copied.h - a record of its own, that nothing else has to keep alive. */
#ifndef TRANSFORM_COPIED_H
#define TRANSFORM_COPIED_H

#include "fragsim/trace.h"

struct frag_copied {
	struct frag_copied *next;       /* the user's own */
	uint64_t step;
	struct frag_record rec;         /* its texts follow it */
};

/* NULL where memory is short; freed with free(). */
struct frag_copied *frag_record_copy(const struct frag_record *rec, uint64_t step);

#endif
