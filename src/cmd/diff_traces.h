/* diff_traces.h - fragsim diff OLD NEW: why one recording reserves more than another. */
#ifndef CMD_DIFF_TRACES_H
#define CMD_DIFF_TRACES_H

#include "cmd/answer_page.h"
#include "cmd/exit_conditions.h"
#include "cmd/output_formats.h"

/* What conditions on a change may be about; ended by NULL. */
extern const char *const frag_trace_change_paths[];

struct frag_trace_change {
	const char *paths[2];                   /* OLD, NEW; borrowed */
	const struct frag_run_options *run;     /* borrowed; at most one policy */
	struct frag_answer_output printed;
	struct frag_answer_page *page;          /* of --html; borrowed */
	struct frag_conditions conditions;
};

/* Are these two files traces, and not results or baselines? False also for standard input. */
bool frag_trace_change_is_wanted(const char *old, const char *now);

/* *status becomes 1 where a condition holds. */
int frag_trace_change_run(struct frag_trace_change *t, const struct frag_cmd *cmd, int *status,
			  struct frag_error *err);
void frag_trace_change_fini(struct frag_trace_change *t);

#endif
