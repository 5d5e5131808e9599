/* past_leak.h - the tags that kept blocks of round after round before a failure. */
#pragma once

#include "explain/history.h"

/* Tags that keep blocks of round after round, by the rules of iterations/leak_detect.h. */
struct frag_past_leak {
	uint64_t bytes;         /* they keep; 0: there is none, or it is little */
	uint64_t since;         /* step of the oldest block */
	uint64_t an_iteration;  /* bytes */
	uint32_t rounds;        /* whole ones, in which nothing of it was freed */
	uint32_t tag;           /* that keeps most; 0: none */
};

/* Of the history before the request at step `at`, which failed. -FRAG_ENOMEM */
int frag_find_leak(struct frag_past_leak *out, const struct frag_history *h, uint64_t at,
		   struct frag_error *err);
