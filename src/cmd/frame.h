/*
 * frame.h - a command that reads traces, searches in their tapes, and prints an answer: the steps that
 * all of these take, in their order, and the options that all of them have.
 */
#pragma once

#include "cmd/answer_output.h"
#include "cmd/command.h"
#include "cmd/run_options.h"
#include "cmd/progress.h"
#include "cmd/session.h"
#include "cmd/transform_trace.h"
#include "scope/claim.h"

/* The conditions of --fail-if, on the values of one command. */
struct frag_conditions {
	struct {
		struct frag_condition condition;
		struct frag_checked checked;
	} *of;
	uint32_t count, capacity;
	const char *const *paths;       /* what they may be about, ended by NULL */
	char who[200];                  /* the last that was judged */
};

/* One more, of a row: at is the conditions, words the paths, which all of them have. */
frag_set_option frag_conditions_set;

/* As a value that is judged: INFINITY for UINT64_MAX. */
double frag_bytes_or_none(uint64_t bytes);

/* The first member of a command's options. */
struct frag_question {
	struct frag_run_options run;    /* the first member, as the rows of a run require */
	struct frag_answer_output printed;
	struct frag_conditions conditions;      /* of --fail-if */
	struct frag_rewrite rewrite;    /* the format of the trace that is written to */
	const char *out;                /* this file; NULL: none is */
	const char *extra_path;         /* of a further output, which `print` writes; NULL: none */
	struct frag_outfile extra;      /* opened after `open`, committed with the answer */
	const struct frag_question_ops *ops;
	const struct frag_cmd *cmd;
	struct frag_answer_page redraw;      /* of the page, of -o FILE.html */
	struct frag_progress progress;
	struct frag_taped_reading reading;      /* what the frame reads of the traces */
	const char *const *paths;       /* one a trace */
	uint32_t count;
	const char *grid;               /* a file of settings that is read, too; NULL: none */
	bool is_read;                   /* something reads the answer: not only a trace is written */
	/* one a trace, where the command does not read them itself: */
	struct frag_loaded_trace *taped;
	struct frag_fit_source *sources;
	const struct frag_trace_info **traces;
	uint32_t *iterations;   /* of frag_question_iterations() */
	int *status;
	bool interrupted; /* by a signal, or */
	bool time_up;	  /* because --time is over: both mean an incomplete answer */
};

/* Each gets the question, returns 0 or -FRAG_E..., and is optional, except search and print. */
struct frag_question_ops {
	const char *unit;               /* what the progress counts */
	const char *input;              /* what messages call a trace; NULL: the trace */
	bool whole;                     /* a search that a signal ends has no answer */
	bool one_policy;                /* it takes one policy, of one setting */
	bool reads;                     /* the search reads the traces itself */
	const struct frag_format *const *formats;       /* instead of the command's; they have
							 * the names that options give */
	/* checks the options, and says in q->reading what is read */
	int (*check)(struct frag_question *q, struct frag_error *err);
	/* makes the choices, instead of frag_run_settings() */
	int (*choose)(struct frag_question *q, struct frag_error *err);
	frag_usual *usual;              /* choices, where the options have none */
	/* opens the traces, before the outputs, and reads them after, instead of the frame;
	 * sink: of the trace that is written, except its end; or NULL */
	int (*open)(struct frag_question *q, struct frag_error *err);
	int (*read)(struct frag_question *q, struct frag_sink *sink, struct frag_error *err);
	/* -FRAG_EINTERRUPTED: the results so far are printed */
	int (*search)(struct frag_question *q, struct frag_error *err);
	/* draws a section of the page, for each trace; ctx is the question */
	frag_draw *draw;
	/* prints the answer, by frag_question_answer(), and sets *status */
	int (*print)(struct frag_question *q, struct frag_error *err);
	/* then, unless a signal ended the search, judges the conditions */
	void (*judge)(struct frag_question *q);
};

/* The inputs and outputs again, once the traces are others than the operands. -FRAG_EUSAGE */
int frag_question_check_files(struct frag_question *q, struct frag_error *err);

