/* what_if_answer.h - what fragsim what-if found, and its formats: fragsim-what-if(1). */
#pragma once

#include "answers/table.h"
#include "fragsim/trace.h"
#include "search/fit_all.h"

struct frag_what_if_answer {
	const struct frag_trace_info *trace;    /* unchanged */
	uint64_t events;                        /* of the changed one */
	const char *const *changes;             /* as they were given, in their order */
	uint32_t change_count;
	const struct frag_fits *fits;           /* of two sources: unchanged, changed */
	bool interrupted, time_up;		/* as of a fit */
};

extern const struct frag_format *const frag_what_if_formats[];
extern const struct frag_document_type frag_what_if_document;
