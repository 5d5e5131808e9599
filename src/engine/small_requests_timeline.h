/* small_requests_timeline.h - what becomes of small requests, for who plays the others: see apart.h. */
#ifndef ENGINE_SMALL_REQUESTS_TIMELINE_H
#define ENGINE_SMALL_REQUESTS_TIMELINE_H

#include "engine/small_requests.h"
#include "events/tape.h"

/* From this event on one more segment is in use, or one less. */
struct frag_small_change {
	uint32_t event;
	bool more;
};

/* The next changes of a way. */
#define FRAG_CHANGES 64
struct frag_changes {
	struct frag_small_change at[FRAG_CHANGES];
	uint32_t count;
	uint32_t end;                   /* before this event there are no others */
};

const struct frag_tape *frag_apart_tape(const struct frag_smallreq *apart);
/* By event, 64 a word: the allocs and frees that are not small. */
const uint64_t *frag_smallreq_large_events(const struct frag_smallreq *apart);
/* Of any small request; and slots from here on are nobody's. */
const struct frag_tape_site *frag_apart_site(const struct frag_smallreq *apart);
uint32_t frag_apart_slots(const struct frag_smallreq *apart);

/* From the place on; the way is simulated as far as that takes. -FRAG_ENOMEM */
int frag_smallreq_next_changes(struct frag_smallreq *apart, struct frag_smallreq_cursor *place,
		  struct frag_changes *changes, struct frag_error *err);

/* At this event, no small one, the unused segments have gone back. -FRAG_ENOMEM */
int frag_smallreq_branch(struct frag_smallreq *apart, struct frag_smallreq_cursor *place,
			 uint32_t event, struct frag_error *err);

/* The event in full, as far as somebody who reports a failure needs it. */
struct frag_event frag_apart_event(const struct frag_smallreq *apart, uint32_t event);

#endif
