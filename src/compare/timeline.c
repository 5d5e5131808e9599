/* timeline.c - a run over its steps, in a few stretches. */
#include "compare/timeline.h"

#include "base/bug.h"

/*
 * Neighbours become one stretch. Where the count is even, the last one's steps
 * join a full neighbour's; where it is odd, they stay as they were.
 */
static void halve(struct frag_timeline *c)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		struct frag_stretch s = c->stretch[i];
		struct frag_stretch *to = &c->stretch[i / 2];

		if (i % 2 == 0) {
			*to = s;
			count++;
			continue;
		}
		if (s.reserved > to->reserved)
			to->reserved = s.reserved;
		if (s.allocated > to->allocated)
			to->allocated = s.allocated;
	}
	c->in_last += c->count % 2 ? 0 : c->width;
	c->count = count;
	c->width *= 2;
}

/*
 * Each stretch covers `width` steps. When all are taken, neighbours are joined in pairs and the
 * width doubles, so the space is fixed, however many steps come.
 */
void frag_timeline_add(struct frag_timeline *c, const struct frag_step *step)
{
	struct frag_stretch *last;

	FRAG_ASSERT(c->count <= FRAG_TIMELINE_MAX);
	if (c->width == 0)
		c->width = 1;
	if (c->count == 0 || c->in_last == c->width) {
		if (c->count == FRAG_TIMELINE_MAX)
			halve(c);
		c->stretch[c->count++] = (struct frag_stretch){ .from = step->event->step };
		c->in_last = 0;
	}
	c->in_last++;
	last = &c->stretch[c->count - 1];
	if (step->metrics->reserved > last->reserved)
		last->reserved = step->metrics->reserved;
	if (step->metrics->allocated > last->allocated)
		last->allocated = step->metrics->allocated;
}

void frag_timeline_widen(struct frag_timeline *c, uint64_t width)
{
	FRAG_ASSERT(!c->count || c->width);
	while (c->count && c->width < width)
		halve(c);
}

void frag_timeline_shorten(struct frag_timeline *c, uint32_t max)
{
	FRAG_ASSERT(max > 0);
	while (c->count > max)
		halve(c);
}
