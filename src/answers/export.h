/*
 * export.h - a run in the formats of other viewers.
 *
 * A format is one const entry of the table in export.c. Its functions are called at the start
 * of a run, for each step, and at the end; its memory grows with the live blocks, never with
 * the number of steps.
 */
#pragma once

#include "base/atomic_file.h"
#include "fragsim/engine.h"

struct frag_export {
	const struct frag_export_ops *ops;
	struct frag_outfile *out;               /* borrowed, like all below */
	const struct frag_sim *sim;
	const struct frag_choice *choice;       /* the policy that the run is under */
	bool goes_on;                           /* after an out-of-memory */
	bool begun;             /* a step was seen */
	bool by_time;           /* times are the trace's; else, where the first event has none,
				 * they are steps */
	double t;               /* microseconds: the last time that the trace gave */
	uint64_t ooms, first_oom;               /* how many, and the step of the first */
	uint32_t first_oom_device;
	void *state;                            /* the form's */
};

struct frag_export_ops {
	const char *name;
	const char *summary;    /* one line, no full stop */
	const char *ending;     /* of file names; NULL: none */

	/* the devices have begun, nothing was fed yet */
	int  (*begin)(struct frag_export *x, struct frag_error *err);
	int  (*step)(struct frag_export *x, const struct frag_step *step, struct frag_error *err);
	int  (*end)(struct frag_export *x, struct frag_error *err);
	void (*fini)(struct frag_export *x);
};

extern const struct frag_export_ops frag_export_snapshot, frag_export_perfetto, frag_export_sqlite;

/* All forms, ended by NULL. */
extern const struct frag_export_ops *const frag_exports[];

/* Writes the run of a simulation that is new; ops, out, choice and goes_on are set. */
int frag_export_run(struct frag_export *x, struct frag_sim *sim, struct frag_trace *trace,
		    bool (*stop)(void *ctx), struct frag_error *err);

/* The i-th parameter of the policy, as text. False after the last one. */
bool frag_export_param(const struct frag_choice *choice, uint32_t i, char buf[FRAG_PARAM_TEXT]);
