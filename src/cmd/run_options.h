/* run_options.h - the options of fragsim run. */
#ifndef CMD_RUN_OPTIONS_H
#define CMD_RUN_OPTIONS_H

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
	const char *steps, *placements, *json, *html;   /* paths; NULL: not wanted */
	struct frag_columns columns;    /* of steps */
	const char *write_profile;      /* likewise; of replay */
	const char *profile_path;       /* NULL: the trace's devices */
	struct frag_profile profile;    /* where there is a path, once the options are checked */
	uint32_t threads;
	double seconds;		/* of a search */
	struct frag_texts settings;     /* of PyTorch's allocator, as --alloc-conf gave them */
	int stacks;             /* of enum frag_stacks; -1: not given */
	bool quiet, lenient;
	bool has_no_page;       /* the command has no --html, or */
	bool has_no_steps;      /* no --steps */
	bool has_columns;       /* they were chosen */
	bool verbose;           /* the table of values, too, below the answers */
	uint32_t grid_count;    /* the first of the choices: they are of a grid of settings */
	bool follows_release;   /* --alloc-conf without a policy: the trace's release rules */
	bool host;              /* pinned host memory too, where the trace has some */
	bool has_base;          /* conditions may compare with the baseline */
	bool summary;           /* PyTorch's own table in the report */
	bool report;            /* the text report is to be printed */
};

/* Rows that several tables have; base is the offset of the options of a run in the command's. */
#define FRAG_RUN_MEMBER(base, member, is)                                                      \
	.at = (base) + FRAG_MEMBER(struct frag_run_options, member, is)
#define FRAG_RUN_FLAG(base, member)                                                            \
	.kind = FRAG_OPT_FLAG, FRAG_RUN_MEMBER(base, member, bool)
#define FRAG_RUN_TEXT(base, member)                                                            \
	.kind = FRAG_OPT_TEXT, FRAG_RUN_MEMBER(base, member, const char *)
#define FRAG_RUN_OUTPUT(member)                                                                \
	.kind = FRAG_OPT_OUTPUT, FRAG_RUN_MEMBER(0, member, const char *)
#define FRAG_RUN_CALL(base, function) .at = (base), .set = (function)
#define FRAG_POLICY_ROW(base, help)                                                            \
	{ 'p', "policy", "NAME", help, FRAG_RUN_CALL(base, frag_run_add_policy) }
#define FRAG_ALLOC_CONF_ROW(base, help)                                                        \
	{ 0, "alloc-conf", "STRING", help, .kind = FRAG_OPT_LIST,                              \
	  FRAG_RUN_MEMBER(base, settings, struct frag_texts) }
#define FRAG_ALLOC_CONF_HELP "settings as in PYTORCH_ALLOC_CONF: a run of pytorch; repeatable"
#define FRAG_COLUMNS_ROW                                                                       \
	{ 0, "columns", "COLUMNS", "which columns --steps has: NAME,... or all",               \
	  FRAG_CALL(frag_run_set_columns) }
/* The files of a run or a replay: a row a step, where blocks went, the result. */
#define FRAG_STEPS_ROWS                                                                        \
	{ 0, "steps", "FILE", "write a row of metrics a step, CSV or .ndjson",                 \
	  FRAG_RUN_OUTPUT(steps) },                                                           \
	FRAG_COLUMNS_ROW,                                                                      \
	{ 0, "placements", "FILE", "write where every block went, NDJSON",                     \
	  FRAG_RUN_OUTPUT(placements) },                                                      \
	{ 0, "json", "FILE", "write the result object (- is standard output)",                 \
	  FRAG_RUN_OUTPUT(json) }
#define FRAG_STACKS_ROW(base, help)                                                            \
	{ 0, "stacks", "WHAT", help, .kind = FRAG_OPT_WORD, FRAG_RUN_MEMBER(base, stacks, int), \
	  .words = frag_stacks_words }
#define FRAG_STACKS_HELP                                                                       \
	"of stacks: top frame as the tag, with python, the program's, or all; none"
