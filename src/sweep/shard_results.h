/*
 * shard_results.h - the result lines of a sweep, in the files of its shards.
 *
 * The reader checks each line: the line is complete, belongs to this manifest, and is equal to any
 * other line of the same run. Bytes after the last line end of a file are a torn line and are
 * ignored. Only the place of a line is kept.
 */
#ifndef SWEEP_SHARD_RESULTS_H
#define SWEEP_SHARD_RESULTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic_file.h"
#include "documents/manifest.h"
#include "fragsim/error.h"

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

/* From any thread. Of a failure nothing is left. -FRAG_EOUTPUT */
int frag_shard_append(struct frag_shard_file *f, const char *line, size_t length,
		      struct frag_error *err);

/* Once after each opening that succeeded: all is on the disk, or -FRAG_EOUTPUT. */
int frag_shard_close(struct frag_shard_file *f, struct frag_error *err);

#endif
