/* grow.c - arrays that grow by doubling, checked. */
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#include "base/large.h"

#define ELEMENTS_MOST (UINT64_C(1) << 31)       /* the last power of two in 32 bits */

bool frag_grow_now(void *array, uint32_t *capacity, uint64_t need, size_t size)
{
	uint64_t room = *capacity ? *capacity : 16;
	size_t bytes;
	void *old, *grown;

	if (need > ELEMENTS_MOST)
		return false;
	while (room < need)
		room *= 2;
	if (room > SIZE_MAX / size)
		return false;
	memcpy(&old, array, sizeof(old));       /* array is the address of any pointer */
	bytes = (size_t)room * size;
	grown = bytes < FRAG_LARGE ? realloc(old, bytes) : frag_large_new(&bytes);
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
