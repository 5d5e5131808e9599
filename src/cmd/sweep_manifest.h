/* sweep_manifest.h - the manifest of a sweep, made of options and traces or read back. */
#ifndef CMD_SWEEP_MANIFEST_H
#define CMD_SWEEP_MANIFEST_H

#include "cmd/progress.h"
#include "cmd/run_options.h"
#include "documents/manifest.h"
#include "sweep/sweep_trace.h"

struct frag_sweep_task {
	struct frag_run_options run;    /* its choices are the manifest's policies, */
	const char *grid;               /* or, before it is made, the given ones and this */
	uint64_t *totals;               /* of --device-bytes */
	uint32_t total_count, total_capacity;
	const char *folder;
	char **paths;                   /* of the traces; none: the manifest is there */
	uint32_t path_count;
	struct frag_manifest manifest;
	struct frag_source *sources;    /* one a trace: some may be in memory */
	bool read_all;                  /* the traces have been read, and warned of */
	struct frag_progress progress;
};

/* --device-bytes SIZE,... */
int frag_sweep_set_totals(struct frag_sweep_task *t, const char *value, struct frag_error *err);

/*
 * Makes the manifest where traces are given, and puts it into the folder; one that is there must
 * be the same. Else reads it. Then the choices are the manifest's.
 */
int frag_sweep_prepare(struct frag_sweep_task *t, struct frag_error *err);
void frag_sweep_task_fini(struct frag_sweep_task *t);

/* How the traces are read, here and later. */
struct frag_source_reading frag_sweep_reading(struct frag_sweep_task *t);

#endif
