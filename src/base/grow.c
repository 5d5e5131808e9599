/* grow.c - arrays that grow by doubling, checked. */
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

bool frag_grow_now(void *array, uint32_t *capacity, uint64_t need, size_t size)
{
	uint64_t room = *capacity ? *capacity : 16;
	void *old, *grown;

	while (room < need)
		room *= 2;
	if (room > UINT32_MAX || room > SIZE_MAX / size)
		return false;
	memcpy(&old, array, sizeof(old));       /* array is the address of any pointer */
	grown = realloc(old, (size_t)room * size);
	if (!grown)
		return false;
	memcpy(array, &grown, sizeof(grown));
	*capacity = (uint32_t)room;
	return true;
}
