/* top_n.c - those of many that a report shows: the highest. */
#include "answers/top_n.h"

#include <string.h>

uint32_t frag_top_indexes(uint32_t worst[FRAG_WORST_MAX], const void *list, uint32_t count,
		    double (*value)(const void *list, uint32_t i))
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		const double now = value(list, i);
		uint32_t at = kept;

		while (at > 0 && now > value(list, worst[at - 1]))
			at--;
		if (at == FRAG_WORST_MAX)
			continue;
		kept += kept < FRAG_WORST_MAX;
		memmove(&worst[at + 1], &worst[at], (kept - at - 1) * sizeof(*worst));
		worst[at] = i;
	}
	return kept;
}
