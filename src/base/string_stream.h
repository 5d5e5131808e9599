/*
 * string_stream.h - a stream into memory, for a few lines of text.
 *
 * For no more than that: where its room has to grow and cannot, the C library
 * loses text and sets no error. What is long goes to a file as a stream
 * (outfile.h).
 */
#ifndef BASE_STRING_STREAM_H
#define BASE_STRING_STREAM_H

#include <stdbool.h>
#include <stdio.h>

struct frag_memory {
	FILE *f;
	char *text;             /* after the close: ends in a NUL, the caller's to free */
	size_t size;
};

/* False where memory is short. */
bool frag_memory_open(struct frag_memory *m);
bool frag_memory_close(struct frag_memory *m);

#endif
