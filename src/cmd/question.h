/*
 * question.h - a command that reads traces, looks for something in their tapes, and prints what it
 * found: the steps that all of these take, in their order, and what each adds.
 */
#ifndef CMD_QUESTION_H
#define CMD_QUESTION_H

#include "cmd/command.h"
#include "cmd/interrupt.h"
#include "cmd/output_formats.h"
#include "cmd/progress.h"
#include "cmd/answer_page.h"
#include "cmd/loaded_trace.h"

/* The first member of a command's own. */
struct frag_question {
	const struct frag_question_ops *ops;
	struct frag_run_options run;
	struct frag_answer_output printed;
	struct frag_answer_page redraw;      /* of the page, where there is --html */
	struct frag_progress progress;
	const char *const *paths;       /* one a trace */
	uint32_t count;
	struct frag_loaded_trace *taped;       /* likewise */
	struct frag_fit_source *sources;        /* likewise */
	const struct frag_trace_info **traces;  /* likewise */
	int *status;
	bool interrupted; /* by a signal, or */
	bool time_up;	  /* as the time was up: both mean not complete */
};

/* Each is given the question; 0 or -FRAG_E... All but search and print are optional. */
struct frag_question_ops {
	const char *unit;               /* what the progress counts */
	const struct frag_format *const *formats;
	int (*set)(void *ctx, int id, const char *value, struct frag_error *err);
	/* the options; the second once it is known that outputs and inputs are apart */
	int (*check)(struct frag_question *q, const struct frag_cmd *cmd, struct frag_error *err);
	int (*prepare)(struct frag_question *q, struct frag_error *err);
	frag_usual *usual;             /* choices, where the options have none */
	/* -FRAG_EINTERRUPTED: what is known until then is printed */
	int (*search)(struct frag_question *q, struct frag_error *err);
	/* a section of the page, of each trace */
	int (*draw)(struct frag_question *q, struct frag_redrawn *x, uint32_t source,
		    struct frag_error *err);
	/* the answer, by frag_question_answer(); and *status */
	int (*print)(struct frag_question *q, struct frag_error *err);
	void (*fini)(struct frag_question *q);
};

/* For exec of a command. */
int frag_question_run(struct frag_question *q, const struct frag_cmd *cmd, int argc, char **argv,
		      int *status, struct frag_error *err);

/* What they found, in all forms that were asked for. */
int frag_question_answer(struct frag_question *q, const void *answer, struct frag_error *err);

/* For the progress of a search. */
void frag_question_progress(void *q, uint32_t done, uint32_t count);

#endif
