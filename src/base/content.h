/* content.h - all bytes of a file that somebody named, in memory. */
#ifndef BASE_CONTENT_H
#define BASE_CONTENT_H

#include <stdint.h>

#include "fragsim/error.h"

/*
 * *bytes: the content of the regular file, `max` bytes at most; the caller's to free, and never
 * NULL. -FRAG_EUSAGE, the message without the path; -FRAG_ENOMEM
 */
int frag_content_read(const char *path, uint64_t max, void **bytes, uint64_t *length,
		      struct frag_error *err);

#endif
