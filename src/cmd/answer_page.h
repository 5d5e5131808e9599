/*
 * answer_page.h - the HTML report of a command that searches: it contains the answer as printed,
 * and draws the runs behind the answer, which are simulated again for it.
 */
#ifndef CMD_ANSWER_PAGE_H
#define CMD_ANSWER_PAGE_H

#include "answers/page_write.h"
#include "answers/table.h"
#include "cmd/loaded_trace.h"

/* A page of the runs of a trace: who watches them, and what is made of it. */
struct frag_html_page {
	struct frag_page *pages;        /* one a policy */
	uint32_t count;
};

/* Allocates a drawing of `policies` policies. -FRAG_EUSAGE: too many for a report. -FRAG_ENOMEM */
int frag_drawing_room(struct frag_html_page *drawing, uint32_t policies, struct frag_error *err);

/* The next policy's simulation is watched. -FRAG_ENOMEM, as below. */
int frag_drawing_watch(struct frag_html_page *drawing, struct frag_sim *sim, uint32_t devices,
		       struct frag_error *err);

/* After the last step, before the simulations are retired. */
int frag_drawing_end(struct frag_html_page *drawing, struct frag_error *err);

/*
 * At last, the section of a trace: the caller fills in `made`, except its pages and leaks. tape:
 * where iterations are searched for; NULL: nowhere.
 */
int frag_drawing_make(struct frag_html_page *drawing, struct frag_page_trace *made,
		      const struct frag_tape *tape, struct frag_page_section *section,
		      struct frag_error *err);

/* Fills in one run a policy and device, in this order, and returns how many there are. */
uint32_t frag_report_runs(struct frag_report_run *runs, struct frag_sim *const *sims,
			  uint32_t count, bool interrupted);

void frag_drawing_fini(struct frag_html_page *drawing);   /* a zeroed one is valid */

struct frag_answer_page {
	const char *path;               /* of the page; NULL: there is none */
	const char *command;            /* as a shell would read it again; borrowed */
	struct frag_page_section *sections;     /* one a trace that was drawn */
	uint32_t count, room;
	const char *const *paths;       /* of the traces; borrowed */
	uint32_t path_count;
	const struct frag_format *text; /* the answer as text, and its data; borrowed */
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
	const struct frag_fits *fits;   /* optional: the devices on which they fit */
	uint32_t source;
};

/* Allocates the sections of `traces` traces. -FRAG_ENOMEM */
int frag_redraw_room(struct frag_answer_page *r, uint32_t traces, struct frag_error *err);
void frag_redraw_fini(struct frag_answer_page *r);

/* Of one trace; x must be released, also where this fails. -FRAG_ENOMEM */
int frag_redrawn_begin(struct frag_redrawn *x, const struct frag_loaded_trace *taped,
		       struct frag_error *err);
/*
 * Simulates one more run to its end. A report draws the first FRAG_PAGE_POLICIES_MAX runs; later
 * calls do nothing. -FRAG_EINTERRUPTED, -FRAG_ENOMEM, or a failure of the policy.
 */
int frag_redrawn_run(struct frag_redrawn *x, const struct frag_choice *choice,
		     const struct frag_device_figures *devices, struct frag_error *err);
/* After the last one: it becomes a section. -FRAG_ENOMEM */
int frag_redrawn_end(struct frag_redrawn *x, struct frag_answer_page *r, struct frag_error *err);
void frag_redrawn_fini(struct frag_redrawn *x);

/* These policies on the devices of the trace, as one section. -FRAG_EINTERRUPTED, -FRAG_ENOMEM */
int frag_answer_page_draw(struct frag_answer_page *r, const struct frag_loaded_trace *taped,
			  struct frag_error *err);

/* As it stands in a table of formats: what is a struct frag_answer_page. */
extern const struct frag_format frag_redraw_page;

#endif
