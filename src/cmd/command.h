/* command.h - a command of the program, as data, and its options. */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/error.h"

struct frag_opt {
	char short_name;        /* 0: none */
	const char *name;       /* without the dashes; NULL ends the table */
	const char *arg;        /* what it takes, in capitals, one word or two; NULL: nothing */
	const char *help;       /* one line, no full stop; '=' and the new name if this is an old
				 * name, which no list shows */
	int id;                 /* the command's own */
};

/* A row that most tables of options have. */
#define FRAG_LENIENT_ROW(id)                                                                   \
	{ 0, "lenient", NULL, "skip invalid events", (id) }

/* Of commands that print colour; main.c takes it in front of a command too. */
#define FRAG_COLOR_ROW(id)                                                                     \
	{ 0, "color", "WHAT", "auto, always or never (auto: on a terminal)", (id) }

/* --color */
int frag_option_color(const char *value, struct frag_error *err);

/* An option that only another command has, and what to say of it. */
struct frag_misplaced_option {
	const char *name;       /* NULL ends the table */
	const char *words;
};

/* What a command is for: the groups that help and completion show, in this order. */
enum frag_job {
	FRAG_JOB_FAILURE, FRAG_JOB_SIZE, FRAG_JOB_HOLDERS, FRAG_JOB_CI, FRAG_JOB_OTHER, FRAG_JOBS
};
extern const char *const frag_job_names[FRAG_JOBS];

struct frag_cmd {
	const char *name;
	enum frag_job job;
	const char *args;       /* for the usage line */
	const char *summary;    /* one line, no full stop */
	const struct frag_opt *opts;
	const struct frag_misplaced_option *foreign;     /* optional */
	/* 0 or -FRAG_E...; *status may be raised to an exit status that is no error */
	int (*exec)(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		    struct frag_error *err);
};

extern const struct frag_cmd frag_cmd_anonymize;
extern const struct frag_cmd frag_cmd_cards;
extern const struct frag_cmd frag_cmd_complete;
extern const struct frag_cmd frag_cmd_convert;
extern const struct frag_cmd frag_cmd_diff;
extern const struct frag_cmd frag_cmd_explain;
extern const struct frag_cmd frag_cmd_extrapolate;
extern const struct frag_cmd frag_cmd_fit;
extern const struct frag_cmd frag_cmd_gen;
extern const struct frag_cmd frag_cmd_help;
extern const struct frag_cmd frag_cmd_info;
extern const struct frag_cmd frag_cmd_leaks;
extern const struct frag_cmd frag_cmd_merge;
extern const struct frag_cmd frag_cmd_plan;
extern const struct frag_cmd frag_cmd_policies;
extern const struct frag_cmd frag_cmd_ranks;
extern const struct frag_cmd frag_cmd_record;
extern const struct frag_cmd frag_cmd_replay;
extern const struct frag_cmd frag_cmd_report;
extern const struct frag_cmd frag_cmd_run;
extern const struct frag_cmd frag_cmd_shrink;
extern const struct frag_cmd frag_cmd_slice;
extern const struct frag_cmd frag_cmd_sweep;
extern const struct frag_cmd frag_cmd_tune;
extern const struct frag_cmd frag_cmd_verify;
extern const struct frag_cmd frag_cmd_what_if;

/* All of them, sorted by name, ended by NULL. */
extern const struct frag_cmd *const frag_commands[];

/* The command of that name; NULL and -FRAG_EUSAGE in err where there is none. */
const struct frag_cmd *frag_command_find(const char *name, struct frag_error *err);

/* What fragsim --help prints. */
void frag_print_commands(void);

/*
 * Walks the options of argv; what is no option is moved behind them. set (NULL:
 * there are none) is called for each, value NULL where it takes none, and twice where it takes two
 * words. *rest is the index of the first operand, or 0 where -h was answered and nothing is left to do.
 */
int frag_options(const struct frag_cmd *cmd, int argc, char **argv, void *ctx,
		 int (*set)(void *ctx, int id, const char *value, struct frag_error *err),
		 int *rest, struct frag_error *err);

/*
 * A warning about how an option is written, which frag_options() prints after the last option,
 * unless one of them is -q.
 */
void frag_option_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Values of options, by their names without the dashes: bytes, those of a device and those
 * that others hold of one, of which few need a unit, a number from least to most, the index
 * of one of the words, which NULL ends. -FRAG_EUSAGE with what is required.
 */
#define FRAG_COUNT_MAX ((UINT64_C(1) << 53) - 1)
int frag_option_size(uint64_t *out, const char *name, const char *value, uint64_t min,
		     struct frag_error *err);
int frag_option_capacity(uint64_t *out, const char *name, const char *value,
			 struct frag_error *err);
int frag_option_share(uint64_t *out, const char *name, const char *value, struct frag_error *err);
int frag_option_count(uint64_t *out, const char *name, const char *value, uint64_t min,
		      uint64_t max, struct frag_error *err);
int frag_option_word(int *out, const char *name, const char *value, const char *const *words,
		     struct frag_error *err);

/*
 * The capacity of a device, from --device-bytes SIZE or --device CARD|SIZE. A card is one of
 * device/known_cards.h; cards are sold by the GB and have as many GiB, so --device reads GB as GiB,
 * with a warning. option names the option, *given the one that set the capacity before, or NULL.
 */
int frag_option_total(uint64_t *out, const char **given, const char *option, const char *value,
		      struct frag_error *err);

/* A row of a table of options; the other one is worded as the command means it. */
#define FRAG_CARD_ROW(id)                                                                      \
	{ 0, "device", "CARD", "capacity: a GPU such as h100-80gb (see fragsim cards), or a size", (id) }

/* The words that options take, each in the file that reads them. */
extern const char *const frag_color_words[];
extern const char *const frag_keep_words[];
extern const char *const frag_life_words[];
extern const char *const frag_on_oom_words[];
extern const char *const frag_result_formats[];
extern const char *const frag_slots_words[];
extern const char *const frag_stacks_words[];
extern const char *const frag_summary_words[];
extern const char *const frag_sweep_grids[];
extern const char *const frag_ties_words[];

/* -FRAG_EUSAGE with the command's usage in one line. */
int frag_usage(const struct frag_cmd *cmd, const char *what, struct frag_error *err);

/* Flushes standard output: 0, -FRAG_EPIPE or -FRAG_EOUTPUT for all that went there. */
int frag_flush_stdout(struct frag_error *err);

/*
 * "fragsim: ..." as one line on standard error, whatever it quotes. All that commands print
 * there goes this way, except the progress.
 */
void frag_print_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The `warn` of a frag_log: a line on standard error, unless *ctx, a bool, says quiet. */
void frag_warn(void *quiet, const char *message);

#endif
