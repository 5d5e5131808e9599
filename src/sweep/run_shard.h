/*
 * run_shard.h - the runs of a shard, on all processors.
 *
 * The runs are simulated trace by trace, those of the longest trace first. The next trace is read
 * during the last runs of one, so memory contains two traces, and those that the caller had already
 * read; each is freed with its last run.
 */
#pragma once

#include "base/job.h"
#include "sweep/manifest.h"
#include "sweep/which_shard.h"

/* The runs of a shard that are simulated. */
struct frag_shard_run {
	struct frag_shard shard;
	bool resume;            /* goes on with the runs that are in the folder */
	struct frag_job job;    /* shows "runs"; asked before each */
	/* the result */
	char *path;             /* of the shard's file; the caller's, in any case */
	bool ended;             /* nothing failed, but a stop may have come: */
	uint32_t mine, before, finished;        /* all runs, those that were there, the new ones */
};

/*
 * One line for each completed run is written whole when the run ends, and is on the disk within
 * five seconds. After a stop the started runs still complete: -FRAG_EINTERRUPTED. -FRAG_ETRACE if a
 * trace differs from the manifest.
 */
int frag_shard_run(struct frag_shard_run *run, struct frag_sweep_plan *plan,
		   struct frag_error *err);
