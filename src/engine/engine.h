/* engine.h - one policy on one device. */
#pragma once

#include "fragsim/engine.h"
#include "metrics/run_metrics.h"

/* What a slot of the trace holds under this policy. */
struct frag_slot {
	uint64_t birth;         /* step */
	frag_block block;       /* or one of the states below */
	uint32_t tag, stack;    /* for frag_symbols_tag(), frag_symbols_frame() */
	uint16_t device;        /* ordinal: a trace has 1,024 at most */
	bool pending;           /* the block is; a policy may have freed it since */
};
#define SLOT_NONE UINT32_MAX            /* nothing, or nothing any more */
#define SLOT_EMPTY (UINT32_MAX - 1)     /* a request of 0 bytes: it takes 0 bytes */
#define SLOT_FAILED (UINT32_MAX - 2)    /* the allocation was an OOM */
#define SLOT_FIRST_STATE SLOT_FAILED    /* blocks are below */

struct frag_engine {
	struct frag_device device;
	struct frag_policy policy;
	const char *name;               /* the policy's, as it was written; borrowed */
	const struct frag_totals *totals; /* its heap's */
	struct frag_error policy_error; /* why the policy or device failed, where it gave a reason */
	struct frag_run_metrics metrics;
	struct frag_counts counts;      /* allocs, frees, hits, ooms, skipped */
	frag_block *restored;   /* by initial segment: where to look for the next hole, or none */
	uint32_t restored_count;
	uint32_t restoring;             /* the initial segment that is being obtained */
	bool restoring_blocks;          /* so far each event was one of an initial block */
	bool trusted;                   /* the policy is ours, and the run is not checked */
	bool open;                      /* the device is */
	bool pool_refused;              /* the device refused its initial pool: it runs no event */
	bool stopped;                   /* an OOM ended its run */
};

int frag_engine_init(struct frag_engine *e, const struct frag_choice *choice,
		     const struct frag_device_figures *figures,
		     const struct frag_device_ops *device, enum frag_level level,
		     struct frag_error *err);

/*
 * Makes *e a copy of an engine on a plain device; choice: the same, where the copy may borrow it.
 * The caller must release *e also on failure. -FRAG_ENOMEM
 */
int frag_engine_copy(struct frag_engine *e, const struct frag_engine *from,
		     const struct frag_choice *choice, struct frag_error *err);
void frag_engine_fini(struct frag_engine *e);

/* Before the first step: 0, or -FRAG_EDEVMEM where an initial pool was refused. */
int frag_engine_begin(struct frag_engine *e, struct frag_error *err);

/*
 * Then, where the policy can: the segments that the trace begins with. 0, or
 * -FRAG_EDEVMEM where the device refused one.
 */
int frag_engine_restore(struct frag_engine *e, uint32_t device, const struct frag_initial *initial,
			uint32_t count, struct frag_error *err);

/*
 * Runs the event on this device. The caller sets event, device and stack of the step; this sets
 * status and placed, which is all that most callers need. slots is indexed by the event's slot
 * and by those that it ends.
 */
int frag_engine_step(struct frag_engine *e, const struct frag_event *ev, struct frag_slot *slots,
		     struct frag_step *step, struct frag_error *err);

/* Fills the other members of a step that has just been run, for observers. */
void frag_engine_describe(struct frag_engine *e, const struct frag_slot *slots,
			  struct frag_step *step);

/* The message of a step's failure with rc, as a hook or the heap returned it. */
int frag_engine_fail(struct frag_engine *e, const struct frag_event *ev, uint32_t device, int rc,
		     struct frag_error *err);
