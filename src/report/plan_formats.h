/* plan_formats.h - what fragsim plan found, in every form. */
#ifndef REPORT_PLAN_FORMATS_H
#define REPORT_PLAN_FORMATS_H

#include "documents/documents.h"
#include "report/formats.h"

/* For struct frag_plan_answer: text, csv, json, markdown. */
extern const struct frag_format *const frag_plan_formats[];

/* The one for people. */
extern const struct frag_format frag_plan_text;

/* A row of the table: the plan, or a policy beside it. UINT64_MAX: there is no such figure. */
#define FRAG_PLAN_NAME_ROOM 600
struct frag_plan_row_text {
	char name[FRAG_PLAN_NAME_ROOM];
	uint32_t device;
	uint64_t peak, smallest;
	double above_peak_pct, above_smallest_pct;      /* the plan's */
};
/* How many rows there are, and row i: the devices of the plan first. */
uint32_t frag_plan_row_count(const struct frag_plan_answer *a);
void frag_plan_row_look(const struct frag_plan_answer *a, uint32_t i,
			struct frag_plan_row_text *row);

#endif
