/* failed_attempt.h - what attempts that failed earlier left behind: a program that tries again. */
#pragma once

#include "explain/history.h"

/* What attempts that failed earlier left behind. */
struct frag_failed_attempt {
	uint64_t bytes;         /* 0: nothing */
	uint64_t failed_at;     /* step: of several attempts that with the most bytes */
	uint64_t blocks;
	uint32_t tag;
};

/* Of the history before the request at step `at`, which failed. -FRAG_ENOMEM */
int frag_find_failed_attempt(struct frag_failed_attempt *out, const struct frag_history *h,
			     uint64_t at, struct frag_error *err);
