/*
 * answer_page.h - the page of an answer: the answer as printed, and the runs that it rests on, drawn.
 *
 * A command that simulates has the runs, and lets a drawing watch them. For one that searches they
 * are simulated again.
 */
#pragma once

#include "answers/page_write.h"
#include "answers/table.h"
#include "cmd/loaded_trace.h"
#include "explain/diagnose_run.h"

/* A page of the runs of a trace: who watches them, and what is made of it. */
struct frag_html_page {
	struct frag_page *pages;        /* one a policy */
	uint32_t count;
};

/* Of these policies. -FRAG_EUSAGE: more than a page shows. */
int frag_drawing_init(struct frag_html_page *d, uint32_t policies, struct frag_error *err);
/* After the last event, before the simulations are retired. */
int frag_drawing_end(struct frag_html_page *d, struct frag_error *err);
/*
 * At last, the section of a trace: the caller fills in `made`, except its pages. tape: where iterations are searched for
 * unless `made` has leaks; NULL: nowhere.
 */
int frag_drawing_section(struct frag_html_page *d, struct frag_page_trace *made,
			 const struct frag_tape *tape, struct frag_page_section *section,
			 struct frag_error *err);
void frag_drawing_fini(struct frag_html_page *d);

/* Fills in one run a policy and device, in this order, and returns how many there are. */
uint32_t frag_report_runs_of(struct frag_report_run *runs, struct frag_sim *const *sims,
			     uint32_t count, bool interrupted);

struct frag_answer_page {
	const char *path;               /* of the page; NULL: there is none */
	const char *command;            /* as a shell would read it again; borrowed */
	struct frag_page_section *sections;     /* one a trace that was drawn */
	uint32_t count, capacity;
	const char *const *paths;       /* of the traces; borrowed */
	uint32_t path_count;
	const struct frag_format *text; /* the answer as text, and its data; borrowed */
	struct frag_memory curve;       /* more JSON for a picture; text NULL: nothing. Owned */
	const struct frag_format *json; /* as a document, for pictures where no run is drawn; NULL: none */
	const void *what;
	bool bad;                       /* the answer reports a problem */
	bool beside;                    /* its sections share the axes of their timelines */
};

/* The runs of one trace, which is borrowed. */
struct frag_redrawn {
	const struct frag_loaded_trace *taped;
	struct frag_html_page drawing;
	const struct frag_sim_options *sim; /* what happens at an out-of-memory; NULL: as usual */
	struct frag_sim *sims[FRAG_PAGE_POLICIES_MAX];
	uint32_t sim_count;
	uint64_t look;                  /* the step that is inspected; UINT64_MAX: the peak */
	const struct frag_diagnosis *answer;    /* of the first; the next has its fix. NULL: none */
	const struct frag_leaks *leaks; /* optional: its iterations and leaks; else they are searched for */
	const struct frag_fits *fits;   /* optional: the devices on which they fit */
	uint32_t source;                /* the trace's number */
};

/* x must be released, also where this fails. */
int frag_redrawn_init(struct frag_redrawn *x, const struct frag_loaded_trace *taped,
		      struct frag_error *err);
void frag_redrawn_fini(struct frag_redrawn *x);

/*
 * Simulates one more run to its end. A report draws the first FRAG_PAGE_POLICIES_MAX runs; later
 * calls do nothing. -FRAG_EINTERRUPTED, -FRAG_ENOMEM, or a failure of the policy.
 */
int frag_redrawn_run(struct frag_redrawn *x, const struct frag_choice *choice,
		     const struct frag_device_figures *devices, struct frag_error *err);

/*
 * The runs of a trace as one section: those that `draw` simulates, or where it is NULL the policies
 * of the trace on its devices. source: its number. -FRAG_EINTERRUPTED, -FRAG_ENOMEM
 */
typedef int frag_draw(void *ctx, struct frag_redrawn *x, struct frag_error *err);
int frag_answer_page_draw(struct frag_answer_page *r, const struct frag_loaded_trace *taped,
			  uint32_t source, frag_draw *draw, void *ctx, struct frag_error *err);

/* As it stands in a table of formats: what is a struct frag_answer_page. */
extern const struct frag_format frag_redraw_page;
