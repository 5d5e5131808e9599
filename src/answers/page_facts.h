/* page_facts.h - the facts of a trace's runs, as the script of a page reads them. */
#ifndef ANSWERS_PAGE_FACTS_H
#define ANSWERS_PAGE_FACTS_H

#include <stdio.h>

#include "iterations/leak_detect.h"
#include "html_report/page.h"
#include "answers/page_pack.h"
#include "answers/report.h"
#include "search/fit_all.h"

/* A trace under one or more policies. */
struct frag_page_trace {
	const struct frag_report *report;
	struct frag_page *pages;        /* one a policy; their areas become fewer */
	uint32_t page_count;
	const struct frag_symbols *symbols;     /* of the stacks */
	const struct frag_leaks *leaks; /* NULL: no iterations were found */
	uint64_t look;                  /* the step to begin with; UINT64_MAX: the peak */
	const struct frag_fits *fits;   /* on which devices its policies survive; NULL: who knows */
	uint32_t source;                /* the trace's number there */
	bool silent;                    /* what is said of it is in the page's own answer */
};

/* Prints them as one object of JSON. -FRAG_ENOMEM, -FRAG_EOUTPUT */
int frag_page_facts(struct frag_page_trace *trace, FILE *f, struct frag_error *err);

#endif
