/* small_requests_cache.h - what runs of alike choices have in common: their small requests. */
#ifndef SEARCH_SMALL_REQUESTS_CACHE_H
#define SEARCH_SMALL_REQUESTS_CACHE_H

#include "search/fit_intervals.h"

/* Zeroed: none. */
struct frag_smallreq_cache {
	struct frag_alike {
		const struct frag_tape *tape;
		const struct frag_choice *choice;
		struct frag_smallreq *apart;       /* NULL: that does not work with the two */
	} *alike;
	uint32_t count, capacity;
};

/* Gives the subject what it shares with those before it; tapes and choices stay. -FRAG_ENOMEM */
int frag_smalls_share(struct frag_smallreq_cache *smalls, struct frag_fit_case *subject,
		      struct frag_error *err);
void frag_smalls_fini(struct frag_smallreq_cache *smalls);

#endif
