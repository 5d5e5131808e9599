/*
 * shard_file.h - the file that the runs of a shard go to, a line each, as they are done.
 *
 * Who writes holds a lock on it. A line is written whole and at once; within five seconds it is
 * on the disk too.
 */
#ifndef SWEEP_SHARD_FILE_H
#define SWEEP_SHARD_FILE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "fragsim/error.h"

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
