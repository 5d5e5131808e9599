/*
 * shrink_search.h - finds a minimal part of a trace with which a policy still has an OOM: delta
 * debugging.
 *
 * The search removes a block with all its events, or one other event. So the remaining trace is
 * always valid. A callback of the caller tests whether the OOM remains.
 */
#pragma once

#include "base/job.h"
#include "fragsim/engine.h"
#include "fragsim/error.h"
#include "transform/record_buffer.h"

struct frag_reduce_event {
	struct frag_owned_record *copy;       /* owned */
	uint32_t group;
};

/* A block with all its events, or one other event. */
struct frag_reduce_group {
	uint32_t end;                   /* the event that ends it; UINT32_MAX: none does */
	bool out;                       /* left out */
	uint64_t needed;                /* the version in which nothing ran out of memory
					 * without it; 0: none */
};

struct frag_reduce;

/* What simulating what is left has shown. */
struct frag_shrink_trial {
	uint64_t events;                /* simulated */
	bool oom;                       /* the last of them ran out of memory */
	bool cut;                       /* it was enough in between: there is no saying */
};

struct frag_reduce {
	/* Simulates what is left, up to its first out-of-memory; NULL: as a struct
	 * frag_candidate says, which the ctx is. */
	int (*try)(void *ctx, const struct frag_reduce *r, struct frag_shrink_trial *trial,
		   struct frag_error *err);
	void *try_ctx;
	bool (*enough)(void *ctx);      /* optional: must the search end now? Once true, it stays
					 * true */
	void *enough_ctx;
	uint64_t tries, tries_max;      /* so far, and how many there may be */
	uint64_t simulated;             /* events, in all tries */
	/* its own */
	struct frag_reduce_event *events;
	uint32_t count, capacity;
	struct frag_reduce_group *group;
	uint32_t groups, group_capacity;
	uint32_t *group_of;             /* by slot */
	uint32_t slot_capacity;
	uint32_t *left;                 /* groups that are not out, in the order of the search */
	uint32_t left_count;
	uint64_t version;               /* of what is left: counts what went */
	bool ended;                     /* before the search was through */
};

void frag_reduce_fini(struct frag_reduce *r);

/* One event of the trace, in order. False: out of memory. */
bool frag_reduce_add(struct frag_reduce *r, const struct frag_record *rec,
		     const struct frag_event *ev);

/*
 * Removes all that can be removed. *failed: there was an OOM at all. *minimal: nothing more can
 * be removed, not even one block or event.
 */
int frag_reduce(struct frag_reduce *r, bool *failed, bool *minimal, struct frag_error *err);

/* What is left, event by event: the index of the next one at or after i, or count. */
uint32_t frag_reduce_next(const struct frag_reduce *r, uint32_t i);

/* What is left of a trace that is being reduced, simulated. */
struct frag_candidate {
	const struct frag_choice *choice;       /* borrowed, as is the next */
	const struct frag_device_figures *devices;
	uint32_t device_count;
	struct frag_job job;
};
