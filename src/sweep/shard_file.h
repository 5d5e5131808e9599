/* shard_file.h - the file of a shard: a line for each run that has ended, soon on the disk. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "fragsim/error.h"

/* The writer holds a lock on the file. */
struct frag_shard_file {
	const char *path;       /* borrowed */
	int fd;
	pthread_t syncing;
	pthread_mutex_t lock;
	pthread_cond_t ending;
	bool has_thread, ends, fresh;   /* fresh: something is not on the disk */
	int failed;             /* errno of a sync */
};

/*
 * Not resume: the file must be empty, or not exist. -FRAG_EUSAGE, or -FRAG_EOUTPUT; then there is
 * nothing to close.
 */
int frag_shard_open(struct frag_shard_file *f, const char *path, bool resume, struct frag_error *err);

/*
 * Removes a torn last line, after all lines before it were read as runs. -FRAG_ETRACE where the
 * last line does not begin as one of a run.
 */
int frag_shard_cut_torn(struct frag_shard_file *f, struct frag_error *err);

/* From any thread. Of a failure nothing is left. -FRAG_EOUTPUT */
int frag_shard_append(struct frag_shard_file *f, const char *line, size_t length,
		      struct frag_error *err);

/* All is on the disk, or -FRAG_EOUTPUT. */
int frag_shard_close(struct frag_shard_file *f, struct frag_error *err);
