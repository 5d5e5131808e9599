/*
 * run_shard.h - the runs of a shard, on all processors.
 *
 * The runs are simulated trace by trace, those of the longest trace first. The next trace is read
 * during the last runs of one, so memory contains two traces, and those that the caller had already
 * read; each is freed with its last run.
 */
#ifndef SWEEP_RUN_SHARD_H
#define SWEEP_RUN_SHARD_H

#include <stdbool.h>

#include "documents/manifest.h"
#include "fragsim/trace.h"
#include "policy/configure_events.h"
#include "sweep/shard_results.h"

/* A trace of a sweep in memory, with the policies that it is for. */
struct frag_source_reading {
	const struct frag_choice *choices;      /* a configure must be fit for all of them */
	uint32_t choice_count;
	bool sized;                             /* every run has its own capacity */
	struct frag_log log;
	bool (*stop)(void *ctx);                /* optional */
	void (*progress)(void *ctx, const struct frag_trace_info *info);        /* optional */
	void *ctx;
};

struct frag_source {
	struct frag_trace *trace;
	struct frag_tape *tape;         /* NULL: it is not in memory */
	struct frag_configured configured;
};

/* Reads it to its end; what is there after a failure must be closed too. */
int frag_source_open(struct frag_source *s, const char *path,
		     const struct frag_source_reading *reading, struct frag_error *err);
void frag_source_close(struct frag_source *s);          /* a zeroed one is fine */

struct frag_batch_options {
	const struct frag_manifest *manifest;
	const struct frag_choice *choices;      /* the manifest's policies */
	struct frag_source *sources;            /* one a trace, zeroed where it is not read yet */
	struct frag_source_reading reading;     /* of the sources; stop() precedes each run too */
	const bool *wanted;                     /* one a run */
	struct frag_shard_file *out;
	uint32_t threads;                       /* 0: one a processor */
	/* optional: from any thread, one at once */
	void (*done)(void *ctx, uint32_t done, uint32_t count);
	void *ctx;
};

/*
 * *finished: the number of completed runs. After a stop the started runs still complete:
 * -FRAG_EINTERRUPTED. -FRAG_ETRACE if a trace differs from the manifest.
 */
int frag_batch_run(const struct frag_batch_options *options, uint32_t *finished,
		   struct frag_error *err);

/* Which of the shards a task is. */
struct frag_shard {
	uint32_t index, count;
	const char *from;       /* the variable that contains the index; NULL: from an option */
};

#define FRAG_SHARDS_MAX 1000000

extern const char *const frag_shard_words[];    /* those that stand for one, ended by NULL */

/*
 * "I/N", "auto", which takes both from the scheduler's variables, or "auto/N": its number,
 * modulo N. -FRAG_EUSAGE
 */
int frag_shard_parse(struct frag_shard *shard, const char *text, struct frag_error *err);

#endif
