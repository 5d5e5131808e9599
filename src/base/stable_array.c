/* stable_array.c - a table that grows and never moves. */
#include "base/stable_array.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/array_grow.h"

#define ELEMENTS_MAX (UINT64_C(1) << 31)        /* as many as an array that grows may have */

bool frag_chunks_grow(struct frag_chunks *c, uint64_t need, size_t size)
{
	FRAG_ASSERT(size > 0);
	if (need > ELEMENTS_MAX)
		return false;
	for (uint32_t k = 0; c->capacity < need; k++) {
		const uint64_t elements = UINT64_C(1) << (k + FRAG_CHUNK_BITS);
		size_t bytes = (size_t)elements * size;

		if (c->chunk[k])
			continue;
		if (elements > SIZE_MAX / size)
			return false;
		c->chunk[k] = frag_huge_alloc(&bytes);
		if (!c->chunk[k])
			return false;
		c->capacity += (uint32_t)elements;
	}
	return true;
}

void frag_chunks_fini(struct frag_chunks *c)
{
	for (uint32_t k = 0; k < FRAG_CHUNKS; k++)
		free(c->chunk[k]);
	*c = (struct frag_chunks){ .capacity = 0 };
}
