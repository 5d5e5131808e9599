/* wrap.h - text in lines of a terminal. */
#ifndef BASE_WRAP_H
#define BASE_WRAP_H

#include <stddef.h>

/*
 * How many bytes of the text are its first line, in so many columns: up to a space, except one
 * between a number and its unit; a word that is longer is cut. Bytes are columns, but those of
 * a colour, which have none. The spaces after the line are the caller's to pass over.
 */
size_t frag_wrap(const char *text, size_t columns);

#define FRAG_SHORT_NAME 61
/*
 * A string of JSON with its quotes, in buf as it is, or where it has more than 60 bytes, its
 * beginning, three dots and the quote. Returns buf.
 */
const char *frag_short_name(const char *json, char buf[FRAG_SHORT_NAME]);

#endif
