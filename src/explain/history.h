/*
 * history.h - what a program had done when a request failed: requests, steps, failures.
 *
 * Places are steps. Bytes are requested bytes. A request that failed in
 * the recording is known of a snapshot alone: traces have an alloc for it, and a free behind it.
 */
#pragma once

#include "explain/call_stacks.h"

#define FRAG_STILL UINT64_MAX   /* died: it is alive at the end */

struct frag_past_request {
	uint64_t born, died;    /* steps */
	uint64_t bytes;
	uint32_t tag, stack;    /* of the tape; of the call stacks: 0: none */
	bool failed;            /* nothing was allocated */
	bool before;            /* allocated before the recording began */
	uint8_t maker;          /* enum frag_maker */
};

struct frag_history {
	const struct frag_tape *tape;   /* borrowed */
	uint32_t device;
	struct frag_call_stacks stacks;
	struct frag_past_request *requests;     /* in their order */
	uint64_t *steps;                /* at which an optimizer's step began */
	uint32_t request_count, request_capacity, step_count, step_capacity;
};

/*
 * Where several failures of a recording decide which one is explained, all of it is read at once by
 * the first call, and else what is before the failure of step `at` by the second. Events of one device
 * count. Release it also where this fails; a zeroed one can be released. -FRAG_ENOMEM
 */
int frag_history_read_whole(struct frag_history *h, const struct frag_tape *tape, uint32_t device,
			    struct frag_error *err);
int frag_history_read_before(struct frag_history *h, const struct frag_tape *tape, uint32_t device,
			     uint64_t at, struct frag_error *err);
void frag_history_fini(struct frag_history *h);

/* The request of step `at`, or the number of those before it where that is none. */
uint32_t frag_history_find(const struct frag_history *h, uint64_t at);
/* Is the block of request r alive right before step `at`? */
static inline bool frag_was_alive(const struct frag_past_request *r, uint64_t at)
{
	return !r->failed && r->born < at && r->died > at;
}

/*
 * The request whose frames stand for the one of step `at`: itself, or where it has
 * none, as in a backward pass, the last one before it that has some. FRAG_ALL: none has.
 */
uint32_t frag_history_framed(const struct frag_history *h, uint64_t at);

/* The failures that a snapshot recorded, in their order. */
#define FRAG_FAILURES_SHOWN 8
struct frag_recorded_failures {
	uint32_t count;
	uint64_t at[FRAG_FAILURES_SHOWN];       /* steps of the first ones, and of the last */
};
struct frag_recorded_failures frag_history_failures(const struct frag_history *h);

/* Requested bytes alive right before a step. */
uint64_t frag_history_live(const struct frag_history *h, uint64_t at);
