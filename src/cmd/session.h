/*
 * session.h - what run, report and replay do alike: files, answers, report, exit status.
 */
#pragma once

#include "answers/table.h"
#include "cmd/answer_page.h"
#include "cmd/loaded_trace.h"
#include "explain/diagnose_run.h"

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

struct frag_session {
	const struct frag_run_options *options;         /* borrowed */
	struct frag_loaded_trace traced;        /* of frag_session_simulate(), as are the next */
	struct frag_taped_reading reading;      /* also the progress of a replay */
	bool draws;                             /* a page is made of it, */
	struct frag_html_page drawing;
	struct frag_page_section section;       /* this one */
	const char *command;                    /* of the page; borrowed */
	struct frag_sim **sims;         /* one a policy, as the choices; each is borrowed */
	const struct frag_choice **choices;
	uint32_t sim_count;
	uint32_t device_count;
	struct frag_chart *charts;      /* one a run: policy by policy, device by device */
	struct frag_report_run *runs;
	struct frag_diagnosis *answers; /* one a run; NULL: not requested */
	struct frag_claim *claims;      /* likewise; NULL: no document, or no tape */
	uint32_t run_count;
	bool cut_short;                         /* the search for them was interrupted */
	struct frag_tape_writer *writer;        /* while the trace is read */
	struct frag_gpu_figures gpu;    /* of the first GPU of a replay */
	struct frag_stream steps, placements;
	struct frag_outfile json, html, svg, profile;        /* zeroed where they are not open */
};

/* Checks the names of the files. Reads the profile. -FRAG_EUSAGE */
int frag_session_begin(struct frag_session *s, struct frag_run_options *options,
		       struct frag_error *err);

/*
 * The next simulation of as many policies, on as many devices each; a chart watches it where there
 * is a report. With the last of them the files are opened, and all write their rows. Those of the
 * session's own trace are the session's, also after a failure; others are borrowed.
 */
int frag_session_add(struct frag_session *s, struct frag_sim *sim, const struct frag_choice *choice,
		     uint32_t policies, uint32_t devices, struct frag_error *err);

/*
 * All of this, then simulates the trace, and looks for the answers to all runs: for an HTML
 * report, or without --quiet for a text report or a result object. -FRAG_EINTERRUPTED: where there
 * are runs, they are good.
 */
int frag_session_simulate(struct frag_session *s, const char *path, struct frag_error *err);

/* After the ends of the simulations: writes and prints all, and sets *status. */
int frag_session_report(struct frag_session *s, const struct frag_trace *trace,
			int *status, struct frag_error *err);

/* Leaves no file behind that was not committed. */
void frag_session_fini(struct frag_session *s);
