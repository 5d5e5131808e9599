/*
 * history.h - what a program had done when a request failed: requests, steps, failures; and what
 * of it explains the failure.
 *
 * Places are steps. Bytes are requested bytes. A request that failed in
 * the recording is known of a snapshot alone: traces have an alloc for it, and a free behind it.
 */
#pragma once

#include "base/oom_verdict.h"
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

/* Blocks of one line or module that pile up. */
struct frag_accumulation {
	uint64_t bytes;         /* alive, minus the maximum before; 0: there is none */
	uint64_t since;         /* step of the oldest of them */
	uint32_t passes;        /* rounds in which they were made */
	uint32_t tag;           /* with most of the bytes; 0: none */
	bool after_step;        /* made since the last step of an optimizer; else over the last rounds */
	bool larger;            /* not more blocks, but larger ones */
	bool in_step;           /* `passes` are steps of an optimizer */
	bool forward;           /* most of the bytes were made in forward passes, */
	bool backward;          /* and backward passes ran since */
};

/* Tags that keep blocks of round after round, by the rules of iterations/leak_detect.h. */
struct frag_past_leak {
	uint64_t bytes;         /* they keep; 0: there is none, or it is little */
	uint64_t since;         /* step of the oldest block */
	uint64_t an_iteration;  /* bytes */
	uint32_t rounds;        /* whole ones, in which nothing of it was freed */
	uint32_t tag;           /* that keeps most; 0: none */
};

/* What attempts that failed earlier left behind. */
struct frag_failed_attempt {
	uint64_t bytes;         /* 0: nothing */
	uint64_t failed_at;     /* step: of several attempts that with the most bytes */
	uint64_t blocks;
	uint32_t tag;
};

/* Blocks of the last round that are larger than any earlier one of their stack. */
struct frag_larger {
	uint64_t bytes;         /* 0: they are not most of the round's live bytes */
	double ratio;           /* the median of their sizes to the largest earlier one */
};

/* What explains the failure of the request at step `at`. Each -FRAG_ENOMEM. */
int frag_find_accumulation(struct frag_accumulation *out, const struct frag_history *h, uint64_t at,
			   struct frag_error *err);
int frag_find_leak(struct frag_past_leak *out, const struct frag_history *h, uint64_t at,
		   struct frag_error *err);
int frag_find_failed_attempt(struct frag_failed_attempt *out, const struct frag_history *h,
			     uint64_t at, struct frag_error *err);
int frag_find_larger(struct frag_larger *out, const struct frag_history *h, uint64_t at,
		     struct frag_error *err);

/*
 * The request whose frames stand for the one of step `at`: itself, or where it has
 * none, as in a backward pass, the last one before it that has some. FRAG_ALL: none has.
 */
uint32_t frag_history_speaker(const struct frag_history *h, uint64_t at);

/* The failures that a snapshot recorded, in their order. */
#define FRAG_FAILURES_SHOWN 8
struct frag_recorded_failures {
	uint32_t count;
	uint64_t at[FRAG_FAILURES_SHOWN];       /* steps of the first ones, and of the last */
};
struct frag_recorded_failures frag_history_failures(const struct frag_history *h);

/* Requested bytes alive right before a step. */
uint64_t frag_history_live(const struct frag_history *h, uint64_t at);

/* All of that. A failed attempt counts that would have sufficed, and is a tenth of what is alive. */
struct frag_oom_past {
	struct frag_accumulation accumulation;
	struct frag_past_leak leak;     /* where nothing accumulates */
	struct frag_failed_attempt attempt;
	struct frag_larger larger;
};

/* The tag that a cause names; 0: none. */
static inline uint32_t frag_oom_past_tag(const struct frag_oom_past *past, enum frag_oom_cause cause)
{
	return cause == FRAG_CAUSE_FAILED_ATTEMPT ? past->attempt.tag
	       : cause == FRAG_CAUSE_ACCUMULATION ? past->accumulation.tag
	       : cause == FRAG_CAUSE_LEAK	  ? past->leak.tag : 0;
}

/*
 * need: bytes of a block for the request; left: on the device; free: in segments. A leak counts that
 * is larger than both together: else free memory that is not contiguous explains more. -FRAG_ENOMEM
 */
int frag_oom_past_find(struct frag_oom_past *out, const struct frag_history *h, uint64_t at,
		       uint64_t need, uint64_t left, uint64_t free, struct frag_error *err);

/*
 * The failure that ended the program, where several were recorded: the last request, or the last
 * failure for which earlier attempts had left enough behind. FRAG_STILL: the first one is as good.
 */
int frag_history_last_failure(const struct frag_history *h, uint64_t *step, struct frag_error *err);
