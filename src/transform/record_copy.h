/* record_copy.h - a record of its own, that nothing else has to keep alive. */
#ifndef TRANSFORM_RECORD_COPY_H
#define TRANSFORM_RECORD_COPY_H

#include "fragsim/trace.h"

struct frag_owned_record {
	struct frag_owned_record *next;       /* the user's own */
	uint64_t step;
	struct frag_record rec;         /* its texts follow it */
};

/* NULL where memory is short; freed with free(). */
struct frag_owned_record *frag_record_copy(const struct frag_record *rec, uint64_t step);

#endif
