/*
 * shard_results.h - the lines that there are of a sweep, in the files of its shards.
 *
 * Each is checked as it is read: it is whole, of this manifest, and says the same as another
 * one of the same run. What follows the last line end of a file is a line that was torn, and
 * no line. Of a line only its place is kept.
 */
#ifndef SWEEP_SHARD_RESULTS_H
#define SWEEP_SHARD_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic_file.h"
#include "documents/manifest.h"

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

/* Folder, slash and name; the caller's. NULL: no memory */
char *frag_sweep_path(const char *folder, const char *name);

/*
 * All files of shards in the folder. -FRAG_ETRACE, naming file and line, of what does not
 * belong there. It is to be released in any case.
 */
int frag_collection_read(struct frag_collection *c, const struct frag_manifest *m,
			 const char *folder, struct frag_error *err);
void frag_collection_fini(struct frag_collection *c);

/* All lines, in the order of the runs; none is missing. */
int frag_collection_write(const struct frag_collection *c, struct frag_outfile *out,
			  struct frag_error *err);

/*
 * The missing ones as --array= of schedulers takes them: "5,13-15"; their numbers, or, with
 * tasks above 0, those of the shards that they belong to. The caller's; NULL: no memory
 */
char *frag_collection_missing(const struct frag_collection *c, uint32_t tasks);

#endif
