/* rank_folder.h - the recordings of a folder: a file for each rank of a distributed job. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/error.h"
#include "fragsim/trace.h"

#define FRAG_FOLDER_NOTE 400

struct frag_rank_folder {
	char **paths;           /* by rank, then by name; owned */
	uint64_t *ranks;        /* likewise: the numbers in the names, or 0, 1, ... */
	uint32_t count;
	bool named;             /* the names have numbers that differ */
	char note[FRAG_FOLDER_NOTE];    /* which part of the folder was read; "" for all of it */
};

bool frag_is_folder(const char *path);

/*
 * Lists the snapshots of a folder, by content. A folder without one can have folders of ranks
 * (oom_rank3) or of iterations (iteration_20_exit, step20); of iterations the last one with a
 * snapshot is read. Without any snapshot the recordings by their endings are listed, except where
 * only snapshots are allowed. -FRAG_ETRACE where there are none. frag_rank_folder_fini() is needed
 * also on failure.
 */
enum frag_folder_files {
	FRAG_FOLDER_ALL,
	FRAG_FOLDER_LAST,       /* one of each rank: of those of an OOM, else of all, the last */
	FRAG_FOLDER_SNAPSHOTS,
};
int frag_rank_folder_read(struct frag_rank_folder *f, const char *path,
			  enum frag_folder_files which, struct frag_error *err);
/*
 * The numbers of ranks by their names: the number after the last "rank" of each, or else the one
 * number in which the names differ. False if a name has no such number or two are equal: then the
 * numbers are the indexes.
 */
bool frag_rank_numbers(const char *const *names, uint32_t count, uint64_t *numbers);

/* The number after the last "rank" of a name: 3 of "out/rank-03/trace.gz". False: none. */
bool frag_rank_number(const char *name, uint64_t *number);

/* The snapshot of the rank that failed: one with an OOM, then the highest peak. */
struct frag_picked {
	uint32_t at;            /* which file */
	uint32_t readable, ooms;        /* snapshots; 0 readable ones: there is none */
	uint64_t peak;          /* reserved bytes */
};
/* stop(NULL): true ends it, with -FRAG_EINTERRUPTED. What cannot be read is skipped with a note. */
int frag_rank_folder_pick(struct frag_picked *picked, const struct frag_rank_folder *f,
			  const struct frag_log *log, bool (*stop)(void *ctx),
			  struct frag_error *err);
void frag_rank_folder_fini(struct frag_rank_folder *f);         /* a zeroed one is valid */
