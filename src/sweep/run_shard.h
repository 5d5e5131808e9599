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
#pragma once

#include "base/job.h"
#include "sweep/manifest.h"

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
