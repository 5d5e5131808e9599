/* run_options.h - the options of fragsim run. */
#ifndef CMD_RUN_OPTIONS_H
#define CMD_RUN_OPTIONS_H

#include "cmd/command.h"
#include "fragsim/engine.h"
#include "report/condition.h"

struct frag_run_options {
	struct frag_choice *choices;
	uint32_t choice_count, choice_capacity;
	struct frag_condition *conditions;
	uint32_t condition_count, condition_capacity;
	struct frag_sim_options sim;
	uint64_t total, context, other, granularity;    /* UINT64_MAX: the trace's */
	const char *steps, *placements, *json;          /* paths; NULL: not wanted */
	uint32_t threads;
	const char *settings;   /* of PyTorch's allocator; NULL: not given */
	bool quiet, lenient;
	bool summary;           /* PyTorch's own table in the report */
	bool report;            /* the text report is to be printed */
};

extern const struct frag_opt frag_run_opts[];

void frag_run_options_init(struct frag_run_options *run);
void frag_run_options_fini(struct frag_run_options *run);

/* For frag_options(). */
int frag_run_set_option(void *ctx, int id, const char *value, struct frag_error *err);

/* After the last option: what does not go together, and the defaults. */
int frag_run_options_check(struct frag_run_options *run, const struct frag_cmd *cmd,
			   struct frag_error *err);

#endif
