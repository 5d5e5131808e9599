/* verifier.h - compares the recorded decisions of a real allocator with the simulated ones. */
#pragma once

#include "engine/sim.h"
#include "snapshot/snapshot.h"

#define FRAG_NOWHERE 0          /* an address that the log does not have */

struct frag_match_count {
	uint64_t agree, of;
};

enum frag_decision {
	FRAG_DECIDED_ADDRESS,
	FRAG_DECIDED_ALLOC,             /* a segment obtained */
	FRAG_DECIDED_FREE,              /* a segment released */
	FRAG_DECIDED_MAP,
	FRAG_DECIDED_UNMAP,
	FRAG_DECIDED_OOM,
	FRAG_DECISIONS
};

/* One decision on which log and simulation differ. */
struct frag_difference {
	uint64_t step;
	uint64_t recorded, simulated;           /* addresses; FRAG_NOWHERE: none */
	uint64_t recorded_bytes, simulated_bytes;       /* of segments and pages */
	uint32_t device, event;                 /* of the device's log */
	uint8_t decision;                       /* enum frag_decision */
	bool in_log, in_run;                    /* who made it */
};
#define FRAG_DIFFERENCES_MAX 10

struct frag_verification {
	struct frag_match_count score[FRAG_DECISIONS];        /* of the default pool */
	struct frag_match_count apart[FRAG_DECISIONS];        /* of private pools */
	struct frag_difference differences[FRAG_DIFFERENCES_MAX];
	uint64_t difference_count;      /* of the default pool; kept are the first */
	uint64_t not_restored;          /* blocks of the first state that could not be restored */
	uint64_t guessed;               /* ages of initial segments, told by where blocks went */
	bool by_age;                    /* of two equal segments the older came first */
	bool by_creation;               /* of two equal blocks the one created first */
};

/*
 * Runs the snapshot that the trace reads from its first record to its last, and
 * compares. by_age: the order of segments among themselves is that of their
 * creation, as from PyTorch 2.13 on, else that of their addresses. first: no further
 * than the first difference. total: bytes of each device where the snapshot does
 * not say it, or 0: expandable ranges reach that far.
 * -FRAG_ETRACE where there is nothing to compare.
 */
int frag_verify(struct frag_verification *out, const struct frag_trace *trace,
		const struct frag_choice *choice, bool by_age, bool first,
		uint64_t total, struct frag_error *err);