/* The exec of such a command. */
int frag_question_run(struct frag_question *q, const struct frag_question_ops *ops,
		      const struct frag_args *args, struct frag_error *err);

/* Releases what it has read and opened; zeroed is fine. */
void frag_question_fini(struct frag_question *q);

/* Reads a trace a second time, without its warnings. Close it also where this fails. */
int frag_question_read_again(const struct frag_question *q, uint32_t i, frag_usual *usual,
			     bool capacity, struct frag_loaded_trace *taped,
			     struct frag_error *err);

/* Counts the iterations of each trace, which an answer about it names: *counts is the question's. */
int frag_question_iterations(struct frag_question *q, const uint32_t **counts,
			     struct frag_error *err);

/* Is the answer written as JSON? */
bool frag_question_has_document(const struct frag_question *q);

/* Prints the answer in each format that the options name. */
int frag_question_answer(struct frag_question *q, const void *answer, struct frag_error *err);

/*
 * Judges the conditions by the values, one a path; INFINITY: there is none, however large; NAN:
 * conditions on it are of something else. at_least: NULL, or one a path too: NAN, or the recording is
 * a part, the value that of the part, and this is known of its program. *status becomes 1 where a
 * condition holds or cannot be judged, and each such is a line on standard error that begins with
 * `who`. A condition that was never judged, as there is nothing of its kind, is a no, too; what was
 * judged is a line where no condition holds.
 */
void frag_question_judge(struct frag_question *q, const double *values, const double *at_least,
			 const char *who, ...) __attribute__((format(printf, 4, 5)));

/* Of a path: NAN where the claim is exact. */
double frag_at_least_or_none(const struct frag_claim *claim);

/* The job of a search: when to stop, how many threads; its progress counts what the question does. */
struct frag_job frag_question_job(struct frag_question *q, bool (*stop)(void *ctx));

/* Rows of a table of options: how an answer is printed; */
#define FRAG_FORMAT_ROW(help) { 0, "format", "FORMAT", help, FRAG_CALL(frag_question_set_format) }
#define FRAG_FORMAT_HELP "text, markdown, json, csv or html (text)"
#define FRAG_OUTPUT_ROW(help)                                                                  \
	{ 'o', "output", "FILE", help, FRAG_CALL(frag_question_set_output) }
#define FRAG_TOP_ROW(help) { 0, "top", "N", help, FRAG_CALL(frag_question_set_top) }
#define FRAG_TOP_HELP "rows of each list in JSON and Markdown, or all (as 12 KiB hold)"
#define FRAG_JSON_ROW(help) { 0, "json", "FILE", help, FRAG_CALL(frag_question_set_json) }
#define FRAG_FAIL_IF_ROW(help, paths)                                                          \
	{ 0, "fail-if", "CONDITION", help, .words = (paths),                                   \
	  FRAG_CALL_AT(struct frag_question, conditions, frag_conditions_set) }
/* and what all have that simulate traces on one device or several. */
#define FRAG_SIMULATION_ROWS                                                                   \
	FRAG_COLOR_ROW, FRAG_QUIET_ROW("no text, warnings or progress"), FRAG_LENIENT_ROW,  \
	FRAG_PROFILE_ROW, FRAG_DEVICE_ROWS
#define FRAG_ANSWER_ROWS                                                                       \
	FRAG_FORMAT_ROW(FRAG_FORMAT_HELP),                                                     \
	FRAG_OUTPUT_ROW("write it to a file too, .txt, .md, .json, .csv or .html; repeatable"),       \
	FRAG_JSON_ROW("write it as JSON (- is standard output)"), FRAG_SIMULATION_ROWS
/* Of what searches: fit and predict. */
#define FRAG_SEARCH_ROWS                                                                       \
	FRAG_TOP_ROW(FRAG_TOP_HELP), FRAG_ANSWER_ROWS, FRAG_TIME_ROW,           \
	FRAG_SEARCH_THREADS_ROW
frag_set_option frag_question_set_format, frag_question_set_json, frag_question_set_output,
	frag_question_set_top;

/* Rows of a list in the text: N of --top, or without the option the usual number. */
uint32_t frag_question_top(const struct frag_question *q, uint32_t usual);
