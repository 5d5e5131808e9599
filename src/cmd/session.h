/* session.h - what run, report and replay do alike: files, answers, report, exit status. */
#ifndef CMD_SESSION_H
#define CMD_SESSION_H

#include "cmd/output_formats.h"
#include "cmd/progress.h"
#include "cmd/run_options.h"
#include "search/diagnose_run.h"

/* The files that a run writes, and who writes into them. */
/* One kind of rows: a file, and a spool for each policy after the first. */
struct frag_stream {
	const char *path;               /* NULL: not wanted */
	enum frag_rows_form form;
	struct frag_outfile file;
	struct frag_outfile *spools;    /* count - 1 */
	struct frag_rows *rows;         /* count */
	const struct frag_columns *columns;     /* of steps; borrowed */
	uint32_t count;
};

/* A file that is not open is zeroed. */
struct frag_outputs {
	struct frag_stream steps, placements;
	const char *json_path, *html_path, *profile_path;
	struct frag_outfile json, html, profile;
	struct frag_page_section *section;      /* of the page; borrowed, as is the next */
	const char *command;
};

struct frag_session {
	const struct frag_run_options *options;         /* borrowed */
	struct frag_sim **sims;         /* one a policy; each is borrowed */
	uint32_t sim_count;
	uint32_t device_count;
	struct frag_chart *charts;      /* one a run: policy by policy, device by device */
	struct frag_report_run *runs;
	uint32_t run_count;
	bool cut_short;                         /* the search for them was interrupted */
	const struct frag_diagnosis *answers;      /* one a run; borrowed. NULL: not requested */
	struct frag_gpu_figures gpu;    /* of the first GPU of a replay */
	struct frag_outputs outputs;
	struct frag_progress progress;
};

/* Checks the files: each another one, and none the trace. -FRAG_EUSAGE */
int frag_session_begin(struct frag_session *s, const struct frag_run_options *options,
		       const char *path, struct frag_error *err);

/* Allocates the runs of the policies of the options on `devices` devices. */
int frag_session_room(struct frag_session *s, uint32_t devices, struct frag_error *err);

/* The next policy's simulation, which a chart watches where there is a report. */
int frag_session_add(struct frag_session *s, struct frag_sim *sim, struct frag_error *err);

/* All policies are there: opens the files, and lets them be written. */
int frag_session_open(struct frag_session *s, struct frag_error *err);

/* Callbacks for a trace's log and progress; ctx is the session. */
void frag_session_warn(void *ctx, const char *message);
void frag_session_progress(void *ctx, const struct frag_trace_info *info);

/* Collects the results of the simulations, which are over. */
void frag_session_collect(struct frag_session *s, bool interrupted);

/* After frag_session_collect(): writes and prints all, and sets *status. */
int frag_session_report(struct frag_session *s, const struct frag_trace *trace,
			int *status, struct frag_error *err);

/* Leaves no file behind that was not committed. */
void frag_session_fini(struct frag_session *s);

struct frag_answers {
	struct frag_tape_writer *writer;        /* while the trace is read */
	struct frag_tape *tape;                 /* NULL: the trace is too long to be kept */
	struct frag_diagnosis *answer;             /* one a run */
	uint32_t count;
	struct frag_trials trials;
};

/*
 * Keeps the trace's events, if they are not too many, for an HTML report, or without --quiet for
 * a text report or a result object. -FRAG_ENOMEM
 */
int frag_answers_begin(struct frag_answers *answers, const struct frag_session *s,
		       const struct frag_trace *trace, struct frag_error *err);

/*
 * Looks for the answers to all runs, whose simulations are over and are retired, and gives them
 * to the session's report and result. -FRAG_ENOMEM, -FRAG_EINTERRUPTED
 */
int frag_answers_find(struct frag_answers *answers, struct frag_session *s,
		      const struct frag_sim_options *options, struct frag_error *err);

void frag_answers_fini(struct frag_answers *answers);   /* a zeroed one is valid */

#endif
