/*
 * manifest.h - what a sweep simulates: traces, policies and capacities, in a fixed order.
 *
 * Runs are numbered from 0: trace by trace, of each policy by policy, of each capacity by
 * capacity. fragsim-sweep(1) describes the file.
 */
#ifndef DOCUMENTS_MANIFEST_H
#define DOCUMENTS_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fragsim/error.h"

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

/* Allocates zeroed entries. -FRAG_ENOMEM, -FRAG_EUSAGE if the runs are too many */
int frag_manifest_init(struct frag_manifest *m, uint32_t traces, uint32_t policies,
		       uint32_t totals, struct frag_error *err);
void frag_manifest_fini(struct frag_manifest *m);

/* After the last of it is filled in. -FRAG_EUSAGE where a path is no text; -FRAG_ENOMEM */
int frag_manifest_number(struct frag_manifest *m, struct frag_error *err);

int frag_manifest_print(const struct frag_manifest *m, FILE *f, struct frag_error *err);

/* -FRAG_ETRACE where it is none, or one of another version of the tool. */
int frag_manifest_read(struct frag_manifest *m, const char *path, struct frag_error *err);

/* What run k is made of: indexes. */
struct frag_manifest_run {
	uint32_t trace, policy, total;
};

static inline struct frag_manifest_run frag_manifest_run(const struct frag_manifest *m, uint32_t k)
{
	return (struct frag_manifest_run){
		.trace = k / m->total_count / m->policy_count,
		.policy = k / m->total_count % m->policy_count, .total = k % m->total_count,
	};
}

#endif
