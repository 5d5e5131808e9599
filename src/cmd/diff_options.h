/* diff_options.h - the options of fragsim diff. */
#ifndef CMD_DIFF_OPTIONS_H
#define CMD_DIFF_OPTIONS_H

#include "cmd/run_options.h"
#include "compare/compare.h"
#include "answers/diff_answer.h"
#include "cmd/answer_page.h"
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

#define FRAG_DIFF_OUTPUTS_MAX 12

struct frag_diff_output {
	const struct frag_diff_format *format;  /* NULL: it is the page of --html */
	const char *path;       /* "-": standard output */
};

struct frag_diff_options {
	struct frag_run_options run;
	const char *baseline;   /* path; NULL: none */
	bool update, gate;
	bool smallest;          /* the smallest device of each run is searched for */
	bool new_traces;        /* --allow-new-traces */
	const struct frag_diff_format *format;  /* of standard output; NULL: not given */
	struct frag_diff_output outputs[FRAG_DIFF_OUTPUTS_MAX];
	uint32_t output_count;
	const char **traces;
	uint32_t trace_count, trace_capacity;
	bool files;             /* two files are compared, nothing is simulated */
	bool change;            /* two traces are: in `trace_change` */
	struct frag_trace_change trace_change;
};

extern const struct frag_opt frag_diff_opts[];

void frag_diff_options_fini(struct frag_diff_options *o);

/* After the last option, with the operands: what does not go together. */
int frag_diff_options_check(struct frag_diff_options *o, const struct frag_cmd *cmd,
			    char **operands, int count, struct frag_error *err);

/* Policies, traces and devices' values that were not given are those of the baseline. */
int frag_diff_options_complete(struct frag_diff_options *o, const struct frag_cmd *cmd,
			       const struct frag_run_set *base, struct frag_error *err);

#endif
