/*
 * stable_array.h - a table that grows and never moves, for one thread that adds to it while others
 * read.
 *
 * Its chunks double in size, and a new chunk leaves the old ones where they are. A reader may
 * read any element whose index it obtained through an operation that orders memory, such as a
 * lock.
 */
#ifndef BASE_STABLE_ARRAY_H
#define BASE_STABLE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAG_CHUNKS 26
#define FRAG_CHUNK_BITS 6       /* the first one has 2^6 elements */

/* Zeroed, it is empty. */
struct frag_chunks {
	char *chunk[FRAG_CHUNKS];
	uint32_t capacity;      /* elements */
};

/* Grows to at least `need` elements of `size` bytes, always the same size; new elements are not
 * set. False: out of memory. */
bool frag_chunks_grow(struct frag_chunks *c, uint64_t need, size_t size);
void frag_chunks_fini(struct frag_chunks *c);

/* Returns element i, which must be allocated. The highest bit of i + 2^6 selects the chunk. */
static inline void *frag_chunks_at(const struct frag_chunks *c, uint32_t i, size_t size)
{
	const uint32_t n = i + (1u << FRAG_CHUNK_BITS);
	const uint32_t k = 31 - (uint32_t)__builtin_clz(n);

	return c->chunk[k - FRAG_CHUNK_BITS] + (size_t)(n - (1u << k)) * size;
}

#endif
