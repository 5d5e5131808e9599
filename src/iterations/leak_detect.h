/*
 * leak_detect.h - finds live memory that rises from iteration to iteration.
 *
 * A *round* is an iteration; the last one is never whole. Its *level* is the minimum of live bytes,
 * and of live blocks, within it, in total and by tag: activations, batches and gradients are in no
 * level. levels.h decides whether a level rises on and on. Bytes are requested bytes, so they do
 * not depend on the allocator.
 *
 * A *leak* is a tag whose number of blocks rises so, if blocks of at least three rounds are live
 * when the last whole one ends. Of blocks without a tag a stack is judged, and without a stack a size.
 * Memory *grows* where the total rises so, or where the blocks of a tag became larger instead of
 * more. A cache that is not full yet looks like a leak.
 */
#pragma once

#include "iterations/iterations.h"

#define FRAG_LEVEL_MIN (UINT64_C(64) << 10)     /* bytes: no smaller rise is one, ... */
#define FRAG_LEVEL_SHARE 1000                   /* and none below this part of the level */

/* From the best to the worst. */
enum frag_leak_verdict {
	FRAG_LEAK_NONE, FRAG_LEAK_UNKNOWN, FRAG_LEAK_GROWS, FRAG_LEAK_FOUND,
};
extern const char *const frag_leak_verdicts[];  /* "none", "unknown", "grows", "leak" */

/* A tag that rises. */
struct frag_leak {
	uint32_t device;
	char *tag;              /* as JSON text; NULL: none */
	char *frames; /* of the oldest block's stack, see frag_frames_json(); NULL: none */
	uint64_t size;          /* of each block without tag and stack; else 0 */
	uint64_t rise;          /* bytes, from the level of the second round to the last */
	uint64_t an_iteration;  /* bytes between the first and the last cut, by rounds; not 0 */
	uint64_t rounded;       /* the same of blocks of 512 bytes each, which no block is below */
	uint32_t period;        /* it keeps blocks every `period` rounds; 0: no period */
	bool larger;            /* blocks became larger, not more */
	bool proven;            /* it is a leak */
	uint64_t blocks, bytes; /* of the rounds after the first, live after the last whole one */
	uint64_t first_step;    /* at which the oldest of these was requested */
	uint32_t number;        /* of the tag; 0: none */
};

struct frag_leaking {
	enum frag_leak_verdict verdict;
	uint64_t first, last;   /* levels of the second round, as the first makes permanent blocks, and of
				 * the last whole one */
	uint64_t low, high;     /* minimum and maximum of the levels after the first */
	uint64_t end;           /* live bytes at the end of the recording */
	double growth;          /* bytes an iteration; 0 unless the verdict is leak or grows */
	uint64_t leak;          /* likewise, of all leaks */
	uint64_t peak;          /* of live bytes in the last whole round */
	uint32_t stopped;       /* unknown: the last round of a rise, which did not repeat; ... */
	uint64_t stopped_bytes; /* and how much */
	/* iterations after the recording until a request fails; UINT64_MAX: never, or the size of
	 * the device is unknown. Found by division of what the device has above that peak; */
	uint64_t full_in;
	bool simulated;         /* or the caller simulated them, and no request failed before, */
	bool at_least;          /* nor does one when the simulation ends */
	uint64_t fails_in;      /* the iteration of the request, from 1, the recording's first; ... */
};

struct frag_leaks {
	struct frag_iterations iterations;
	uint32_t rounds;        /* whole ones */
	uint64_t steps;         /* of an iteration, in the mean */
	enum frag_leak_verdict verdict; /* of the worst device */
	struct frag_leak *leaks;        /* proven ones first; by bytes an iteration */
	uint32_t leak_count, proven_count;
	struct frag_leaking *devices;   /* one a device of the trace */
};

/*
 * Of the events before `until`. rooms: the usable bytes of each device, 0: unknown; NULL: all are.
 * mark: of the marks that begin the iterations; NULL: what there is. Loops are in whole stacks.
 * -FRAG_ETRACE where no mark has that name, -FRAG_ENOMEM. Release it also where this fails.
 */
int frag_leaks_find(struct frag_leaks *leaks, const struct frag_tape *tape, const char *mark,
		    uint64_t until, const uint64_t *rooms, struct frag_error *err);
void frag_leaks_fini(struct frag_leaks *leaks);

/* The device that the verdict of all is of: the one that grows most, of equal ones. */
uint32_t frag_leaks_worst(const struct frag_leaks *leaks, uint32_t device_count);
/* The largest leak of a device; NULL: there is none. */
const struct frag_leak *frag_leaks_largest(const struct frag_leaks *leaks, uint32_t device);

/* Stores with the trace whether it grows, for the scope in all answers about it. -FRAG_ENOMEM */
int frag_leaks_store(const struct frag_leaks *leaks, struct frag_trace *trace,
		     struct frag_error *err);
/*
 * The same of what the tape shows of it: nothing where the stacks of its source were not read, as
 * without them the iterations may be others. -FRAG_ENOMEM
 */
int frag_growth_find(struct frag_trace *trace, const struct frag_tape *tape,
		     struct frag_error *err);

/* full_in in steps; UINT64_MAX where that is none, or beyond all numbers. */
static inline uint64_t frag_steps_until_full(const struct frag_leaks *leaks, uint32_t device)
{
	uint64_t steps;

	return __builtin_mul_overflow(leaks->devices[device].full_in, leaks->steps, &steps)
		? UINT64_MAX : steps;
}
