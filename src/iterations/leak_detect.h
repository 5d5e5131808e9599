/*
 * leak_detect.h - finds the memory that each iteration of a program leaves allocated.
 *
 * Of n iterations, numbered from 0, the first allocates permanent blocks, and blocks of the last
 * two can still be freed. So the blocks of iterations 1 to n - 3 are inspected, at the start of the
 * last one. A *leak* is a tag; of blocks without a tag a stack, and without a stack a size; tags
 * that end with a mark are described in leak_detect.c. Each of these iterations has left at least
 * one block of a leak allocated, through a whole later iteration. The bytes an iteration are the
 * sum of these blocks, divided by the number of iterations. Bytes are requested bytes, so they do
 * not depend on the allocator.
 *
 * *Growth* is the increase of live bytes from the start of one iteration to the start of the next:
 * the median of the slopes between all pairs of starts except the first (Theil 1950, Sen 1968), of
 * at most 200 starts. Buffers that each iteration replaces by larger ones are growth, not a leak.
 */
#pragma once

#include "iterations/iterations.h"

/* Blocks that every iteration leaves allocated. */
struct frag_leak {
	uint32_t device;
	char *tag;              /* as JSON text; NULL: none */
	char *frames; /* of the oldest block's stack, see frag_frames_json(); NULL: none */
	uint64_t size;          /* of each block without tag and stack; else 0 */
	uint64_t blocks, bytes; /* of iterations 1 to n - 3 */
	uint64_t an_iteration;  /* bytes, rounded down except less than 1 */
	uint64_t first_step;    /* at which the oldest was requested */
};

struct frag_leaking {
	uint64_t first, last;   /* live bytes at the start of iteration 1, and of the last */
	double growth;          /* bytes an iteration */
	uint64_t leak;          /* likewise, of all leaks */
	uint64_t peak;          /* of live bytes in the second to last iteration */
	/* iterations until that peak is all that the device has, at the pace of the leaks;
	 * UINT64_MAX: never, or the size of the device is unknown */
	uint64_t full_in;
};

struct frag_leaks {
	struct frag_iterations iterations;
	uint64_t steps;         /* of an iteration, in the mean */
	struct frag_leak *leaks;        /* by bytes an iteration, the most first */
	uint32_t leak_count;
	struct frag_leaking *devices;   /* one a device of the trace */
};

/*
 * rooms: the usable bytes of each device, 0: unknown. mark as of frag_iterations_find(),
 * whose failures it has. Release it also where this fails.
 */
int frag_leaks_find(struct frag_leaks *leaks, const struct frag_tape *tape, const char *mark,
		    const uint64_t *rooms, struct frag_error *err);
void frag_leaks_fini(struct frag_leaks *leaks);

/* full_in in steps; UINT64_MAX where that is none, or beyond all numbers. */
static inline uint64_t frag_steps_until_full(const struct frag_leaks *leaks, uint32_t device)
{
	uint64_t steps;

	return __builtin_mul_overflow(leaks->devices[device].full_in, leaks->steps, &steps)
		? UINT64_MAX : steps;
}
