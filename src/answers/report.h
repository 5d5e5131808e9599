/* report.h - what a command found, for people and for programs. */
#ifndef ANSWERS_REPORT_H
#define ANSWERS_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/atomic_file.h"
#include "device/known_cards.h"
#include "device/gpu.h"
#include "fragsim/engine.h"
#include "events/trace_stats.h"
#include "answers/chart.h"
#include "search/diagnose_run.h"

/* A run with the chart that watched it. */
struct frag_report_run {
	const struct frag_result *result;
	const struct frag_chart *chart; /* may be NULL */
};

/* Runs whose failure has details, unless all is shown. */
#define FRAG_REPORT_FAILED_MAX 3

struct frag_report {
	const struct frag_trace_info *trace;
	const struct frag_report_run *runs;
	uint32_t run_count;
	bool summary;           /* with PyTorch's table under a policy that keeps statistics */
	bool verbose;           /* the figures after the answers too */
	bool by_default;        /* nobody chose the policy: the trace did */
	bool stacks;            /* of who holds memory, where they are known */
	const struct frag_diagnosis *answers;      /* one a run; NULL: nobody looked for them */
	bool cut_short;         /* the search for them was interrupted */
	bool colour;
	int columns;            /* of the terminal; 0: it is none */
	const struct frag_gpu_figures *gpu;     /* of a replay on one; NULL: none */
};

/* A line: what a run's device is; for the text reports of `run` and `diff`. */
void frag_report_device(const struct frag_result *run, const char *indent, FILE *f);

/* The text report of `run`. */
void frag_report_text(const struct frag_report *report, FILE *f);

/* The table that torch.cuda.memory_summary() prints; the run has statistics. */
void frag_report_pytorch(const struct frag_result *run, FILE *f);

/* Policies, ended by NULL, with their keys. */
void frag_report_policies(const struct frag_policy_ops *const *policies, FILE *f);

/* Cards, ended by NULL: in a table, or the whole of what is known of each. */
void frag_report_cards(const struct frag_card *const *cards, bool whole, FILE *f);

/*
 * What a trace is. snapshot: what it was read from; NULL: no snapshot. by: of describe_snapshot.h.
 */
struct frag_snapshot;
struct frag_recorded_by;
void frag_report_info(const struct frag_survey *survey, const struct frag_trace_info *trace,
		      const struct frag_snapshot *snapshot, const struct frag_recorded_by *by,
		      FILE *f);
int frag_report_info_json(const struct frag_survey *survey, const struct frag_trace_info *trace,
			  const struct frag_snapshot *snapshot, const struct frag_recorded_by *by,
			  struct frag_outfile *out, struct frag_error *err);

#endif
