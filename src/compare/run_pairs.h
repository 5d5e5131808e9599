/* run_pairs.h - which run belongs to which, and where two of them differ. */
#ifndef COMPARE_RUN_PAIRS_H
#define COMPARE_RUN_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "compare/compare.h"

/* Which of many things has a name, found by halving a sorted list. */
/* Equal names are those that are equal in all of it but the index. */
struct frag_name {
	uint32_t device;
	const char *text, *more;        /* borrowed; never NULL */
	uint32_t index;                 /* of the thing */
};

struct frag_lookup {
	struct frag_name *name;
	uint32_t count;
};

/* Allocates `max` names; the caller adds them at name[count++], in any order. False on failure. */
bool frag_lookup_init(struct frag_lookup *l, uint32_t max);
void frag_lookup_fini(struct frag_lookup *l);

/* After the last name, before the first question. */
void frag_lookup_sort(struct frag_lookup *l);

/*
 * The smallest index with this name; name's own index does not matter. UINT32_MAX: not found.
 * *alone, optional: exactly one index has the name.
 */
uint32_t frag_lookup_find(const struct frag_lookup *l, const struct frag_name *name, bool *alone);

/* How many things of this name have an index below the name's own. */
uint32_t frag_lookup_rank(const struct frag_lookup *l, const struct frag_name *name);

/* The index of the one of that rank, or of the last; UINT32_MAX: none has this name. */
uint32_t frag_lookup_ranked(const struct frag_lookup *l, const struct frag_name *name,
			    uint32_t rank);

/* The traces of a set, each found by any of its names. */
enum frag_trace_key {
	FRAG_TRACE_BY_PATH,
	FRAG_TRACE_BY_CONTENT,
	FRAG_TRACE_BY_FILE_NAME,
	FRAG_TRACE_KEYS
};
struct frag_trace_list {
	struct frag_run_set *set;
	struct frag_lookup by[FRAG_TRACE_KEYS];
};

/* False: out of memory. Unlisted in either case; all that is listed here has been zeroed. */
bool frag_traces_list(struct frag_trace_list *list, struct frag_run_set *set);
void frag_traces_unlist(struct frag_trace_list *list);

/* The trace that is this one: by path, else content, else file name. NULL: none. */
struct frag_runs *frag_find_trace(const struct frag_trace_list *list, const struct frag_runs *like);

/* The runs of a trace likewise: as the policy is written, by its keys, or as any on its device. */
enum frag_run_key { FRAG_RUN_BY_POLICY, FRAG_RUN_BY_KEYS, FRAG_RUN_BY_DEVICE, FRAG_RUN_KEYS };
struct frag_run_list {
	struct frag_runs *runs;
	struct frag_lookup by[FRAG_RUN_KEYS];
};

bool frag_runs_list(struct frag_run_list *list, struct frag_runs *runs);
void frag_runs_unlist(struct frag_run_list *list);

/* The first run on the device of this one. */
struct frag_run *frag_first_run(const struct frag_run_list *list, const struct frag_run *like);

/* The run that belongs to run `i` of `of`: on the same device, by the policy as
 * written, else by its keys, else by its place where nothing else fits. NULL: none. */
struct frag_run *frag_find_run(const struct frag_run_list *list, const struct frag_run_list *of,
			       uint32_t i);

/* Verdict and places of a pair whose two runs are there. */
void frag_pair_compare(struct frag_pair *pair, bool same_trace);

/* What differs in the conditions, a line each; *text NULL: nothing. False: out of memory. */
bool frag_describe_tools(char **text, const struct frag_run_set *base,
			 const struct frag_run_set *now);
bool frag_describe_traces(char **text, const struct frag_runs *base, const struct frag_runs *now);
bool frag_describe_runs(char **text, const struct frag_run *base, const struct frag_run *now);

#endif
