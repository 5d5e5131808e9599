/*
 * policy_matrix.h - every policy on every trace, on all processors.
 *
 * A trace is read once for all its policies. Several traces are simulated in parallel. The
 * output is in the order of the traces; of a finished trace only the metrics are kept.
 */
#ifndef COMPARE_POLICY_MATRIX_H
#define COMPARE_POLICY_MATRIX_H

#include "compare/runs.h"

struct frag_sweep {
	const char *const *traces;
	uint32_t trace_count;
	const struct frag_choice *choices;
	uint32_t choice_count;
	struct frag_sim_options sim;
	uint64_t total, context, other, granularity;    /* UINT64_MAX: the trace's */
	uint64_t card_context;  /* where the trace has none */
	const struct frag_device_figures *like; /* all devices are; NULL: the traces' */
	bool lenient;
	uint32_t threads;               /* 0: one a processor */
	struct frag_log log;            /* warnings, in the order of the traces, at the end */
	bool (*stop)(void *ctx);
	/* optional: from any thread, one at once */
	void (*progress)(void *ctx, uint32_t done, uint32_t count);
	/* from any thread, several at once: trace `index` is done; 0 or -FRAG_E... */
	int (*done)(void *ctx, uint32_t index, struct frag_runs *runs, struct frag_error *err);
	void *ctx;
};

/*
 * Fills set->trace, one for each trace (without runs where an interruption came
 * first). Of several failures the first trace's is reported. -FRAG_EINTERRUPTED:
 * what is there is good.
 */
int frag_sweep_run(const struct frag_sweep *sweep, struct frag_run_set *set,
		   struct frag_error *err);

#endif
