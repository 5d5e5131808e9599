/* rank_folder.h - a folder with a recording of each rank of a job. */
#ifndef CMD_RANK_FOLDER_H
#define CMD_RANK_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/error.h"

struct frag_rank_folder {
	char **paths;           /* by rank, then by name; owned */
	uint64_t *ranks;        /* likewise: the numbers in the names, or 0, 1, ... */
	uint32_t count;
	bool named;             /* the names have numbers that differ */
};

bool frag_is_folder(const char *path);

/*
 * The recordings in a folder, by the endings of their names; subfolders are not read. Release it
 * also where this fails. -FRAG_ETRACE: it cannot be read, or has no recording; -FRAG_ENOMEM
 */
int frag_rank_folder_read(struct frag_rank_folder *folder, const char *path, struct frag_error *err);
void frag_rank_folder_fini(struct frag_rank_folder *folder);

#endif
