/*
 * old_names.h - the names of version 1 of fragsim's documents and conditions.
 *
 * Readers accept version 1 for one release; then this pair of files goes.
 */
#ifndef BASE_OLD_NAMES_H
#define BASE_OLD_NAMES_H

#include <stddef.h>

/* Returns the name that version 1 had for a name of version 2, or NULL if the name is the same. */
const char *frag_old_name(const char *name);

/* Writes `path` with each part between dots ("peak.non_releasable") translated to version 2.
 * Cuts the result to fit. */
void frag_new_path(const char *path, char *out, size_t room);

#endif
