/* small_requests_cache.c - what runs of alike choices have in common: their small requests. */
#include "search/small_requests_cache.h"

#include <stdlib.h>

#include "base/array_grow.h"

int frag_smalls_share(struct frag_smallreq_cache *s, struct frag_fit_case *subject,
		      struct frag_error *err)
{
	struct frag_smallreq *apart;
	int rc;

	for (uint32_t i = 0; i < s->count; i++)
		if (s->alike[i].tape == subject->tape
		    && frag_smallreq_same(s->alike[i].choice, subject->choice)) {
			subject->apart = s->alike[i].apart;
			return 0;
		}
	if (!frag_grow(&s->alike, &s->capacity, (uint64_t)s->count + 1, sizeof(*s->alike)))
		return frag_fail_nomem(err);
	rc = frag_apart_new(&apart, subject->choice, subject->tape,
			    &subject->devices[subject->device], err);
	if (rc)
		return rc;
	s->alike[s->count++] = (struct frag_alike){
		.tape = subject->tape, .choice = subject->choice, .apart = apart,
	};
	subject->apart = apart;
	return 0;
}

void frag_smalls_fini(struct frag_smallreq_cache *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		frag_apart_del(s->alike[i].apart);
	free(s->alike);
	*s = (struct frag_smallreq_cache){ .count = 0 };
}
