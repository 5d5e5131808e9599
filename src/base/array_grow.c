/* array_grow.c - memory that grows: arrays, tables that never move, and streams. */
#include "base/array_grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/platform.h"

void *frag_huge_alloc(size_t *size)
{
	void *memory;

	if (!FRAG_HUGE_PAGE || *size < FRAG_LARGE || *size > SIZE_MAX - FRAG_HUGE_PAGE)
		return malloc(*size);
	*size = (*size + FRAG_HUGE_PAGE - 1) & ~(FRAG_HUGE_PAGE - 1);
	if (posix_memalign(&memory, FRAG_HUGE_PAGE, *size) != 0)
		return NULL;
	frag_memory_advise_huge(memory, *size);
	return memory;
}

#define MOVED_AT_ONCE ((size_t)8 << 20)         /* bytes: whole huge pages */
#define ELEMENTS_MAX (UINT64_C(1) << 31)        /* the last power of two in 32 bits */

void frag_move(void *to_array, void *from_array, size_t bytes, bool huge)
{
	char *to = to_array, *from = from_array;

	for (size_t at = 0, part; at < bytes; at += part) {
		part = bytes - at < MOVED_AT_ONCE ? bytes - at : MOVED_AT_ONCE;
		memcpy(to + at, from + at, part);
		if (huge)
			frag_memory_forget(from + at, part);
	}
}

/* From FRAG_LARGE on, realloc() cannot be used: it does not keep the alignment of huge pages. */
bool frag_grow_now(void *array, uint32_t *capacity, uint64_t need, size_t size)
{
	uint64_t room = *capacity ? *capacity : 16;
	size_t bytes;
	void *old, *grown;
	bool huge;

	FRAG_ASSERT(size > 0 && need > *capacity);
	if (need > ELEMENTS_MAX)
		return false;
	while (room < need)
		room *= 2;
	if (room > SIZE_MAX / size)
		return false;
	memcpy(&old, array, sizeof(old));       /* array is the address of any pointer */
	bytes = (size_t)room * size;
	huge = FRAG_HUGE_PAGE && bytes >= FRAG_LARGE;
	grown = huge ? frag_huge_alloc(&bytes) : realloc(old, bytes);
	if (!grown)
		return false;
	if (huge) {
		if (old)
			frag_move(grown, old, *capacity * size, *capacity * size >= FRAG_LARGE);
		free(old);
	}
	memcpy(array, &grown, sizeof(grown));
	*capacity = (uint32_t)room;
	return true;
}

bool frag_extend(void *array, uint32_t *capacity, uint32_t *count, uint32_t at, size_t size)
{
	char *elements;

	if (at < *count)
		return true;
	if (!frag_grow(array, capacity, (uint64_t)at + 1, size))
		return false;
	memcpy(&elements, array, sizeof(elements));
	memset(elements + *count * size, 0, (at + 1 - *count) * size);
	*count = at + 1;
	return true;
}

bool frag_array_copy(void *array, uint64_t used, uint64_t spare, size_t size)
{
	size_t bytes = (size_t)(used + spare) * size;
	void *from, *copy = NULL;

	FRAG_ASSERT(size > 0);
	memcpy(&from, array, sizeof(from));
	if (bytes && used + spare <= SIZE_MAX / size)
		copy = frag_huge_alloc(&bytes);
	if (copy && used)
		memcpy(copy, from, (size_t)used * size);
	memcpy(array, &copy, sizeof(copy));
	return copy || !(used + spare);
}

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

/* Returns 0 on out of memory; one byte is left for the NUL. */
static frag_stream_bytes string_stream_write(void *cookie, const char *bytes, frag_stream_size n)
{
	struct frag_memory *m = cookie;

	m->failed |= !frag_grow(&m->text, &m->capacity, (uint64_t)m->size + (size_t)n + 1, 1);
	if (m->failed)
		return 0;
	memcpy(m->text + m->size, bytes, (size_t)n);
	m->size += (size_t)n;
	return (frag_stream_bytes)n;
}

bool frag_memory_open(struct frag_memory *m)
{
	*m = (struct frag_memory){ .f = NULL };
	m->f = frag_stream_open(m, string_stream_write);
	return m->f != NULL;
}

bool frag_memory_close(struct frag_memory *m)
{
	bool good;

	FRAG_ASSERT(m->f);
	good = !ferror(m->f);
	good &= fclose(m->f) == 0;
	m->f = NULL;
	if (good && !m->failed && frag_grow(&m->text, &m->capacity, (uint64_t)m->size + 1, 1)) {
		m->text[m->size] = '\0';
		return true;
	}
	free(m->text);
	m->text = NULL;
	return false;
}
