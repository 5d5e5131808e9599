/*
 * leak_detect.h - what stays from each iteration of a program.
 *
 * Of n iterations, numbered from 0, the first makes what is there for good, as do those of the
 * last two that end late; so 1 to n - 3 are looked at, at the start of the last one. A *leak*
 * is a tag (of blocks without one: a stack; without that: a size; see leak_detect.c of tags that
 * end with a mark) of which every one of those iterations has left at least a block that is live
 * then, each through a whole iteration of others at least. Its bytes an iteration are what they
 * left, divided by their number. Bytes are those that the program requested, so no allocator
 * decides.
 *
 * *Growth* is how much more is live at the start of an iteration than at that of the one before:
 * the median of all slopes between two starts but the first (Theil 1950, Sen 1968), of 200 starts
 * at most. Buffers that are made anew and larger each time grow and leak nothing.
 */
#ifndef ITERATIONS_LEAK_DETECT_H
#define ITERATIONS_LEAK_DETECT_H

#include "iterations/iterations.h"

/* What stays from every iteration. */
struct frag_leak {
	uint32_t device;
	char *tag;              /* as JSON text; NULL: none */
	char *frames; /* of the oldest block's stack, see frag_frames_json(); NULL: none */
	uint64_t size;          /* of each block, where neither tells them apart; else 0 */
	uint64_t blocks, bytes; /* of the iterations that are looked at */
	uint64_t an_iteration;  /* bytes, rounded down except less than 1 */
	uint64_t first_step;    /* at which the oldest was requested */
};

struct frag_leaking {
	uint64_t first, last;   /* live bytes at the start of iteration 1, and of the last */
	double growth;          /* bytes an iteration */
	uint64_t leak;          /* likewise, of all leaks */
	uint64_t peak;          /* of live bytes in the last iteration but one */
	/* iterations until that peak is all that the device has, at the pace of the leaks;
	 * UINT64_MAX: never, or nobody knows how much it has */
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
 * rooms: what each device has for blocks, 0: nobody knows. mark as of frag_iterations_find(),
 * whose failures it has. Release it also where this fails.
 */
int frag_leaks_find(struct frag_leaks *leaks, const struct frag_tape *tape, const char *mark,
		    const uint64_t *rooms, struct frag_error *err);
void frag_leaks_fini(struct frag_leaks *leaks);

/* full_in in steps; UINT64_MAX where that is none, or beyond all numbers. */
uint64_t frag_steps_until_full(const struct frag_leaks *leaks, uint32_t device);

#endif
