/* smalls.h - what runs of alike choices have in common: their small requests. */
#ifndef SEARCH_SMALLS_H
#define SEARCH_SMALLS_H

#include "search/survival.h"

/* Zeroed: none. */
struct frag_smalls {
	struct frag_alike {
		const struct frag_tape *tape;
		const struct frag_choice *choice;
		struct frag_apart *apart;       /* NULL: that does not work with the two */
	} *alike;
	uint32_t count, capacity;
};

/* Gives the subject what it shares with those before it; tapes and choices stay. -FRAG_ENOMEM */
int frag_smalls_share(struct frag_smalls *smalls, struct frag_subject *subject,
		      struct frag_error *err);
void frag_smalls_fini(struct frag_smalls *smalls);

#endif
