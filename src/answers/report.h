/* report.h - what a run did and what a trace is, for people and for programs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "answers/text_style.h"
#include "base/atomic_file.h"
#include "base/json.h"
#include "device/gpu.h"
#include "device/known_cards.h"
#include "events/trace_stats.h"
#include "explain/diagnose_run.h"
#include "fragsim/engine.h"
#include "scope/claim.h"

/* The chart of a run over its steps ------------------------------------------- */

#define FRAG_CHART_MAX 256      /* buckets; when they run out, each counts twice as many steps */

struct frag_chart_stretch {
	uint64_t reserved, allocated;   /* the highest in it */
	double fi_device;
};

struct frag_chart {
	uint32_t count;                 /* buckets in use */
	uint64_t width;                 /* steps in each but the last */
	uint64_t in_last;
	bool opaque;                    /* fi_device is not known */
	struct frag_chart_stretch stretch[FRAG_CHART_MAX];
};

/* Observer; ctx is an array of struct frag_chart, one a device. */
int frag_chart_observe(void *ctx, const struct frag_step *step, struct frag_error *err);

/* "fits", or which part of its program fits; and the same as the head of an answer. */
const char *frag_fits_words(const struct frag_scope *scope);
const char *frag_fits_head(const struct frag_scope *scope);

/* The report of a run --------------------------------------------------------- */

/* A run with the chart that watched it. */
struct frag_report_run {
	const struct frag_result *result;
	const struct frag_chart *chart; /* may be NULL */
};

/* Runs whose failure has details, unless all is shown. */
#define FRAG_REPORT_FAILED_MAX 3

struct frag_report {
	const struct frag_trace_info *trace;
	const struct frag_report_run *runs;     /* policy by policy, device by device */
	uint32_t run_count;
	bool summary;           /* with PyTorch's table under a policy that keeps statistics */
	bool verbose;           /* with the tables after the diagnosis */
	bool by_default;        /* the policy was chosen by the trace, not by an option */
	bool stacks;            /* with the stacks of tags, where they are known */
	const struct frag_diagnosis *answers;      /* one a run; NULL: not computed */
	bool cut_short;         /* the search for them was interrupted */
	struct frag_text_style to;
	const struct frag_gpu_figures *gpu;     /* of a replay on one; NULL: none */
};

/* A line: what a run's device is; for the text reports of `run` and `diff`. */
void frag_report_device(const struct frag_result *run, const char *indent, FILE *f);

/* The text report of `run`. */
void frag_report_text(const struct frag_report *report);

struct frag_snapshot;
struct frag_verification;

/* The version of PyTorch that recorded it, as "2.8", and the evidence; version NULL: unknown. */
struct frag_recorded_by {
	const char *version, *why;
};

/* What a trace contains. */
struct frag_trace_facts {
	const struct frag_survey *survey;
	const struct frag_trace_info *trace;
	const struct frag_snapshot *snapshot;   /* its source; NULL if it is none */
	const struct frag_result *runs; /* of it, one a device, as it was recorded; or NULL */
	struct frag_recorded_by by;
};
void frag_report_info(const struct frag_trace_facts *facts, FILE *f);
/* facts: a struct frag_trace_facts */
int frag_report_info_json(void *facts, struct frag_outfile *out, struct frag_error *err);
extern const struct frag_document_type frag_info_document;

/* The scores of a verification, then the first differences with the log around them. */
void frag_report_verdict(const struct frag_verification *v, const struct frag_trace *trace,
			 const char *settings, FILE *f);

/* Rows of the report ---------------------------------------------------------- */

#define FRAG_RUN_NAME_ROOM 600  /* a policy as it was written, and a device */
/* The name of a run among several; in buf. */
const char *frag_report_name(const struct frag_report *r, const struct frag_result *run,
			     char buf[FRAG_RUN_NAME_ROOM]);
#define REPORT_NAME(r, run) frag_report_name((r), (run), (char[FRAG_RUN_NAME_ROOM]){ 0 })

/*
 * The width of the first column of tables: that of the longest name, at least `min`, and at most
 * the columns that the terminal leaves after those of the values.
 */
static inline int frag_name_width(const struct frag_report *r, size_t min, size_t figures)
{
	size_t longest = 0;

	for (uint32_t i = 0; i < r->run_count; i++)
		frag_note_longest(&longest, REPORT_NAME(r, r->runs[i].result));
	return frag_name_column(longest, min, figures, r->to.columns);
}

/*
 * The verdict: whether the runs fit; for a single run also its requirement, the cause of its OOM
 * and a setting that fits. Shorter where the report has no diagnosis.
 */
void frag_print_verdict(const struct frag_report *r);

/* A row for each run, its status first, and one for each other setting that was simulated. */
void frag_print_settings(const struct frag_report *r);

/* What is to be known of each run that failed, or of the peak of a single one that did not. */
void frag_print_details(const struct frag_report *r);

/*
 * Does a run have rows about another setting? Not where another run on the same device fits: a
 * comparison of settings contains its alternatives already.
 */
bool frag_report_has_fix(const struct frag_report_run *runs, uint32_t count, uint32_t i);

/* The failures that were recorded, where there are several, and `more`. */
void frag_put_failures(const struct frag_text_style *to, const struct frag_recorded_failures *f,
		       const char *more);
#define FRAG_OOM_ADVICE_ROOM 512
/* Why the request failed, with the state of memory; in buf, which is returned. */
const char *frag_oom_advice(const struct frag_oom *oom, char buf[FRAG_OOM_ADVICE_ROOM]);

#define FRAG_BEGINNING_ROOM 700
/*
 * That the device cannot hold what is live before the first event; or, where it can, that its
 * segments do not fit and the run begins without them. Of several runs on one device the first
 * tells the former, each the latter. False: there is nothing to be told.
 */
bool frag_beginning_text(const struct frag_result *run, bool first, char buf[FRAG_BEGINNING_ROOM]);

#define FRAG_WORST_MAX 5

/*
 * The indexes of the elements with the highest value, earlier ones before later
 * ones of equals; how many they are.
 */
uint32_t frag_top_indexes(uint32_t worst[FRAG_WORST_MAX], const void *list, uint32_t count,
			  double (*value)(const void *list, uint32_t i));
