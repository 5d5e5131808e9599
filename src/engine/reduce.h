/*
 * reduce.h - the least of a trace under which a policy still runs out of memory:
 * delta debugging.
 *
 * What is left out is left out whole: a block with all its events, or one other
 * event. So what is left is always a valid trace.
 */
#ifndef ENGINE_REDUCE_H
#define ENGINE_REDUCE_H

#include "fragsim/engine.h"
#include "events/copied.h"

struct frag_reduce_event {
	struct frag_copied *copy;       /* owned */
	uint32_t group;
};

struct frag_reduce {
	const struct frag_choice *choice;       /* borrowed, as are the next two */
	const struct frag_device_figures *devices;
	uint32_t device_count;
	uint64_t tries, tries_most;     /* simulations so far, and how many there may be */
	bool (*stop)(void *ctx);        /* optional */
	/* its own */
	struct frag_reduce_event *events;
	uint32_t count, capacity;
	uint32_t *group_of;             /* by slot */
	uint32_t slots, slot_capacity;
	bool *out;                      /* by group: left out */
	uint32_t groups;
	uint32_t at;                    /* of the source: the next event */
	bool asked;
};

void frag_reduce_init(struct frag_reduce *r);
void frag_reduce_fini(struct frag_reduce *r);

/* One event of the trace, in order. False: memory is short. */
bool frag_reduce_add(struct frag_reduce *r, const struct frag_record *rec,
		     const struct frag_event *ev);

/*
 * Leaves out what can be left out. *failed: there was an out-of-memory at all.
 * *least: nothing more can go, not even one block or event.
 */
int frag_reduce(struct frag_reduce *r, bool *failed, bool *least, struct frag_error *err);

/* What is left, event by event: the index of the next one at or after i, or count. */
uint32_t frag_reduce_next(const struct frag_reduce *r, uint32_t i);

#endif
