/*
 * run_shard.h - the runs of a shard, on all processors, and their lines in the shards' files.
 *
 * The runs are simulated trace by trace, those of the longest trace first. The next trace is read
 * during the last runs of one, so memory contains two traces, and those that the caller had already
 * read; each is freed with its last run.
 *
 * The reader of the files checks each line: the line is complete, belongs to this manifest, and is
 * equal to any other line of the same run. Bytes after the last line end of a file are a torn line
 * and are ignored. Only the place of a line is kept.
 */
#ifndef SWEEP_RUN_SHARD_H
#define SWEEP_RUN_SHARD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/atomic_file.h"
#include "documents/manifest.h"
#include "fragsim/trace.h"
#include "policy/configure_events.h"

struct frag_collected {
	uint64_t at;            /* in the file */
	uint64_t check;
	uint32_t length;        /* with its end; 0: the run is missing */
	uint32_t file;
};

struct frag_collection {
	const struct frag_manifest *manifest;
	struct frag_collected *run;     /* one each */
	char **file;
	uint32_t file_count, file_capacity;
	uint32_t count;         /* of runs that are there */
};

#define FRAG_SHARD_BEGIN "shard-"
#define FRAG_SHARD_END ".ndjson"

/* Folder, slash and name; the caller's. NULL: out of memory */
char *frag_sweep_path(const char *folder, const char *name);

/*
 * All files of shards in the folder. -FRAG_ETRACE, naming file and line, of what does not
 * belong there. It is to be released in any case.
 */
int frag_collection_read(struct frag_collection *c, const struct frag_manifest *m,
			 const char *folder, struct frag_error *err);
void frag_collection_fini(struct frag_collection *c);

/* All lines of a struct frag_collection, in the order of the runs; none is missing. */
int frag_collection_write(void *collection, struct frag_outfile *out, struct frag_error *err);

/*
 * The missing ones as --array= of schedulers takes them: "5,13-15"; their numbers, or, with
 * tasks above 0, those of the shards that they belong to. The caller's; NULL: out of memory
 */
char *frag_collection_missing(const struct frag_collection *c, uint32_t tasks);

/*
 * The file of a shard, with one line for each completed run.
 *
 * The writer holds a lock on the file. A line is written whole when its run ends, and is on the
 * disk within five seconds.
 */
struct frag_shard_file {
	const char *path;       /* borrowed */
	int fd;
	pthread_t syncing;
	pthread_mutex_t lock;
	pthread_cond_t ending;
	bool has_thread, ends, fresh;   /* fresh: something is not on the disk */
	int failed;             /* errno of a sync */
};

/* Not resume: the file must be empty, or not exist. -FRAG_EOUTPUT, -FRAG_EUSAGE */
int frag_shard_open(struct frag_shard_file *f, const char *path, bool resume,
		    struct frag_error *err);

/*
 * Removes a torn last line, after all lines before it were read as runs. -FRAG_ETRACE where the
 * last line does not begin as one of a run; -FRAG_EOUTPUT
 */
int frag_shard_cut_torn(struct frag_shard_file *f, struct frag_error *err);

/* Once after each opening that succeeded: all is on the disk, or -FRAG_EOUTPUT. */
int frag_shard_close(struct frag_shard_file *f, struct frag_error *err);

/* A trace of a sweep in memory, with the policies that it is for. */
struct frag_source_reading {
	const struct frag_manifest *manifest;
	const struct frag_choice *choices;      /* its policies: a configure must be fit for all */
	uint32_t choice_count;
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
	struct frag_source *sources;            /* one a trace, zeroed where it is not read yet */
	struct frag_source_reading reading;     /* of the sources, and what is simulated; stop()
						 * precedes each run too */
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

/* What is simulated, and the traces that are in memory. */
struct frag_sweep_plan {
	struct frag_manifest manifest;
	struct frag_source *sources;    /* one a trace, zeroed where it is not in memory */
};

/*
 * Reads the traces, as `reading` says, and keeps those that 1 GiB holds. Of equal choices the
 * first one stays; *choice_count becomes that of the policies. No totals: the capacity is the
 * trace's. -FRAG_EUSAGE: a path is standard input, or is there twice; frag_sweep_plan_fini() is
 * needed also on failure.
 */
int frag_sweep_plan_make(struct frag_sweep_plan *plan, char *const *paths, uint32_t path_count,
			 struct frag_choice *choices, uint32_t *choice_count,
			 const uint64_t *totals, uint32_t total_count,
			 const struct frag_source_reading *reading, struct frag_error *err);
/* The manifest from its file. -FRAG_ETRACE */
int frag_sweep_plan_read(struct frag_sweep_plan *plan, const char *path, struct frag_error *err);
void frag_sweep_plan_fini(struct frag_sweep_plan *plan);

/*
 * Marks the runs of a shard that are not in the folder yet, where it resumes; wanted has one
 * element a run. *mine: the runs of the shard; *before: those of them that are done.
 */
int frag_shard_choose_runs(const struct frag_shard *shard, const struct frag_manifest *m,
			   const char *folder, bool resume, bool *wanted, uint32_t *mine,
			   uint32_t *before, struct frag_error *err);

#endif
