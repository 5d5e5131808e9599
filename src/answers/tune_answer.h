/* tune_answer.h - what fragsim tune found, and its formats: fragsim-tune(1). */
#pragma once

#include "answers/table.h"
#include "fragsim/trace.h"
#include "search/tune_search.h"

struct frag_tune_answer {
	const struct frag_trace_info *const *traces;    /* one a source, tests behind the others */
	const struct frag_tune *tune;
	const uint32_t *iterations;     /* of each trace; 0: none were found */
	const char *grid;
	const char *release;    /* of PyTorch, that recorded the first trace; "": unknown */
	bool interrupted, time_up; /* as of a fit */
};

extern const struct frag_format *const frag_tune_formats[];
