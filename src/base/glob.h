/* glob.h - whether a name is one of those that a pattern means. */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* In the pattern * is any characters, or none, and ? one byte; all else is itself. */
bool frag_glob_fits(const char *pattern, const char *text, size_t length);

#endif
