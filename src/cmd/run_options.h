/* run_options.h - the options of fragsim run. */
#ifndef CMD_RUN_OPTIONS_H
#define CMD_RUN_OPTIONS_H

#include "cmd/command.h"
#include "fragsim/engine.h"
#include "compare/condition.h"
#include "documents/documents.h"
#include "answers/row_writer.h"

/* Options of run; other commands that simulate take some of them. */
enum {
	FRAG_OPT_POLICY = 1,
	FRAG_OPT_STEPS,
	FRAG_OPT_PLACEMENTS,
	FRAG_OPT_JSON,
	FRAG_OPT_QUIET,
	FRAG_OPT_ON_OOM,
	FRAG_OPT_LENIENT,
	FRAG_OPT_CHECK,
	FRAG_OPT_DEVICE_BYTES,
	FRAG_OPT_CONTEXT_BYTES,
	FRAG_OPT_OTHER_BYTES,
	FRAG_OPT_GRANULARITY,
	FRAG_OPT_FAIL_IF,
	FRAG_OPT_THREADS,
	FRAG_OPT_ALLOC_CONF,
	FRAG_OPT_SUMMARY,
	FRAG_OPT_STACKS,
	FRAG_OPT_PROFILE,
	FRAG_OPT_HOST,
	FRAG_OPT_COLUMNS,
	FRAG_OPT_COLOR,
	FRAG_OPT_VERBOSE,
	FRAG_OPT_CARD,
	FRAG_OPT_HTML,
	FRAG_OPT_FORMAT,
	FRAG_OPT_OUTPUT,
	FRAG_OPT_TIME,
	FRAG_OPT_FIRST_OWN, /* from here on: another command's own */
};

struct frag_run_options {
	struct frag_choice *choices;
	uint32_t choice_count, choice_capacity;
	struct frag_condition *conditions;
	uint32_t condition_count, condition_capacity;
	struct frag_sim_options sim;
	uint64_t total, context, other, granularity;    /* UINT64_MAX: the trace's */
	const char *total_given;        /* the option that gave the total; NULL: none */
	const char *steps, *placements, *json, *html;   /* paths; NULL: not wanted */
	struct frag_columns columns;    /* of steps */
	const char *write_profile;      /* likewise; of replay */
	const char *profile_path;       /* NULL: the trace's devices */
	struct frag_profile profile;    /* where there is a path, once the options are checked */
	uint32_t threads;
	double seconds;		/* of a search */
	const char **settings;  /* of PyTorch's allocator, as --alloc-conf gave them */
	uint32_t setting_count, setting_capacity;
	enum frag_stacks stacks;        /* where they were given, */
	bool has_stacks;                /* that is */
	bool quiet, lenient;
	bool has_no_page;       /* the command has no --html */
	bool has_columns;       /* they were chosen */
	bool verbose;           /* the figures after the answers too */
	bool by_default;        /* nobody chose the policy: the trace did */
	uint32_t grid_count;    /* the first of the choices: they are of a grid of settings */
	bool follows_release;   /* --alloc-conf without a policy: the trace's release rules */
	bool host;              /* pinned host memory too, where the trace has some */
	bool has_base;          /* conditions may speak of changes */
	bool summary;           /* PyTorch's own table in the report */
	bool report;            /* the text report is to be printed */
};

/* Rows that several tables of options have; base is added to the ids above. */
#define FRAG_ALLOC_CONF_ROW(base)                                                          \
	{                                                                                  \
		0, "alloc-conf", "STRING",                                                 \
			"settings as in PYTORCH_ALLOC_CONF: a run of pytorch; repeatable", \
			(base) + FRAG_OPT_ALLOC_CONF                                       \
	}
#define FRAG_COLUMNS_ROW(base)                                                                 \
	{ 0, "columns", "COLUMNS", "which columns --steps has: NAME,... or all",                  \
	  (base) + FRAG_OPT_COLUMNS }
#define FRAG_STACKS_ROW(base)                                                                  \
	{ 0, "stacks", "WHAT",                                                                     \
	  "of stacks: top frame as the tag, with python, the program's, or all; none (top)",  \
	  (base) + FRAG_OPT_STACKS }
#define FRAG_RESULT_ROWS(output)                                                              \
	{ 0, "format", "FORMAT", "text or json (text)", FRAG_OPT_FORMAT },                    \
	{ 'o', "output", "FILE", output, FRAG_OPT_OUTPUT }
#define FRAG_HTML_ROW(base)                                                                    \
	{ 0, "html", "FILE", "write an HTML report (see fragsim report)",                       \
	  (base) + FRAG_OPT_HTML }
#define FRAG_ON_OOM_ROW(base)                                                                  \
	{ 0, "on-oom", "WHAT", "stop or continue after an out-of-memory (stop)",                   \
	  (base) + FRAG_OPT_ON_OOM }
#define FRAG_TIME_ROW(base)                                                              \
	{                                                                                \
		0, "time", "TIME", "end the search after so long: 30s, 500ms, 5m (60s)", \
			(base) + FRAG_OPT_TIME                                           \
	}
#define FRAG_PROFILE_ROW(base)                                                                 \
	{ 0, "profile", "FILE", "simulate the device that replay --write-profile was on",          \
	  (base) + FRAG_OPT_PROFILE }
#define FRAG_DEVICE_ROWS(base)                                                                 \
	{ 0, "device-bytes", "SIZE", "capacity of each device (0: unlimited)",                     \
	  (base) + FRAG_OPT_DEVICE_BYTES },                                                        \
	FRAG_CARD_ROW((base) + FRAG_OPT_CARD),                                                     \
	{ 0, "context-bytes", "SIZE", "bytes that the CUDA context uses",                          \
	  (base) + FRAG_OPT_CONTEXT_BYTES },                                                       \
	{ 0, "other-bytes", "SIZE", "bytes that other processes use",                              \
	  (base) + FRAG_OPT_OTHER_BYTES },                                                         \
	{ 0, "granularity", "SIZE", "pages in which the device gives memory",                      \
	  (base) + FRAG_OPT_GRANULARITY }

extern const struct frag_opt frag_run_opts[];

/* What commands that simulate say of options that only a replay has. */
extern const struct frag_misplaced_option frag_run_foreign[];

void frag_run_options_init(struct frag_run_options *run);
void frag_run_options_fini(struct frag_run_options *run);

/* For frag_options(). */
int frag_run_set_option(void *ctx, int id, const char *value, struct frag_error *err);

/* The driver's own pool, after the policies that were given so far; for a replay. */
int frag_run_add_allocator(struct frag_run_options *run, const char *text,
			   struct frag_error *err);

/*
 * A run for each --alloc-conf, where there is one, in place of each policy that reads such.
 * With `keys`, and where there are several, the policy's text has them as keys.
 */
int frag_run_settings(struct frag_run_options *run, bool keys, struct frag_error *err);

/* Reads the profile, where one was given: the simulations have its device's model then. */
int frag_run_read_profile(struct frag_run_options *run, struct frag_error *err);

/*
 * The devices of a run: those that the trace suggests, the profile's in their place, and what
 * options say above both. frag_devices_fini() releases them, also where this fails.
 */
int frag_run_devices(const struct frag_run_options *run, const struct frag_trace *trace,
		     struct frag_devices *devices, struct frag_error *err);

/* After the last option: what does not go together, and the defaults. */
int frag_run_options_check(struct frag_run_options *run, const struct frag_cmd *cmd,
			   struct frag_error *err);

#endif
