/* ranks_formats.h - what fragsim ranks found, in every form. */
#ifndef REPORT_RANKS_FORMATS_H
#define REPORT_RANKS_FORMATS_H

#include "documents/documents.h"
#include "report/formats.h"

/* For struct frag_ranks_answer: text, csv, json, markdown. */
extern const struct frag_format *const frag_ranks_formats[];

/* The one for people. */
extern const struct frag_format frag_ranks_text;

#define FRAG_APART_ROOM 64
/* By which figures a row stands out: "reserved lost oom"; "" where it does not. */
const char *frag_apart_text(const struct frag_ranked *row, const char *between,
			    char buf[FRAG_APART_ROOM]);

#endif
