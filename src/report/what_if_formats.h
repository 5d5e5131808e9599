/* what_if_formats.h - what fragsim what-if found, in every form. */
#ifndef REPORT_WHAT_IF_FORMATS_H
#define REPORT_WHAT_IF_FORMATS_H

#include "documents/documents.h"
#include "report/formats.h"

/* For struct frag_what_if_answer: text, csv, json, markdown. */
extern const struct frag_format *const frag_what_if_formats[];

/* The one for people. */
extern const struct frag_format frag_what_if_text;

/* "-12.8 %" of a before and an after; "" where that cannot be told. */
#define FRAG_SHIFT_ROOM 32
const char *frag_shift_text(char buf[FRAG_SHIFT_ROOM], uint64_t before, uint64_t after);

/* What of one policy on one device is compared, in this order; UINT64_MAX: not known. */
#define FRAG_WHAT_IF_ROWS 3
extern const char *const frag_what_if_rows[FRAG_WHAT_IF_ROWS];
uint64_t frag_what_if_figure(const struct frag_fitted *one, uint32_t row);

#endif
