/* pairing.h - which run belongs to which, and where two of them differ. */
#ifndef COMPARE_PAIRING_H
#define COMPARE_PAIRING_H

#include "compare/compare.h"

/* The trace of the set that is this one: by path, else content, else file name. NULL: none. */
struct frag_runs *frag_find_trace(const struct frag_run_set *set, const struct frag_runs *like);

/* The run of `runs` that belongs to run `i` of `of`: on the same device, by the policy as
 * written, else by its keys, else by its place where nothing else fits. NULL: none. */
struct frag_run *frag_find_run(const struct frag_runs *runs, const struct frag_runs *of,
			       uint32_t i);

/* Verdict and places of a pair whose two runs are there. */
void frag_pair_compare(struct frag_pair *pair, bool same_trace);

/* What differs in the conditions, a line each; *text NULL: nothing. False: no memory. */
bool frag_tell_tools(char **text, const struct frag_run_set *base,
		     const struct frag_run_set *now);
bool frag_tell_traces(char **text, const struct frag_runs *base, const struct frag_runs *now);
bool frag_tell_runs(char **text, const struct frag_run *base, const struct frag_run *now);

#endif
