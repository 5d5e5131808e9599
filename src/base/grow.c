/* grow.c - arrays that grow by doubling, checked. */
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define ELEMENTS_MOST (UINT64_C(1) << 31)       /* the last power of two in 32 bits */

bool frag_grow_now(void *array, uint32_t *capacity, uint64_t need, size_t size)
{
	uint64_t room = *capacity ? *capacity : 16;
	void *old, *grown;

	if (need > ELEMENTS_MOST)
		return false;
	while (room < need)
		room *= 2;
	if (room > SIZE_MAX / size)
		return false;
	memcpy(&old, array, sizeof(old));       /* array is the address of any pointer */
	grown = realloc(old, (size_t)room * size);
	if (!grown)
		return false;
	memcpy(array, &grown, sizeof(grown));
	*capacity = (uint32_t)room;
	return true;
}
