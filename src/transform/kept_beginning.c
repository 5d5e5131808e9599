/* kept_beginning.c - the state at the beginning of a trace that is made of devices of others. */
#include "transform/kept_beginning.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"

/* Grows each of the arrays by that of b. */
static bool beginning_reserve(struct frag_first_state *sum, const struct frag_first_state *b,
			      uint32_t orders)
{
	const size_t segments = (size_t)sum->segment_count + (b ? b->segment_count : 0) + 1;
	const size_t blocks = (size_t)sum->block_count + (b ? b->block_count : 0) + 1;
	struct frag_initial *s = realloc(sum->segments, segments * sizeof(*s));
	struct frag_first_block *k = realloc(sum->blocks, blocks * sizeof(*k));
	struct frag_ranks_by_address *o = realloc(sum->orders, orders * sizeof(*o));

	sum->segments = s ? s : sum->segments;
	sum->blocks = k ? k : sum->blocks;
	sum->orders = o ? o : sum->orders;
	return s && k && o;
}

bool frag_beginning_add(struct frag_first_state *sum, const struct frag_first_state *b,
			uint32_t first, uint32_t count)
{
	const uint32_t to = sum->order_count;
	uint32_t *number;       /* in sum, of each segment; UINT32_MAX: it is not there */

	FRAG_ASSERT(!b || frag_beginning_leads(b));
	if (!beginning_reserve(sum, b, to + count))
		return false;
	memset(&sum->orders[to], 0, count * sizeof(*sum->orders));
	sum->order_count += count;
	if (!b)
		return true;
	for (uint32_t d = 0; d < count && first + d < b->order_count; d++)
		sum->orders[to + d] = b->orders[first + d];
	number = malloc(((size_t)b->segment_count + 1) * sizeof(*number));
	if (!number)
		return false;
	for (uint32_t i = 0; i < b->segment_count; i++) {
		const uint32_t device = b->segments[i].device;

		number[i] = UINT32_MAX;
		if (device < first || device - first >= count)
			continue;
		number[i] = sum->segment_count++;
		sum->segments[number[i]] = b->segments[i];
		sum->segments[number[i]].device = to + device - first;
	}
	for (uint32_t i = 0; i < b->block_count; i++) {
		struct frag_first_block *k = &sum->blocks[sum->block_count];

		if (number[b->blocks[i].spot.initial] == UINT32_MAX)
			continue;
		*k = b->blocks[i];
		k->event = sum->block_count++;
		k->spot.initial = number[k->spot.initial];
	}
	free(number);
	return true;
}

void frag_beginning_fini(struct frag_first_state *sum)
{
	free(sum->segments);
	free(sum->blocks);
	free(sum->orders);
}
