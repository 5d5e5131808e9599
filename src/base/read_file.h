/* read_file.h - reads a whole file into memory. */
#ifndef BASE_READ_FILE_H
#define BASE_READ_FILE_H

#include <stdint.h>

#include "fragsim/error.h"

/*
 * *bytes: the content of the regular file, `max` bytes at most; the caller's to free, and never
 * NULL. -FRAG_EUSAGE, the message without the path; -FRAG_ENOMEM
 */
int frag_read_whole_file(const char *path, uint64_t max, void **bytes, uint64_t *length,
		      struct frag_error *err);

/*
 * A file of a folder that is fragsim's own: opening a pipe there would wait for ever. 0 also where
 * there is none; -FRAG_ETRACE
 */
int frag_require_regular_file(const char *path, struct frag_error *err);

#endif
