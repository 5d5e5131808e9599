/*
 * runs.h - runs to be compared, wherever they came from: read from a file, or simulated now,
 * every policy on every trace. Everything here owns what it points to.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/job.h"
#include "fragsim/engine.h"
#include "fragsim/metrics.h"
#include "fragsim/policy.h"
#include "scope/claim.h"

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

/* Merges adjacent intervals until each covers at least `width` steps. */
void frag_timeline_widen(struct frag_timeline *timeline, uint64_t width);

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
	struct frag_scope scope;        /* without its growth, unless a file has that */
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

/* Is the trace a part of its program? NULL: no. */
static inline bool frag_runs_are_part(const struct frag_runs *runs)
{
	return runs && frag_scope_part(&runs->scope) != FRAG_PART_WHOLE;
}

/* Zeroed, at the end of the list; NULL where the host is out of memory. */
struct frag_run *frag_runs_add(struct frag_runs *runs);
struct frag_runs *frag_run_set_add(struct frag_run_set *set);

/* Copies what is to be kept of a result, marks and the first OOM with it. False: out of memory. */
bool frag_run_keep(struct frag_run *run, const struct frag_result *result);

/* Percentages as files show them, so that a run equals itself read back. */
void frag_run_round(struct frag_run *run);

void frag_run_set_fini(struct frag_run_set *set);

/*
 * The parameters of a policy as text, every key with its value: "align=512,segment=2097152"; the
 * caller's to free. NULL where the host is out of memory.
 */
char *frag_params_text(const struct frag_choice *choice);

/*
 * The value of a key in such a text, up to the next key, and its length; NULL: no
 * such key. It is inside the text, not ended by a NUL.
 */
const char *frag_params_find(const char *params, const char *key, size_t key_length,
			     size_t *length);

/* Warnings of one of several concurrent tasks, to be printed later; the caller frees the text. */
struct frag_gathered {
	char *lines;            /* printable, each ended by a newline; NULL: none */
	bool nomem;             /* one more found out of memory: the work failed */
};

/* The `warn` of a frag_log, with a struct frag_gathered. */
void frag_gather_warning(void *gathered, const char *message);

/*
 * Every policy on every trace, on all processors. A trace is read once for all its policies.
 * Several traces are simulated in parallel. The output is in the order of the traces; of a
 * finished trace only the metrics are kept.
 */
struct frag_sweep {
	const char *const *traces;
	uint32_t trace_count;
	const struct frag_choice *choices;
	uint32_t choice_count;
	struct frag_sim_options sim;
	uint64_t total, context, other, granularity;    /* UINT64_MAX: the trace's */
	uint64_t card_context;  /* where the trace has none */
	const struct frag_device_figures *like; /* all devices are; NULL: the traces' */
	bool lenient;
	struct frag_job job;            /* shows "traces" */
	struct frag_log log;            /* warnings, in the order of the traces, at the end */
	/* optional: each trace before its first record, with the log of its warnings; 0 or -FRAG_E... */
	int (*opened)(struct frag_trace *trace, const struct frag_log *log, struct frag_error *err);
	/* from any thread, several at once: trace `index` is done; 0 or -FRAG_E... */
	int (*done)(void *ctx, uint32_t index, struct frag_runs *runs, struct frag_error *err);
	void *ctx;                      /* of done */
};

/*
 * Fills set->trace, one for each trace (without runs where an interruption came
 * first). Of several failures the first trace's is reported. -FRAG_EINTERRUPTED:
 * what is there is good.
 */
int frag_sweep_run(const struct frag_sweep *sweep, struct frag_run_set *set,
		   struct frag_error *err);
