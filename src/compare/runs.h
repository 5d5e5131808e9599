/*
 * runs.h - runs to be compared, wherever they came from: simulated now, or read
 * from a file. Everything here owns what it points to.
 */
#ifndef COMPARE_RUNS_H
#define COMPARE_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "fragsim/engine.h"
#include "fragsim/metrics.h"
#include "fragsim/policy.h"

/* A run over its steps, in a few intervals. */
#define FRAG_TIMELINE_MAX 64    /* intervals */

struct frag_stretch {
	uint64_t from;                  /* its first step */
	uint64_t reserved, allocated;   /* the highest in it */
};

/* For a run of any length: when all intervals are used, adjacent pairs are merged. */
struct frag_timeline {
	uint64_t width;                 /* steps of the device in each but the last */
	uint64_t in_last;
	uint32_t count;                 /* 0: not known */
	struct frag_stretch stretch[FRAG_TIMELINE_MAX];
};

void frag_timeline_add(struct frag_timeline *timeline, const struct frag_step *step);

/* Merges adjacent intervals until each covers at least `width` steps. */
void frag_timeline_widen(struct frag_timeline *timeline, uint64_t width);

/* Merges adjacent intervals until at most `max` are left. */
void frag_timeline_shorten(struct frag_timeline *timeline, uint32_t max);

enum frag_where_kind {
	FRAG_WHERE_NOWHERE,
	FRAG_WHERE_STEP,        /* exactly there */
	FRAG_WHERE_MARK,        /* at this mark, of those that are known */
	FRAG_WHERE_STRETCH,     /* in the steps from step to last */
};

/* A place in a trace where two runs are not alike, and what they have there. */
struct frag_divergence_point {
	enum frag_where_kind kind;
	uint64_t step, last;
	char mark[128];         /* MARK: its name; else that of the one before; "": none.
				 * As JSON, without the quotes */
	char event[192];        /* STEP: what the step is; as JSON, without quotes around */
	uint64_t base_reserved, base_allocated, reserved, allocated;
};

/* Copies a name, cut to `size`; json includes its quotes. */
void frag_where_json_name(char *to, size_t size, const char *json);

struct frag_run {
	char *policy;                   /* as it was written */
	char *label;                    /* what a report calls it; NULL: the policy */
	char *name;                     /* of the policy alone */
	char *params;                   /* every key with its value: "align=512,..." */
	char *device_name;              /* NULL: none */
	struct frag_result result;      /* its choice is not set, its OOMs are the first only */
	struct frag_timeline timeline;
	struct frag_divergence_point diverged;     /* from the first policy of the same sweep */
};

/* Of one trace. */
struct frag_runs {
	char *path;
	char *content;                  /* identifies the decoded events */
	uint64_t events, allocs, frees;
	bool complete;                  /* the trace was read to its end */
	struct frag_run *run;
	uint32_t count, capacity;
};

/* Sizes of all devices that options gave, in bytes; the traces give the others. */
#define FRAG_GIVEN(X) X(total) X(context) X(other) X(granularity)
struct frag_given {
#define X(name) bool has_##name; uint64_t name;
	FRAG_GIVEN(X)
#undef X
};

/* Of one file, or of one sweep. */
struct frag_run_set {
	char *path;                     /* NULL: simulated now */
	char *version;                  /* of the tool */
	uint32_t unread;                /* a bit for each metric that the file lacks somewhere */
	struct frag_given given;        /* of a sweep, and of a baseline */
	struct frag_runs *trace;
	uint32_t count, capacity;
};

/* Zeroed, at the end of the list; NULL where the host is out of memory. */
struct frag_run *frag_runs_add(struct frag_runs *runs);
struct frag_runs *frag_run_set_add(struct frag_run_set *set);

/* Copies what is to be kept of a result, marks and the first OOM with it. False: out of memory. */
bool frag_run_keep(struct frag_run *run, const struct frag_result *result);

/* Percentages as files show them, so that a run equals itself read back. */
void frag_run_round(struct frag_run *run);

void frag_run_set_fini(struct frag_run_set *set);

/* The parameters of a policy as text: "align=512,segment=2097152". */
/* Every key with its value; the caller's to free. NULL where the host is out of memory. */
char *frag_params_text(const struct frag_choice *choice);

/*
 * The value of a key in such a text, up to the next key, and its length; NULL: no
 * such key. It is inside the text, not ended by a NUL.
 */
const char *frag_params_find(const char *params, const char *key, size_t key_length,
			     size_t *length);

/*
 * Which of many things has a name, found by halving a sorted list. Equal names are those that are equal in
 * all except the index.
 */
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

/* What differs in the conditions, a line each; *text NULL: nothing. False: out of memory. */
bool frag_describe_tools(char **text, const struct frag_run_set *base,
			 const struct frag_run_set *now);
bool frag_describe_traces(char **text, const struct frag_runs *base, const struct frag_runs *now);
bool frag_describe_runs(char **text, const struct frag_run *base, const struct frag_run *now);

#endif
