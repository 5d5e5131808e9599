/* array_grow.c - arrays that grow by doubling, checked. */
#include "base/array_grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bug.h"

#define HUGE_PAGE ((size_t)2 << 20)

void *frag_huge_alloc(size_t *size)
{
	void *memory;

	if (*size < FRAG_LARGE || *size > SIZE_MAX - HUGE_PAGE)
		return malloc(*size);
	*size = (*size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	if (posix_memalign(&memory, HUGE_PAGE, *size) != 0)
		return NULL;
#ifdef MADV_HUGEPAGE
	madvise(memory, *size, MADV_HUGEPAGE);  /* an advice: small pages do as well */
#endif
	return memory;
}

#define ELEMENTS_MAX (UINT64_C(1) << 31)        /* the last power of two in 32 bits */

/*
 * From FRAG_LARGE on, realloc() cannot be used: it does not keep the alignment of
 * huge pages.
 */
bool frag_grow_now(void *array, uint32_t *capacity, uint64_t need, size_t size)
{
	uint64_t room = *capacity ? *capacity : 16;
	size_t bytes;
	void *old, *grown;

	FRAG_ASSERT(size > 0 && need > *capacity);
	if (need > ELEMENTS_MAX)
		return false;
	while (room < need)
		room *= 2;
	if (room > SIZE_MAX / size)
		return false;
	memcpy(&old, array, sizeof(old));       /* array is the address of any pointer */
	bytes = (size_t)room * size;
	grown = bytes < FRAG_LARGE ? realloc(old, bytes) : frag_huge_alloc(&bytes);
	if (!grown)
		return false;
	if (bytes >= FRAG_LARGE) {
		if (old)
			memcpy(grown, old, *capacity * size);
		free(old);
	}
	memcpy(array, &grown, sizeof(grown));
	*capacity = (uint32_t)room;
	return true;
}

bool frag_array_copy(void *array, uint64_t used, uint64_t spare, size_t size)
{
	size_t bytes = (size_t)(used + spare) * size;
	void *from, *copy = NULL;

	memcpy(&from, array, sizeof(from));
	if (bytes)
		copy = frag_huge_alloc(&bytes);
	if (copy && used)
		memcpy(copy, from, (size_t)used * size);
	memcpy(array, &copy, sizeof(copy));
	return copy || !(used + spare);
}
