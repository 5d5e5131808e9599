/* page_write.h - a report as one HTML file that needs nothing else, and its picture alone. */
#pragma once

#include <stdio.h>

#include "base/json.h"
#include "html_report/page.h"
#include "iterations/leak_detect.h"
#include "search/fit_all.h"
#include "answers/report.h"

/* A trace under one or more policies. */
struct frag_page_trace {
	const struct frag_report *report;
	struct frag_page *pages;        /* one a policy; their areas become fewer */
	uint32_t page_count;
	const struct frag_symbols *symbols;     /* of the stacks */
	const struct frag_tape *tape;   /* its events; NULL: they are not in memory */
	const struct frag_leaks *leaks; /* NULL: no iterations were found */
	uint64_t look;                  /* the step to begin with; UINT64_MAX: the peak */
	const struct frag_fits *fits;   /* on which devices its policies fit; NULL: unknown */
	uint32_t source;                /* the trace's number there */
	bool silent;                    /* what is said of it is in the page's own answer */
	const struct frag_page *cured;  /* a single run with its fix; NULL: none */
	const struct frag_result *cured_runs;   /* of that, one a device */
};

/* Prints the facts of a trace as one JSON object. -FRAG_ENOMEM, -FRAG_EOUTPUT */
int frag_page_facts(struct frag_page_trace *trace, FILE *f, struct frag_error *err);

#define FRAG_PAGE_POLICIES_MAX 6

/* What was made of one trace, as texts. */
struct frag_page_section {
	char *path, *facts, *numbers, *verdict, *panels;
	uint32_t panel_count;
	double badness;         /* how bad it is: the worst comes first */
};

/* One that is zeroed is fine for fini. -FRAG_ENOMEM */
int frag_page_section_init(struct frag_page_section *section, struct frag_page_trace *trace,
			   struct frag_error *err);
void frag_page_section_fini(struct frag_page_section *section);

/* What a page says first, where its sections do not say it themselves. */
struct frag_page_answer {
	char *text;             /* its first line is a heading; traces lose their folders in it */
	char *document;         /* the answer as JSON, which pictures show; traces lose their folders in it. NULL: none */
	const char *curve;      /* JSON that a picture shows, too; NULL: none */
	const char *const *paths;       /* of the traces */
	uint32_t path_count;
	bool bad;               /* as an out-of-memory is */
	bool beside;            /* OLD and NEW: timelines on one axis, in this order */
};

/*
 * Sorts them, and prints the page; command: as it was typed; answer: NULL where there is none.
 * -FRAG_ENOMEM
 */
int frag_page_print(struct frag_page_section *sections, uint32_t count, const char *command,
		    const struct frag_page_answer *answer, FILE *f, struct frag_error *err);
/* The same to a file, without an answer. command NULL: its picture alone, as SVG. */
int frag_page_write(struct frag_page_section *sections, uint32_t count, const char *command,
		    struct frag_outfile *out, struct frag_error *err);
