/* answers.h - what the commands that look for something found, in every form. */
#ifndef ANSWERS_ANSWERS_H
#define ANSWERS_ANSWERS_H

#include "documents/documents.h"
#include "answers/formats.h"
#include "search/trace_change.h"

/* Each for the struct of its name in documents.h: text, csv, json, markdown. */
extern const struct frag_format *const frag_change_formats[];   /* for a struct frag_change_found */
extern const struct frag_format *const frag_extrapolate_formats[];
extern const struct frag_format *const frag_fit_formats[];
extern const struct frag_format *const frag_leaks_formats[];
extern const struct frag_format *const frag_plan_formats[];
extern const struct frag_format *const frag_ranks_formats[];
extern const struct frag_format *const frag_tune_formats[];
extern const struct frag_format *const frag_what_if_formats[];

#endif
