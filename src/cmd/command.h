/* command.h - a command of the program, as data, and its options. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "fragsim/error.h"

#define FRAG_GIVEN_MAX 64

struct frag_opt;

/* What --device-bytes and --device give. */
struct frag_capacity {
	uint64_t total;         /* bytes; 0: unlimited */
	uint64_t context;       /* what CUDA takes of the card; 0: a size was given */
};

/* Sets what the option stands for; at is its member, or all options where the row has none. */
typedef int frag_set_option(void *at, const struct frag_opt *o, const char *value,
			    struct frag_error *err);

/* How the value of an option is parsed and stored. */
enum frag_opt_kind {
	FRAG_OPT_CALL,          /* `set` reads it */
	FRAG_OPT_FLAG,          /* bool, becomes true */
	FRAG_OPT_TEXT,          /* const char *, the value itself */
	FRAG_OPT_SIZE,          /* uint64_t, bytes, at least `min` */
	FRAG_OPT_CAPACITY,      /* uint64_t, bytes of a device; 0 is unlimited */
	FRAG_OPT_TOTAL,         /* frag_capacity, by --device-bytes SIZE or --device CARD|SIZE */
	FRAG_OPT_SHARE,         /* uint64_t, bytes of a device that others use */
	FRAG_OPT_COUNT,         /* uint64_t, from `min` to `max` */
	FRAG_OPT_COUNT32,       /* uint32_t, likewise */
	FRAG_OPT_WORD,          /* int, the index of one of the words */
	FRAG_OPT_TRUTH,         /* bool, true from the word of index `min` on */
	FRAG_OPT_LIST,          /* struct frag_texts, the value is added */
	FRAG_OPT_SECONDS,       /* double, from 30s, 500ms or 5m */
	FRAG_OPT_NUMBER,        /* double, finite, from `low` to `high`, with `unit` behind it */
	FRAG_OPT_INPUT,         /* const char *, a file that is read, and */
	FRAG_OPT_OUTPUT,        /* one that is written */
};

/* One row a option: how it is written and described, and which member it sets. */
struct frag_opt {
	char short_name;        /* 0: none */
	const char *name;       /* without the dashes; NULL ends the table */
	const char *arg;        /* its values, in capitals, a word each; NULL: none */
	const char *help;       /* one line, no full stop */
	enum frag_opt_kind kind;
	size_t at;              /* the offset of the member in the command's options */
	uint64_t min, max;
	uint64_t usual;         /* the member without the option; 0: it is not set */
	const char *const *words;       /* ended by NULL */
	frag_set_option *set;
	double low, high;
	const char *unit;       /* NULL: none */
	const char *what;       /* for messages: the number that is required; the input */
};

/* What an option that can be repeated was given. */
struct frag_texts {
	const char **at;
	uint32_t count, capacity;
};

/* The kind and the member of a row; a member of another type does not compile. */
#define FRAG_MEMBER(type, member, is)                                                          \
	(offsetof(type, member) + 0 * sizeof(_Generic(((type *)0)->member, is : 1)))
#define FRAG_FLAG(type, member) .kind = FRAG_OPT_FLAG, .at = FRAG_MEMBER(type, member, bool)
#define FRAG_TEXT(type, member)                                                                \
	.kind = FRAG_OPT_TEXT, .at = FRAG_MEMBER(type, member, const char *)
#define FRAG_SIZE(type, member, least)                                                         \
	.kind = FRAG_OPT_SIZE, .at = FRAG_MEMBER(type, member, uint64_t), .min = (least)
#define FRAG_CAPACITY(type, member)                                                            \
	.kind = FRAG_OPT_CAPACITY, .at = FRAG_MEMBER(type, member, uint64_t)
#define FRAG_COUNT(type, member, least, most)                                                  \
	.kind = FRAG_OPT_COUNT, .at = FRAG_MEMBER(type, member, uint64_t), .min = (least),     \
	.max = (most)
#define FRAG_WORD(type, member, list)                                                          \
	.kind = FRAG_OPT_WORD, .at = FRAG_MEMBER(type, member, int), .words = (list)
#define FRAG_TRUTH(type, member, list, from)                                                   \
	.kind = FRAG_OPT_TRUTH, .at = FRAG_MEMBER(type, member, bool), .words = (list),        \
	.min = (from)
#define FRAG_LIST(type, member)                                                                \
	.kind = FRAG_OPT_LIST, .at = FRAG_MEMBER(type, member, struct frag_texts)
