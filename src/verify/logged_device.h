/*
 * logged_device.h - a device that answers as the log of a real one did.
 *
 * The device returns the segments of the log at their addresses, refuses where the log shows
 * that memory was released first, and counts the calls that the log lacks, and those of the log
 * that were not made.
 */
#ifndef VERIFY_LOGGED_DEVICE_H
#define VERIFY_LOGGED_DEVICE_H

#include "base/hash.h"
#include "engine/engine.h"
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

struct frag_verdict {
	struct frag_match_count score[FRAG_DECISIONS];        /* of the default pool */
	struct frag_match_count apart[FRAG_DECISIONS];        /* of private pools */
	struct frag_difference differences[FRAG_DIFFERENCES_MAX];
	uint64_t difference_count;      /* of the default pool; kept are the first */
	uint64_t not_restored;          /* blocks of the first state that could not be restored */
	uint64_t guessed;               /* ages of initial segments, told by where blocks went */
	bool by_age;                    /* of two equal segments the older came first */
	bool by_creation;               /* of two equal blocks the one created first */
};

struct frag_logged_device {
	const struct frag_snapshot *snapshot;
	struct frag_engine *engine;
	struct frag_verdict *verdict;
	/* where segments compare by address: all of the log's, rising, each once */
	const uint64_t *addresses;
	uint32_t address_count;
	/* where they compare by age: of each initial segment, its place among them; or NULL */
	const uint32_t *ages;
	uint64_t *bases;                /* by ordinal: the address, or FRAG_NOWHERE */
	uint32_t base_count, base_capacity;
	struct frag_map due;            /* address -> call: releases required in this step */
	uint32_t refused_at;            /* how many were due at the last refusal */
	uint32_t device;                /* ordinal */
	uint32_t first, at, end;        /* the step's calls in the log; at: the next of them */
	uint32_t event;                 /* of the log, for differences */
	uint64_t step;
	bool beginning;                 /* segments of the first state */
	bool oom;                       /* the log has an out-of-memory here */
	bool apart;                     /* the step's own pool is private */
};

extern const struct frag_device_ops frag_device_logged;

/* Counts a decision; one that differs is kept among the first. */
void frag_logged_judge(struct frag_logged_device *l, const struct frag_difference *d, bool agree,
		       bool apart);

/* Begins a step whose calls are those of the log up to end. False: out of memory. */
bool frag_logged_begin(struct frag_logged_device *l, uint32_t end);
/* Ends the step: its remaining calls were not made. */
void frag_logged_end(struct frag_logged_device *l);

#endif