#define FRAG_RESULT_FORMAT_ROW                                                                 \
	{ 0, "format", "FORMAT", "text or json (text)", .words = frag_result_formats,          \
	  FRAG_CALL(frag_run_set_format) }
#define FRAG_RESULT_ROWS(output)                                                               \
	FRAG_RESULT_FORMAT_ROW,                                                                \
	{ 'o', "output", "FILE", output, FRAG_CALL(frag_run_set_output) }
#define FRAG_HTML_ROW                                                                          \
	{ 0, "html", "FILE", "write an HTML report (see fragsim report)", FRAG_RUN_OUTPUT(html) }
#define FRAG_QUIET_ROW(help) { 'q', "quiet", NULL, help, FRAG_RUN_FLAG(0, quiet) }
#define FRAG_ON_OOM_ROW(base)                                                                  \
	{ 0, "on-oom", "WHAT", "stop or continue after an out-of-memory (stop)",               \
	  .kind = FRAG_OPT_TRUTH, FRAG_RUN_MEMBER(base, sim.on_oom_continue, bool),            \
	  .words = frag_on_oom_words, .min = 1 }
#define FRAG_LENIENT_ROW(base)                                                                 \
	{ 0, "lenient", NULL, "skip invalid events", FRAG_RUN_FLAG(base, lenient) }
#define FRAG_TIME_ROW                                                                          \
	{ 0, "time", "TIME", "end the search after so long: 30s, 500ms, 5m (60s)",             \
	  .kind = FRAG_OPT_SECONDS, FRAG_RUN_MEMBER(0, seconds, double),                       \
	  .usual = FRAG_TIME_USUAL }
#define FRAG_THREADS_ROW(help)                                                                 \
	{ 0, "threads", "N", help, .kind = FRAG_OPT_COUNT32,                                   \
	  FRAG_RUN_MEMBER(0, threads, uint32_t), .max = FRAG_THREADS_MAX }
#define FRAG_SEARCH_THREADS_ROW FRAG_THREADS_ROW("concurrent simulations (0: one per processor)")
#define FRAG_THREADS_MAX 1024
#define FRAG_PROFILE_ROW                                                                       \
	{ 0, "profile", "FILE", "simulate the device that replay --write-profile was on",      \
	  FRAG_INPUT(struct frag_run_options, profile_path, "the profile") }
#define FRAG_OTHERS_ROWS(base)                                                                 \
	{ 0, "context-bytes", "SIZE", "bytes that the CUDA context uses",                      \
	  .kind = FRAG_OPT_SHARE, FRAG_RUN_MEMBER(base, context, uint64_t) },                  \
	{ 0, "other-bytes", "SIZE", "bytes that other processes use",                          \
	  .kind = FRAG_OPT_SHARE, FRAG_RUN_MEMBER(base, other, uint64_t) },                    \
	{ 0, "granularity", "SIZE", "pages in which the device gives memory",                  \
	  .kind = FRAG_OPT_SIZE, FRAG_RUN_MEMBER(base, granularity, uint64_t), .min = 1 }
#define FRAG_DEVICE_ROWS(base)                                                                 \
	FRAG_TOTAL_ROWS((base)                                                                 \
			+ FRAG_MEMBER(struct frag_run_options, capacity, struct frag_capacity),\
			"capacity of each device (0: unlimited)", UINT64_MAX),                 \
	FRAG_OTHERS_ROWS(base)

/*
 * What these rows call; at is the options of a run. For policies and conditions o may be NULL. The
 * allocator is the driver's own pool, after the policies that were given so far; for a replay.
 */
frag_set_option frag_run_add_policy, frag_run_add_allocator, frag_run_add_condition,
	frag_run_set_columns, frag_run_set_format, frag_run_set_output;
extern const char *const frag_on_oom_words[], *const frag_stacks_words[];
extern const char *const frag_result_formats[];

extern const struct frag_opt frag_run_opts[];

/* What commands that simulate say of options that only a replay has. */
extern const struct frag_misplaced_option frag_run_foreign[];

void frag_run_options_init(struct frag_run_options *run);
void frag_run_options_fini(struct frag_run_options *run);

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

#endif
