/* tune_formats.h - what fragsim tune found, in every form. */
#ifndef REPORT_TUNE_FORMATS_H
#define REPORT_TUNE_FORMATS_H

#include "documents/documents.h"
#include "report/formats.h"

/* For struct frag_tune_answer: text, csv, json, markdown. */
extern const struct frag_format *const frag_tune_formats[];

/* The one for people. */
extern const struct frag_format frag_tune_text;

#endif
