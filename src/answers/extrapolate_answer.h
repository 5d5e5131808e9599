/* extrapolate_answer.h - what fragsim extrapolate found, and its formats: fragsim-extrapolate(1). */
#pragma once

#include "answers/table.h"
#include "fragsim/trace.h"
#include "search/extrapolation.h"

struct frag_extrapolate_answer {
	const struct frag_trace_info *const *traces;    /* one a recording */
	const struct frag_extrapolation *found;
	bool interrupted, time_up; /* as of a fit */
};

extern const struct frag_format *const frag_extrapolate_formats[];
