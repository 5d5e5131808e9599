/*
 * manifest.h - what a sweep simulates: traces, policies and capacities, in a fixed order.
 *
 * Runs are numbered from 0: trace by trace, of each policy by policy, of each capacity by
 * capacity. fragsim-sweep(1) describes the file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic_file.h"
#include "fragsim/trace.h"
#include "policy/choice.h"

struct frag_manifest_trace {
	char *path;             /* as it was given */
	uint64_t content;       /* identifies the decoded events */
	uint64_t events, allocs, frees;
};

#define FRAG_SWEEP_RUNS_MAX (UINT32_C(1) << 24)

struct frag_manifest {
	struct frag_manifest_trace *trace;
	char **policy;          /* each with all of its keys */
	uint64_t *total;        /* capacities of every device; UINT64_MAX: what the trace has */
	uint32_t trace_count, policy_count, total_count;
	uint32_t runs;
	uint64_t id;            /* of all of the above, and of the tool's version */
};

/* Of a struct frag_manifest. */
extern const struct frag_document_type frag_manifest_document;

/* Writes a struct frag_manifest. */
int frag_manifest_write(void *manifest, struct frag_outfile *out, struct frag_error *err);

/* -FRAG_ETRACE where it is none, or one of another version of the tool. */
int frag_manifest_read(struct frag_manifest *m, const char *path, struct frag_error *err);
void frag_manifest_fini(struct frag_manifest *m);

/* A trace in memory. */
struct frag_source {
	struct frag_trace *trace;
	struct frag_tape *tape;         /* NULL: it is not in memory */
	struct frag_configured configured;
};

/* What is simulated, and how the traces are read. */
struct frag_sweep_plan {
	const char *folder;
	struct frag_choice *choices;            /* the policies: a configure must be fit for all */
	uint32_t choice_count;
	struct frag_log log;
	/* optional: each trace before its first record, with the log of its warnings; 0 or -FRAG_E... */
	int (*opened)(struct frag_trace *trace, const struct frag_log *log, struct frag_error *err);
	struct frag_read_job read;              /* of each; its stop is called before each run too */
	/* what is made or read: */
	char *path;                             /* of the manifest */
	struct frag_manifest manifest;
	struct frag_source *sources;            /* one a trace, zeroed where it is not in memory */
};

/*
 * Reads the traces, and keeps those that 1 GiB holds. Of equal choices the first one stays. No
 * totals: the capacity is the trace's. After it nothing is warned of, as each warning was printed.
 * No paths: what the manifest in the folder says. -FRAG_EUSAGE: a path is standard input, or is
 * there twice; -FRAG_ETRACE: of the manifest. frag_sweep_plan_fini() is needed also on failure.
 */
int frag_sweep_plan_make(struct frag_sweep_plan *plan, char *const *paths, uint32_t path_count,
			 const uint64_t *totals, uint32_t total_count, struct frag_error *err);
/* Is the manifest in the folder this one? -FRAG_EUSAGE: of another sweep; -FRAG_ETRACE */
int frag_sweep_plan_check(const struct frag_sweep_plan *plan, struct frag_error *err);
void frag_sweep_plan_fini(struct frag_sweep_plan *plan);

/* Reads a trace to its end; what is there after a failure must be closed too. */
int frag_source_open(struct frag_sweep_plan *plan, uint32_t trace, struct frag_error *err);
void frag_source_close(struct frag_source *s);          /* a zeroed one is fine */

/* Folder, slash and name; the caller's. NULL: out of memory */
char *frag_sweep_path(const char *folder, const char *name);
