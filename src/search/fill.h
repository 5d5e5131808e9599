/*
 * fill.h - repeats the last iterations of a recorded program until a request fails.
 *
 * The program must repeat: each of its last iterations has the events of the one `period` before it,
 * in their order, on the same streams and with blocks of equal lifetimes. Sizes are equal, or rise by
 * the same bytes each time. Blocks that the recording never frees are never freed.
 */
#pragma once

#include "base/job.h"
#include "fragsim/device.h"
#include "policy/choice.h"

struct frag_tape;

struct frag_fill_device {
	enum frag_fill_bound {
		FRAG_FILL_UNKNOWN,      /* the iterations do not repeat, or the device has no size */
		FRAG_FILL_AT_LEAST,     /* the simulation ended before a request failed */
		FRAG_FILL_EXACT,
	} bound;
	/* the iteration whose request fails, from 1, which is the first of the recording; or the
	 * last that completed */
	uint64_t iteration;
};

struct frag_fill {
	/* input, borrowed */
	const struct frag_tape *tape;
	const uint64_t *start;          /* the first event of each iteration; the last may be cut */
	const uint64_t *turn;           /* likewise, from which on the program is in the next one */
	uint32_t count;
	const struct frag_choice *choice;
	const struct frag_device_figures *devices;      /* one a device of the tape */
	uint64_t events;                /* at most this number is repeated; 0: FRAG_FILL_EVENTS */
	struct frag_job job;

	/* results */
	struct frag_fill_device *of;    /* one a device; the caller's, by free() */
	uint32_t period;                /* iterations; 0: they do not repeat */
};
#define FRAG_FILL_EVENTS (UINT64_C(1) << 24)

/* What a simulation returns, -FRAG_EINTERRUPTED, -FRAG_ENOMEM. */
int frag_fill_run(struct frag_fill *fill, struct frag_error *err);
