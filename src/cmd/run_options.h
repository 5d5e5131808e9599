/* run_options.h - the options of fragsim run. */
#pragma once

#include "cmd/command.h"
#include "cmd/progress.h"
#include "fragsim/engine.h"
#include "compare/condition.h"
#include "documents/documents.h"
#include "search/settings_grid.h"
#include "answers/row_writer.h"
#include "answers/report.h"

struct frag_run_options {
	struct frag_choice *choices;
	uint32_t choice_count, choice_capacity;
	struct frag_condition *conditions;
	uint32_t condition_count, condition_capacity;
	struct frag_sim_options sim;
	union {
		struct frag_capacity capacity;
		uint64_t total;         /* that of the capacity; UINT64_MAX: the trace's */
	};
	uint64_t context, other, granularity;   /* UINT64_MAX: the trace's */
	const char *steps, *placements, *json, *html, *svg;     /* paths; NULL: not wanted */
	struct frag_columns columns;    /* of steps */
	const char *write_profile;      /* likewise; of replay */
	const char *profile_path;       /* NULL: the trace's devices */
	struct frag_profile profile;    /* where there is a path, once the options are checked */
	uint32_t threads;
	double seconds;		/* of a search */
	struct frag_texts settings;     /* of PyTorch's allocator, as --alloc-conf gave them */
	int stacks;             /* of enum frag_stacks; -1: not given */
	bool quiet, lenient;
	bool has_columns;       /* they were chosen */
	bool verbose;           /* the table of values, too, below the answers */
	uint32_t grid_count;    /* the first of the choices: they are of a grid of settings */
	bool grid_is_file;
	bool follows_release;   /* --alloc-conf without a policy: the trace's release rules */
	bool host;              /* pinned host memory too, where the trace has some */
	bool has_base;          /* conditions may compare with the baseline */
	bool summary;           /* PyTorch's own table in the report */
	bool report;            /* the text report is to be printed */
	bool partial;           /* conditions judge a recording that is a part as if it were whole */
};

/* Rows that several tables have, of options that begin with those of a run. */
#define FRAG_RUN_FLAG(member) FRAG_FLAG(struct frag_run_options, member)
#define FRAG_RUN_OUTPUT(member) FRAG_OUTPUT(struct frag_run_options, member)
#define FRAG_POLICY_ROW(help) { 'p', "policy", "NAME", help, FRAG_CALL(frag_run_add_policy) }
#define FRAG_ALLOC_CONF_ROW(help)                                                              \
	{ 0, "alloc-conf", "STRING", help, FRAG_LIST(struct frag_run_options, settings) }
#define FRAG_POLICY_ROWS(help)                                                                 \
	FRAG_POLICY_ROW(help), FRAG_ALLOC_CONF_ROW(FRAG_ALLOC_CONF_HELP)
#define FRAG_ALLOC_CONF_HELP "settings as in PYTORCH_ALLOC_CONF: a run of pytorch; repeatable"
/* The files of a run or a replay: a row a step, where blocks went, the result. */
#define FRAG_STEPS_ROWS                                                                        \
	{ 0, "steps", "FILE", "write a row of metrics per event, CSV or .ndjson",                 \
	  FRAG_RUN_OUTPUT(steps) },                                                            \
	{ 0, "columns", "COLUMNS", "which columns --steps has: NAME,... or all",               \
	  FRAG_CALL(frag_run_set_columns) },                                                   \
	{ 0, "placements", "FILE", "write where every block went, NDJSON",                     \
	  FRAG_RUN_OUTPUT(placements) },                                                       \
	{ 0, "json", "FILE", "write the result object (- is standard output)",                 \
	  FRAG_RUN_OUTPUT(json) }
#define FRAG_STACKS_ROW(help)                                                                  \
	{ 0, "stacks", "WHAT", help,                                                           \
	  FRAG_WORD(struct frag_run_options, stacks, frag_stacks_words) }
#define FRAG_STACKS_HELP                                                                       \
	"of stacks: top frame as the tag, with python, the program's, or all; none"
#define FRAG_NO_PAGE 1          /* the command draws none */
#define FRAG_RESULT_ROWS(output, without)                                                      \
	{ 0, "format", "FORMAT", (without) ? "text or json (text)" : "text, json or html (text)", \
	  .words = (without) ? frag_result_formats : frag_page_formats,                        \
	  FRAG_CALL(frag_run_set_format) },                                                    \
	{ 'o', "output", "FILE", output, .min = (without), FRAG_CALL(frag_run_set_output) }