#define FRAG_SECONDS(type, member)                                                             \
	.kind = FRAG_OPT_SECONDS, .at = FRAG_MEMBER(type, member, double)
#define FRAG_NUMBER(type, member, least, most, required)                                       \
	.kind = FRAG_OPT_NUMBER, .at = FRAG_MEMBER(type, member, double), .low = (least),      \
	.high = (most), .what = (required)
#define FRAG_INPUT(type, member, called)                                                       \
	.kind = FRAG_OPT_INPUT, .at = FRAG_MEMBER(type, member, const char *), .what = (called)
#define FRAG_OUTPUT(type, member)                                                              \
	.kind = FRAG_OPT_OUTPUT, .at = FRAG_MEMBER(type, member, const char *)
#define FRAG_CALL(function) .set = (function)
#define FRAG_CALL_AT(type, member, function) .at = offsetof(type, member), .set = (function)

/* Of commands that print colour; main.c takes it in front of a command too. */
#define FRAG_COLOR_ROW                                                                         \
	{ 0, "color", "WHAT", "auto, always or never (auto: on a terminal)",                   \
	  .words = frag_color_words, FRAG_CALL(frag_set_color) }
frag_set_option frag_set_color;
extern const char *const frag_color_words[];

/* An option that only another command has, and what to say of it. */
struct frag_misplaced_option {
	const char *name;       /* NULL ends the table */
	const char *words;
};

/*
 * Options that exclude each other, or that need others. It holds where each term of `when` does,
 * and blanks separate the terms. A term is one alternative, or several with | between them:
 *   NAME          the option was given; `device` is --device-bytes too
 *   NAME=VALUE    its value is this; `device=0` is an unlimited capacity
 *   TRACE         there is an operand; TRACE2, TRACE3: there are two or more, three or more
 *   -             an operand is standard input
 * and ! in front of any of them negates it.
 */
#define FRAG_WHEN_ROOM 160
struct frag_refusal {
	const char *when;       /* shorter than FRAG_WHEN_ROOM; NULL ends the table */
	/* the message; %s: the option of the last term that was given; = in front: no usage line */
	const char *words;
};

/* What a command is for: the groups that help and completion show, in this order; then the others. */
enum frag_cmd_group {
	FRAG_GROUP_FAILURE, FRAG_GROUP_SIZE, FRAG_GROUP_HOLDERS, FRAG_GROUP_CI, FRAG_GROUP_OTHER, FRAG_GROUPS,
	FRAG_GROUP_TRACE = FRAG_GROUPS, FRAG_GROUP_LIST,        /* verbs: of trace, of list */
	FRAG_GROUP_HIDDEN,
};
extern const char *const frag_group_names[FRAG_GROUPS];

struct frag_cmd;
struct frag_format;

/* What the command line has besides the values of options. */
struct frag_args {
	const struct frag_cmd *cmd;
	char **words;           /* the operands */
	uint32_t count;
	const char *line;       /* the command as a shell would read it again */
	int *status;            /* may be raised to an exit status that is no error */
	const struct frag_opt *given[FRAG_GIVEN_MAX];   /* the options, in their order */
	uint32_t given_count;
	void *own;              /* the values of the options */
};

/* What the frame provides before it calls a command. */
enum frag_needs {
	FRAG_NEEDS_TRACE = 1,           /* one operand */
	FRAG_NEEDS_TRACES = 2,          /* one or more */
	FRAG_NEEDS_IN_OUT = 4,          /* two: the trace that is read, and the one that is written, */
	FRAG_NEEDS_INS_OUT = 8,         /* or several that are read */
	FRAG_NEEDS_RUN = 16,            /* its options begin with a struct frag_run_options, or */
	FRAG_NEEDS_ANSWER = 32,         /* with a struct frag_question, and its answer has formats */
	FRAG_NEEDS_PROGRAM = 64,        /* the operands begin with the first: a program's words */
};

