/*
 * standin.h - in place of CUDA's runtime and driver: GPUs made of host memory.
 *
 * It keeps a table of everything that was obtained, and notes each call that no
 * honest user makes. What is queued on a stream is done only when somebody waits
 * for it, so a missing wait shows as wrong bytes. The program fragsim-standin is
 * linked to it; there the environment variable FRAGSIM_STANDIN sets the fields
 * below, "fail_at=3 error=700", and a table that is not empty at the end, or a
 * mistake, turns the exit status into STANDIN_STATUS.
 */
#pragma once

#include <stdint.h>

#define STANDIN_STATUS 99
#define STANDIN_GPUS 4

/* X(field, value at first): all are numbers. */
#define STANDIN_FIELDS(X)                                                     \
	X(gpus, 1)                                                            \
	X(total, UINT64_C(4) << 30)                                           \
	X(context, UINT64_C(256) << 20) /* what the first call takes */       \
	X(other, 0)                     /* other processes */                 \
	X(granularity, 2 << 20)                                               \
	X(small, 0)                     /* small requests are rounded to this, and share pages */ \
	X(small_max, 1 << 20)          /* ... up to this size; small 0: none do */  \
	X(piece, 0)                     /* no cudaMalloc above this succeeds; 0: no bound */ \
	X(chunk, 8 << 20)               /* in which a pool of the driver takes memory */ \
	X(pages, 2 << 20)               /* of virtual memory; 0: there is none */ \
	X(driver, 13000)                /* 0: no driver */                    \
	X(lie, 0)                       /* bytes that are told free and are not */ \
	X(fail_at, 0)                   /* this call fails, counted from 1 ... */ \
	X(error, 999)                   /* ... with this error */             \
	X(sticky, 0)                    /* ... and all after it */            \
	X(interrupt_at, 0)              /* Ctrl-C comes during this call */   \
	X(slow_us, 0)                   /* each call takes that long */       \
	X(corrupt_at, 0)                /* before this copy to the host, a byte changes */ \
	X(alias_at, 0)                  /* this cudaMalloc gives the memory of the one before */ \
	X(ceiling, 0)                   /* we may not take more than that; 0: nobody minds */ \
	X(print, 0)                     /* the number of calls, to standard error, at the end */

struct standin {
#define X(field, first) uint64_t field;
	STANDIN_FIELDS(X)
#undef X
	/* What came of it. */
	uint64_t calls;
	uint64_t held; /* pieces in the figures: segments, ranges, pages, streams, events */
	uint64_t resets;
	uint64_t switches;      /* of pools that were turned on: a byte for each */
	uint64_t mistakes;
};

extern struct standin standin;

/* Sets everything back, the GPUs too. */
void standin_begin(void);
