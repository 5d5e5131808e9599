/*
 * trace_change.h - why one recording reserves more than another.
 *
 * R(t, v, s) is the peak of reserved on an unlimited device of trace t under PyTorch's version v
 * and settings s; Q and A are the peaks of requested and of active bytes of the same run. With OLD
 * (t0, v0, s0) and NEW (t1, v1, s1) the parts are, in this order:
 *
 *   version        R(t0,v1,s0') - R(t0,v0,s0)     s0': the keys of s0 that v1 knows
 *   settings       R(t0,v1,s1) - R(t0,v1,s0')
 *   requested      Q(t1,v1,s1) - Q(t0,v1,s1)
 *   rounding       [A - Q](t1,v1,s1) - [A - Q](t0,v1,s1)
 *   fragmentation  [R - A](t1,v1,s1) - [R - A](t0,v1,s1)
 *
 * Each difference begins where the one before it ends, so they add up to the whole to the byte.
 */
#ifndef SEARCH_TRACE_CHANGE_H
#define SEARCH_TRACE_CHANGE_H

#include "fragsim/engine.h"

/* One of the two recordings. Borrowed, except what frag_change_find() fills in. */
struct frag_change_side {
	const struct frag_trace_info *trace;
	const struct frag_tape *tape;
	const struct frag_choice *choice;               /* as it was recorded, or given */
	const struct frag_device_figures *devices;      /* of its trace; without a capacity */
	struct frag_sim *sim;                           /* its run; owned */
	const struct frag_result *run;                  /* on the device that is compared */
	uint64_t peak_step;             /* the first with the peak of live requested bytes */
};

/* Peaks of a run, in bytes. */
struct frag_change_peaks {
	uint64_t reserved, requested, active;
	bool fits;                      /* no limit of the policy's own ended the run */
};

enum frag_change_part {
	FRAG_PART_VERSION, FRAG_PART_SETTINGS, FRAG_PART_REQUESTED, FRAG_PART_ROUNDING,
	FRAG_PART_FRAGMENTATION, FRAG_PARTS
};
extern const char *const frag_change_part_names[FRAG_PARTS];

/* Live bytes of a tag as requested, at the peak_step of each side. */
struct frag_change_tag {
	char *tag;                      /* owned; NULL: requests without one */
	uint64_t old, now;              /* bytes */
	uint64_t old_blocks, now_blocks;
};

/* A request of each side. */
struct frag_change_request {
	uint64_t step, bytes;           /* bytes UINT64_MAX: the trace has ended at that step */
	char *tag;                      /* owned; NULL: none */
};

struct frag_change_found {
	struct frag_change_side old, now;
	/* OLD under NEW's version, and under its settings too; NULL: its own run is the same */
	const struct frag_choice *as_version, *as_both;
	uint32_t device;                /* ordinal: of those of both, the one that changes most */
	int64_t reserved;               /* the whole change, in bytes */
	int64_t parts[FRAG_PARTS];
	struct frag_change_tag *tags;   /* the largest change first */
	uint32_t tag_count;
	bool differs;                   /* the sequences of requests do; else the next are unset */
	struct frag_change_request old_first, now_first;
	bool undone;                    /* these settings bring NEW to what OLD reserves */
	struct frag_choice undo;
	uint64_t undo_reserved;
	bool (*stop)(void *ctx);        /* optional: asked before each simulation */
	void *ctx;
};

/*
 * The sides, as_version and as_both are given. -FRAG_ENOMEM, -FRAG_EINTERRUPTED, or why a policy
 * cannot be simulated. Released with fini, also where this fails.
 */
int frag_change_find(struct frag_change_found *change, struct frag_error *err);
void frag_change_fini(struct frag_change_found *change);

#endif
