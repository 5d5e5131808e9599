/* loaded_trace.h - a trace in memory, with the policies and devices that simulate it. */
#pragma once

#include "cmd/progress.h"
#include "cmd/run_options.h"
#include "policy/choice.h"
#include "search/fit_all.h"
#include "verify/release.h"

struct frag_loaded_trace {
	struct frag_trace *trace;
	struct frag_configured configured;
	struct frag_tape *tape;
	struct frag_devices devices;    /* as in the options; capacities on request */
	struct frag_choice *choices;    /* those of the options, or the usual ones of this trace */
	uint32_t choice_count;
	struct frag_release release;    /* that the options' choices follow; minor 0: none */
};

/*
 * Which policies to take where the options have none: up to FRAG_USUAL_MAX are filled in, as
 * this trace has them.
 */
#define FRAG_USUAL_MAX 4
typedef int frag_usual(struct frag_choice choices[FRAG_USUAL_MAX], uint32_t *count,
		       const struct frag_trace *trace, const struct frag_log *log,
		       struct frag_error *err);

/*
 * Each is a `usual`: PyTorch's allocator as it was recorded; the same for what PyTorch recorded,
 * bestfit for others; pytorch twice, as it was recorded and with expandable segments; the same and
 * bestfit.
 */
frag_usual frag_usual_recorded, frag_usual_policy, frag_usual_settings, frag_usual_three;

/* What to load of a trace, and the state of progress and warnings. */
struct frag_taped_reading {
	struct frag_progress progress;
	const struct frag_log *log;     /* of the warnings; NULL: standard error */
	bool quiet, records, host;
	bool part;              /* one of several side by side: it shows no progress */
	bool growth;            /* whether memory grows is found: with FRAG_STACKS_ALL or _PYTHON */
	bool capacity;          /* the devices' capacities count: a note names their source */
	enum frag_stacks stacks;
};
/* As an answer without tags needs it, or a page with them. */
struct frag_taped_reading frag_taped_reading(const struct frag_run_options *o);

/* The trace, or a change of it on another tape, to be fitted. */
static inline struct frag_fit_source frag_taped_source(const struct frag_loaded_trace *t,
						       const struct frag_tape *tape)
{
	return (struct frag_fit_source){ .tape = tape, .choices = t->choices,
					 .devices = t->devices.figures };
}

/* Fills all except the tape. The trace borrows the reading until it is closed. */
int frag_taped_open(struct frag_loaded_trace *t, const char *path, const struct frag_run_options *o,
		    frag_usual *usual, struct frag_taped_reading *reading, struct frag_error *err);
/* Shows how far it is, and warns; ctx is the reading. */
void frag_taped_show(void *ctx, const struct frag_trace_info *info);
void frag_taped_warn(void *ctx, const char *message);

/*
 * Several with their tapes: reads the traces to their ends, with progress on standard error. A `configure` must be fit for all of the policies.
 * What is there after a failure must be closed too.
 */
int frag_taped_read(struct frag_loaded_trace *traces, const char *const *paths, uint32_t count,
		    const struct frag_run_options *o, frag_usual *usual,
		    struct frag_taped_reading *reading, struct frag_error *err);
void frag_taped_close(struct frag_loaded_trace *traces, uint32_t count); /* zeroed ones are valid */
