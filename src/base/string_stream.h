/*
 * string_stream.h - a stream into memory.
 *
 * An error is kept: where memory was short once, the close fails. A stream of open_memstream()
 * loses text and reports success there.
 */
#ifndef BASE_STRING_STREAM_H
#define BASE_STRING_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* It stays at its address while the stream is open. */
struct frag_memory {
	FILE *f;                /* NULL: not open */
	char *text;             /* after the close: ends in a NUL, owned by the caller */
	size_t size;
	uint32_t capacity;
	bool failed;
};

/* False on out of memory. */
bool frag_memory_open(struct frag_memory *m);
/* The same; the text is NULL then. */
bool frag_memory_close(struct frag_memory *m);

#endif
