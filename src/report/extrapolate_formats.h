/* extrapolate_formats.h - what fragsim extrapolate found, in every form. */
#ifndef REPORT_EXTRAPOLATE_FORMATS_H
#define REPORT_EXTRAPOLATE_FORMATS_H

#include "documents/documents.h"
#include "report/formats.h"

/* For struct frag_extrapolate_answer: text, csv, json, markdown. */
extern const struct frag_format *const frag_extrapolate_formats[];

/* The one for people. */
extern const struct frag_format frag_extrapolate_text;

#endif
