/* setup_differences.h - what differs in the conditions of runs that are compared, as text. */
#pragma once

#include "compare/runs.h"

/*
 * A line for each difference of two tools, traces or runs, in *text, which is owned by the caller; NULL:
 * there is none. False: out of memory.
 */
bool frag_differences_of_tools(char **text, const struct frag_run_set *base,
			       const struct frag_run_set *now);
bool frag_differences_of_traces(char **text, const struct frag_runs *base,
				const struct frag_runs *now);
bool frag_differences_of_runs(char **text, const struct frag_run *base, const struct frag_run *now);
