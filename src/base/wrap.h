/* wrap.h - text in lines of a terminal. */
#ifndef BASE_WRAP_H
#define BASE_WRAP_H

#include <stddef.h>

/*
 * Returns the bytes of the first line of at most `columns` columns. Lines break at a space,
 * except one between a number and its unit; a longer word is cut. A byte is a column, except
 * the bytes of colour codes, which have no width. The caller skips the spaces after the line.
 */
size_t frag_wrap(const char *text, size_t columns);

#define FRAG_SHORT_NAME 61
/*
 * Copies a JSON string with its quotes to buf; of one with more than 60 bytes only the
 * beginning, three dots and the closing quote. Returns buf.
 */
const char *frag_short_name(const char *json, char buf[FRAG_SHORT_NAME]);

#endif
