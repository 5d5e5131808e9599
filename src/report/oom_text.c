/* oom_text.c - an out-of-memory, for a person. */
#include "report/oom_text.h"

#include <stdio.h>

#include "base/format.h"
#include "base/print.h"

/* What was in the way, in short. missing: of the largest piece that could be had. */
static void put_obstacle(char *buf, size_t size, const struct frag_oom *oom, uint64_t missing)
{
	char limit[FRAG_NUMBER_ROOM];

	if (oom->limit != UINT64_MAX && oom->used + oom->tried > oom->limit)
		snprintf(buf, size, "The limit that set_fraction put, %s, would be passed",
			 frag_size_text(limit, oom->limit));
	else if (!oom->fragmentation)
		snprintf(buf, size, "Too little memory was free, in whatever pieces");
	else if (missing)
		snprintf(buf, size, "Enough bytes were free, but not in one piece");
	else
		snprintf(buf, size, "Enough bytes were free, but the policy did not give them back");
}

/*
 * What is missing is measured against the largest piece there could be: what the device has
 * left, with all that could be released, or the largest free block.
 */
const char *frag_oom_advice(const struct frag_oom *oom, char buf[FRAG_OOM_ADVICE_ROOM])
{
	const struct frag_metrics *m = &oom->metrics;
	uint64_t device_free = m->device_free > 0 ? (uint64_t)m->device_free : 0;
	uint64_t piece = device_free + m->releasable;
	uint64_t missing;
	char unused[FRAG_NUMBER_ROOM], stranded[FRAG_NUMBER_ROOM], largest[FRAG_NUMBER_ROOM];
	char lack[FRAG_NUMBER_ROOM], obstacle[128], end[64] = "";

	if (m->largest_free > piece)
		piece = m->largest_free;
	if (m->opaque) {
		snprintf(buf, FRAG_OOM_ADVICE_ROOM, "%s reserved but unused in the driver's own "
			 "pool; how it lies there nobody tells.",
			 frag_size_text(unused, m->reserved - m->allocated));
		return buf;
	}
	missing = oom->tried > piece ? oom->tried - piece : 0;
	put_obstacle(obstacle, sizeof(obstacle), oom, missing);
	if (missing)
		snprintf(end, sizeof(end), "; %s missing in one piece",
			 frag_size_text(lack, missing));
	frag_snprintf(buf, FRAG_OOM_ADVICE_ROOM,
		      "%s: %s reserved but unallocated, %s of that stranded between live blocks; "
		      "largest free block %s; fi %.2f %%, fi_device %.2f %%%s.", obstacle,
		      frag_size_text(unused, m->reserved - m->allocated),
		      frag_size_text(stranded, m->stranded),
		      frag_size_text(largest, m->largest_free), m->fi, m->fi_device, end);
	return buf;
}
