/* plan_answer.h - what fragsim plan found, and its formats: fragsim-plan(1). */
#pragma once

#include "answers/table.h"
#include "base/atomic_file.h"
#include "plan/plan.h"
#include "search/fit_all.h"

/* A plan as a file, JSON or the CSV of google/minimalloc; the file is finished. */
int frag_plan_write(const struct frag_plan *plan, bool csv, struct frag_outfile *out,
		    struct frag_error *err);

struct frag_plan_answer {
	const struct frag_trace_info *trace;
	const struct frag_plan *plan;
	const struct frag_fits *fits;   /* of policies, to compare; NULL: none */
	const struct frag_device_figures *devices;      /* those of the options */
	struct frag_stretch_marks marks;
	uint64_t capacity;              /* that it is to have; UINT64_MAX: none */
	const char *checked;            /* the file that it is from; NULL: it was searched for */
	const char *ended_by; /* "budget", "time", "interrupt"; NULL: the plan is complete */
	bool timed;                     /* the policies were ended by the clock */
};

extern const struct frag_format *const frag_plan_formats[];
extern const struct frag_document_type frag_placement_document, frag_plan_document;
