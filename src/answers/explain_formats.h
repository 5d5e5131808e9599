/* explain_formats.h - what fragsim explain found in a trace, in every form. */
#ifndef ANSWERS_EXPLAIN_FORMATS_H
#define ANSWERS_EXPLAIN_FORMATS_H

#include "documents/documents.h"
#include "answers/formats.h"

/* For struct frag_explain_answer: text, json. */
extern const struct frag_format *const frag_explain_formats[];

#endif