struct frag_cmd {
	const char *name;       /* of a verb with its command in front: "trace info" */
	enum frag_cmd_group group;
	enum frag_cmd_group verbs;      /* its verbs are these commands; 0: it has none */
	const char *args;       /* for the usage line */
	const char *summary;    /* one line, no full stop */
	const struct frag_opt *opts;
	const struct frag_misplaced_option *foreign;     /* optional */
	const struct frag_refusal *refusals;    /* likewise; the first that holds is the error */
	unsigned needs;
	const struct frag_format *const *formats;       /* of its answer */
	const char *operand;    /* what messages call the operand; NULL: TRACE */
	size_t size;            /* of its options, which are zeroed, then have the usual values */
	void (*init)(void *own);        /* optional: usual values that no row has */
	/* 0 or -FRAG_E... */
	int (*exec)(void *own, struct frag_args *args, struct frag_error *err);
	const struct frag_question_ops *question;       /* without exec: what the frame calls */
	void (*fini)(void *own);        /* optional; after exec, and where the options are bad */
	/* replaces everything else, if the table of options depends on the operands */
	int (*raw)(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		   struct frag_error *err);
};

/* Reads the command's options, provides what it needs, and calls it. */
int frag_command_run(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		     struct frag_error *err);

/* -FRAG_EUSAGE: one of the refusals holds; NULL: there are none. */
int frag_refuse_options(const struct frag_args *args, const struct frag_refusal *refusals,
		struct frag_error *err);

/* The name of the last option that was given, unless it is one of these; NULL: there is none. */
const char *frag_last_given(const struct frag_args *args, const char *const *except);

/* All commands, in the order of `fragsim -h`: along the path of a user, then all others. */
#define FRAG_COMMANDS(X)                                                                       \
	X(explain) X(record) X(run) X(fit) X(predict) X(leaks) X(ranks) \
	X(diff) X(replay) X(plan) X(sweep) X(verify) X(trace) X(list) X(help)                  \
	X(trace_info) X(trace_convert) X(trace_merge) X(trace_slice) X(trace_shrink)           \
	X(trace_anonymize) X(trace_gen) X(list_policies) X(list_cards) X(list_settings) X(complete)
#define X(name) extern const struct frag_cmd frag_cmd_##name;
FRAG_COMMANDS(X)
#undef X

/* The same, ended by NULL. */
extern const struct frag_cmd *const frag_commands[];

/*
 * The command that the words begin with, and in *taken how many of them name it: one, or two of a
 * verb. A command with verbs is found where no second word is, or an option. NULL and -FRAG_EUSAGE in
 * err where there is none.
 */
const struct frag_cmd *frag_command_find(char *const *words, int count, int *taken, struct frag_error *err);

/* A line for each command of the group: its name, of a verb without its command, and what it does. */
void frag_commands_print(enum frag_cmd_group group, FILE *f);

/* The name of a verb without its command; of another command the whole name. */
const char *frag_command_verb(const struct frag_cmd *cmd);

/*
 * Reads the options of argv into own, which has their usual values first, and moves the operands
 * behind the options. Stores the index of the first operand, or 0 after -h, when no work is left.
 */
int frag_options(const struct frag_cmd *cmd, int argc, char **argv, void *own,
		 struct frag_args *args, int *rest, struct frag_error *err);

/*
 * A warning about how an option is written, which frag_options() prints after the last option,
 * unless one of them is -q.
 */
void frag_option_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Values of options that no row describes, by their names without the dashes. -FRAG_EUSAGE */
#define FRAG_COUNT_MAX ((UINT64_C(1) << 53) - 1)
int frag_option_count(uint64_t *out, const char *name, const char *value, uint64_t min,
		      uint64_t max, struct frag_error *err);
int frag_option_word(int *out, const char *name, const char *value, const char *const *words,
		     struct frag_error *err);
/* Sets the member as the row's kind says. */
int frag_option_set(void *own, const struct frag_opt *o, const char *value, struct frag_error *err);

/* Rows of --device-bytes, worded as the command means it, and --device. */
#define FRAG_TOTAL_ROWS(place, help, without)                                                  \
	{ 0, "device-bytes", "SIZE", (help), .kind = FRAG_OPT_TOTAL, .at = (place),            \
	  .usual = (without) },                                                                \
	{ 0, "device", "CARD",                                                                 \
	  "capacity: a GPU or slice (see fragsim list cards), or a size",                           \
	  .kind = FRAG_OPT_TOTAL, .at = (place), .usual = (without) }

struct frag_support_file {
	const char *file;       /* next to the program, where it was built */
	const char *installed;  /* the folder, from the program's, in which make install puts it */
	const char *variable;   /* of the environment: the path, which goes before both */
};

/* Finds its whole path. -FRAG_EUSAGE: in none of the places, which the message names. */
int frag_find_support_file(const struct frag_support_file *what, char path[PATH_MAX],
			   struct frag_error *err);

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
