/*
 * shard_results.h - the lines of completed runs in the files of all shards: read, merged, missing.
 *
 * The reader of the files checks each line: the line is complete, belongs to this manifest, and is
 * equal to any other line of the same run. Bytes after the last line end of a file are a torn line
 * and are ignored. Only the place of a line is kept.
 */
#pragma once

#include "base/atomic_file.h"
#include "sweep/manifest.h"

/* The name of a shard's file: this, its number, "-of-", their number, and the end. */
#define FRAG_SHARD_BEGIN "shard-"
#define FRAG_SHARD_END ".ndjson"

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