#define FRAG_QUIET_ROW(help) { 'q', "quiet", NULL, help, FRAG_RUN_FLAG(quiet) }
#define FRAG_ON_OOM_ROW                                                                        \
	{ 0, "on-oom", "WHAT", "stop or continue after an out-of-memory (stop)",               \
	  FRAG_TRUTH(struct frag_run_options, sim.on_oom_continue, frag_on_oom_words, 1) }
#define FRAG_PARTIAL_ROW                                                                       \
	{ 0, "allow-partial", NULL, "--fail-if judges a recording that is a part of its program",\
	  FRAG_RUN_FLAG(partial) }
#define FRAG_LENIENT_ROW { 0, "lenient", NULL, "skip invalid events", FRAG_RUN_FLAG(lenient) }
#define FRAG_TIME_ROW                                                                          \
	{ 0, "time", "TIME", "end the search after so long: 30s, 500ms, 5m (60s)",             \
	  FRAG_SECONDS(struct frag_run_options, seconds), .usual = FRAG_TIME_USUAL }
#define FRAG_THREADS_ROW(help)                                                                 \
	{ 0, "threads", "N", help, .kind = FRAG_OPT_COUNT32, .max = FRAG_THREADS_MAX,          \
	  .at = FRAG_MEMBER(struct frag_run_options, threads, uint32_t) }
#define FRAG_SEARCH_THREADS_ROW FRAG_THREADS_ROW("concurrent simulations (0: one per processor)")
#define FRAG_THREADS_MAX 1024
#define FRAG_PROFILE_ROW                                                                       \
	{ 0, "profile", "FILE", "simulate the device that replay --write-profile was on",      \
	  FRAG_INPUT(struct frag_run_options, profile_path, "the profile") }
#define FRAG_SHARE(type, member)                                                               \
	.kind = FRAG_OPT_SHARE, .at = FRAG_MEMBER(type, member, uint64_t)
#define FRAG_OTHERS_ROWS                                                                       \
	{ 0, "context-bytes", "SIZE", "bytes that the CUDA context uses",                      \
	  FRAG_SHARE(struct frag_run_options, context) },                                      \
	{ 0, "other-bytes", "SIZE", "bytes that other processes use",                          \
	  FRAG_SHARE(struct frag_run_options, other) },                                        \
	{ 0, "granularity", "SIZE", "pages in which the device gives memory",                  \
	  FRAG_SIZE(struct frag_run_options, granularity, 1) }
#define FRAG_DEVICE_ROWS                                                                       \
	FRAG_TOTAL_ROWS(FRAG_MEMBER(struct frag_run_options, capacity, struct frag_capacity),  \
			"capacity of each device (0: unlimited)", UINT64_MAX),                 \
	FRAG_OTHERS_ROWS

/*
 * What these rows call; at is the options of a run. For policies and conditions o may be NULL. A
 * row "allocator" adds the driver's own pool, after the policies that were given so far; for a
 * replay.
 */
frag_set_option frag_run_add_policy, frag_run_add_condition, frag_run_set_columns,
	frag_run_set_format, frag_run_set_output;
extern const char *const frag_on_oom_words[], *const frag_stacks_words[];
extern const char *const frag_result_formats[], *const frag_page_formats[];

extern const struct frag_opt frag_run_opts[];

/* What commands that simulate say of options that only a replay has. */
extern const struct frag_misplaced_option frag_run_foreign[];

/*
 * Replaces each policy that reads such settings by one run for each --alloc-conf.
 * With `keys`, and where there are several, the policy's text has them as keys.
 */
int frag_run_settings(struct frag_run_options *run, bool keys, struct frag_error *err);

/* Reads the profile, where one was given: the simulations have its device's model then. */
int frag_run_read_profile(struct frag_run_options *run, struct frag_error *err);

/* What CUDA takes of the card of --device, for a trace that has no context; 0: none is assumed. */
uint64_t frag_run_card_context(const struct frag_run_options *run);

/* After the last option: what does not go together, and the defaults. */
int frag_run_options_check(struct frag_run_options *run, const struct frag_cmd *cmd,
			   struct frag_error *err);

/* The choices become those of the grid, and behind them what was given. As frag_grid_choices() */
int frag_run_grid(struct frag_run_options *run, const char *name, struct frag_error *err);
