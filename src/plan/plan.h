/*
 * plan.h - where each buffer of a program should be, where all sizes and lifetimes are known.
 *
 * The order of the files, each using those before it: address_space (the numbers of one space, and
 * its overlaps), buffers (of a trace, or of many periods of one, and their heights), skyline,
 * canonical_search (a placement within a capacity, or the proof that there is none), planner (all
 * of these in turn), plan_file (reads and checks a plan).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/job.h"
#include "fragsim/trace.h"

struct frag_constraints;        /* trace/reader.h */

/* What a request needs from the step that makes it up to the one that ends it, not included. */
struct frag_buffer {
	uint64_t birth, end;            /* steps of allocation and free; the first < the second */
	uint64_t size;                  /* bytes, rounded up; not 0 */
	uint64_t requested;             /* as the program did */
	uint64_t offset;                /* once it is placed, or fixed */
	uint64_t align;                 /* the offset is a multiple of it; 0: any */
	double life;                    /* in times of the trace; 0 where it has none */
	struct frag_handle id;          /* text is borrowed from the tape */
	uint32_t device, pool;          /* pool: dense */
	uint32_t space;                 /* theirs, of the plan's */
	uint64_t hint;                  /* the offset to try first */
	bool fixed, hinted;             /* its offset is given; its hint */
	bool carried;                   /* it was allocated before the interval began */
};

/* A buffer is not in use during a gap: other buffers may have its bytes. */
struct frag_plan_gap {
	uint32_t buffer;
	uint64_t from, to;              /* in parts of steps, plan->scale to a step */
};

/* An order that was tried for a space, and the height that it reached. */
struct frag_plan_try {
	const char *order;              /* "skyline", ... */
	uint64_t height;                /* UINT64_MAX: the clock ended it */
};
#define FRAG_PLAN_TRIES 18

/* The search after the orders. */
struct frag_plan_search {
	uint32_t heights, proofs;       /* that were tried; of these proven impossible */
	uint64_t nodes;                 /* placements of one buffer that were tried */
};

/* The blocks of a device's trace pool share one space, and with no others. */
struct frag_space_plan {
	uint32_t device;
	uint32_t pool;                  /* dense */
	char *pool_name;                /* JSON; the plan's own */
	uint32_t count;                 /* buffers */
	uint64_t bound;                 /* the peak of the live bytes: no placement is lower */
	uint64_t peak_step;             /* the first one where that is so */
	uint64_t height;                /* highest offset + size */
	struct frag_plan_try tries[FRAG_PLAN_TRIES];
	uint32_t try_count;
	struct frag_plan_search search;
	uint64_t lower;                 /* proven: no placement is lower; at least the bound */
	const char *found_by;           /* "skyline", "the search", ... */
	uint64_t given;                 /* the height that the trace itself has; 0: none */
};

struct frag_plan {
	const char *path;               /* of the trace, for messages; borrowed */
	uint64_t content;               /* of the trace, at its end */
	uint64_t align;
	uint64_t from, to;              /* steps of the interval */
	uint64_t periods; /* of slots: steps of buffers are requests of these; else 0 */
	struct frag_buffer
		*buffers; /* by allocation step; those that are carried come first */
	uint32_t count, capacity;
	struct frag_space_plan *spaces; /* by device, there by first use */
	uint32_t space_count, space_capacity;
	uint64_t bound, lower, height;  /* the highest of the spaces */
	uint32_t fixed, aligned, hinted; /* buffers with an offset, alignment or hint given */
	struct frag_plan_gap *gaps;     /* by buffer, then by time, without overlap */
	uint32_t gap_count;
	const char *given_by;           /* who placed the buffers at their hints; NULL: unknown */
	uint64_t scale;                 /* parts of a step, for times of gaps between two steps; 1 */
	bool complete;                  /* no more effort makes it lower, or its goal is reached */
	bool stopped;                   /* `stop` ended it, not the budget */
};

/*
 * An interval of a trace: from the first mark of a name to the next one of the other; NULL: all. In
 * a name * is any characters and ? one.
 */
struct frag_stretch_marks {
	const char *from, *to;
};

/*
 * The buffers of a tape, not placed, with the offsets, alignments, hints and gaps that the trace
 * specifies; NULL: without these. Release the plan also where this fails. -FRAG_EUSAGE where a mark
 * is not there, -FRAG_ENOMEM.
 *
 * With slots, the k-th requests of all the periods that begin at marks of the first name and end
 * with the next of either name, or with the trace, make one buffer, whose id is k, from 0 on for
 * each device. Their steps are such numbers too.
 */
int frag_plan_buffers(struct frag_plan *plan, const struct frag_tape *tape, uint64_t align,
		      const struct frag_stretch_marks *marks, bool slots,
		      const struct frag_constraints *constraints, struct frag_error *err);

/* Sets the heights of a placed plan and its spaces, and its bounds. */
void frag_plan_measure(struct frag_plan *plan);
/*
 * The bytes that a device must have for its spaces, its pools side by side: of the device that
 * needs the most.
 */
struct frag_plan_needs {
	uint64_t bound, height;
};
struct frag_plan_needs frag_plan_needs(const struct frag_plan *plan);
void frag_plan_fini(struct frag_plan *plan);    /* one that is zeroed is fine */

/* Whether to end early: asked again and again, from any thread; NULL: never. */
static inline bool frag_plan_is_over(const struct frag_job *stop)
{
	return stop && frag_job_is_stopped(stop);
}

struct frag_plan_effort {
	uint64_t looks;                 /* the budget: list entries that are inspected */
	uint64_t goal;                  /* a height at which to end; 0: the lowest */
	/* a stop leaves the best plan so far; the plan does not depend on the threads; NULL: none */
	const struct frag_job *job;
};
/*
 * List entries that a current processor reads in a second, in a space whose lists are in its
 * cache; a plan depends on their number, not on the clock.
 */
#define FRAG_PLAN_LOOKS_PER_SECOND UINT64_C(140000000)

/*
 * Places the buffers as low as the search finds. The plan depends on nothing but the buffers and
 * the budget, unless the job is stopped: then it is the best so far. -FRAG_ENOMEM
 */
int frag_plan_place(struct frag_plan *plan, const struct frag_plan_effort *effort,
		    struct frag_error *err);

/*
 * Places the buffers as a file says, which may be packed, and checks that it can be believed: each
 * buffer once, none that the plan does not have, none too small, no two that share a byte while
 * both live. Sizes become those of the file. -FRAG_ETRACE with the place or the ids, -FRAG_ENOMEM
 */
int frag_plan_take(struct frag_plan *plan, const char *path, struct frag_error *err);
