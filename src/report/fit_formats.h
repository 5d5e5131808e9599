/* fit_formats.h - what fragsim fit found, in every form. */
#ifndef REPORT_FIT_FORMATS_H
#define REPORT_FIT_FORMATS_H

#include "documents/documents.h"
#include "report/formats.h"

/* For struct frag_fit_answer: text, csv, json, markdown. */
extern const struct frag_format *const frag_fit_formats[];

/* The one for people. */
extern const struct frag_format frag_fit_text;

#endif
