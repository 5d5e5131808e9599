/* explain_memory.c - explains a memory state by segments, blocking blocks, tags and pools. */
#include "explain/explain_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "events/recording_info.h"
#include "events/tape.h"
#include "explain/block_classes.h"
#include "explain/folded_stacks.h"
#include "explain/pending_uses.h"
#include "explain/pending_waits.h"
#include "live_blocks/live_blocks.h"

struct account {
	struct frag_explained *m;
	const struct frag_memory_state *memory;
	const struct frag_tape *tape;
	const struct frag_symbols *symbols;
	struct frag_lifetimes lifetimes;
	struct frag_waits waits;
	uint32_t holder_capacity, pool_capacity;
};

/* Lists the live blocks of a segment with their tags and lifetimes. False: out of memory. */
static bool fill_blocking(const struct account *a, const struct frag_state_segment *seg,
			  struct frag_blocked_segment *to)
{
	to->blocking = calloc(seg->live_blocks, sizeof(*to->blocking));
	for (uint32_t k = seg->first; to->blocking && k < seg->first + seg->count; k++) {
		const struct frag_state_block *b = &a->memory->blocks[k];
		const struct frag_lifetime *life = &a->lifetimes.of[k];
		struct frag_blocking_block *blocking;

		if (!frag_is_live(b))
			continue;
		blocking = &to->blocking[to->blocking_count++];
		*blocking = (struct frag_blocking_block){
			.bytes = b->bytes, .offset = b->offset, .allocated_at = b->birth,
			.freed_at = life->freed, .life = life->life,
			.pending = b->state == FRAG_PENDING, .initial = life->initial,
		};
		FRAG_COUNT_WHILE(blocking->waits, a->waits.count,
				 a->waits.of[blocking->waits].block < k);
		while (blocking->waits + blocking->wait_count < a->waits.count
		       && a->waits.of[blocking->waits + blocking->wait_count].block == k)
			blocking->wait_count++;
		blocking->id = life->id ? strdup(life->id) : NULL;
		if (!blocking->id != !life->id
		    || !frag_tag_json(a->symbols, b->tag, &blocking->tag))
			return false;
	}
	return to->blocking != NULL;
}

static int by_non_releasable(const void *a, const void *b)
{
	const struct frag_blocked_segment *x = a, *y = b;

	return frag_order_two(y->non_releasable, x->non_releasable, x->ordinal, y->ordinal);
}

/*
 * Segments are reserved in the order of their ordinals, so each existed when the oldest block
 * was allocated that is in this or in a later segment.
 */
static void find_reservations(struct account *a)
{
	uint64_t oldest = UINT64_MAX;
	uint32_t k = a->m->segment_count;

	for (uint32_t i = a->memory->segment_count; i-- > 0;) {
		const struct frag_state_segment *seg = &a->memory->segments[i];

		for (uint32_t b = seg->first; b < seg->first + seg->count; b++)
			if (frag_is_live(&a->memory->blocks[b])
			    && a->memory->blocks[b].slot != FRAG_NO_SLOT
			    && frag_birth(&a->lifetimes, a->memory, b) < oldest)
				oldest = frag_birth(&a->lifetimes, a->memory, b);
		if (k && a->m->segments[k - 1].ordinal == seg->ordinal)
			a->m->segments[--k].obtained_by = oldest;
	}
}

/* Fills in the segments with live blocks and non-releasable free bytes. */
static bool fill_segments(struct account *a)
{
	struct frag_explained *m = a->m;

	m->segments = calloc((size_t)a->memory->segment_count + 1, sizeof(*m->segments));
	for (uint32_t i = 0; m->segments && i < a->memory->segment_count; i++) {
		const struct frag_state_segment *seg = &a->memory->segments[i];
		struct frag_blocked_segment *to = &m->segments[m->segment_count];

		if (!seg->live_blocks || !seg->non_releasable)
			continue;
		m->segment_count++;
		*to = (struct frag_blocked_segment){
			.ordinal = seg->ordinal,
			.bytes = seg->bytes,
			.non_releasable = seg->non_releasable,
			.range = seg->page != 0,
		};
		if (!fill_blocking(a, seg, to))
			return false;
	}
	find_reservations(a);
	FRAG_SORT(m->segments, m->segment_count, by_non_releasable);
	return m->segments != NULL;
}

static int by_tag_bytes(const void *a, const void *b)
{
	const struct frag_tag_memory *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return frag_order_two(x->oldest, y->oldest, x->number, y->number);
}

static bool add_holders(struct account *a, struct frag_block_groups *tags)
{
	struct frag_explained *m = a->m;

	for (uint32_t k = 0; k < a->memory->block_count; k++) {
		const struct frag_state_block *b = &a->memory->blocks[k];
		const struct frag_lifetime *life = &a->lifetimes.of[k];
		struct frag_tag_memory *held;
		uint32_t i;

		if (!frag_is_live(b) || b->slot == FRAG_NO_SLOT)
			continue;
		i = frag_block_groups_find(tags, b->tag, 0, 0);
		if (i == FRAG_MAP_NONE || !FRAG_GROW(m->holders, a->holder_capacity, i))
			return false;
		held = &m->holders[i];
		if (i == m->holder_count) {
			*held = (struct frag_tag_memory){ .number = b->tag, .oldest = b->birth };
			m->holder_count++;
		}
		held->bytes += b->bytes;
		held->blocks++;
		held->oldest = frag_min(held->oldest, b->birth);
		/* the program is done with it: it has no class any more */
		if (b->state == FRAG_PENDING)
			continue;
		held->of_class[life->life] += b->requested;
		held->evidence[life->life] =
			(uint8_t)frag_max(held->evidence[life->life], life->evidence);
	}
	return true;
}

static bool fill_holders(struct account *a)
{
	struct frag_explained *m = a->m;
	struct frag_block_groups tags;
	bool good = frag_block_groups_init(&tags) && add_holders(a, &tags);

	frag_block_groups_fini(&tags);
	FRAG_SORT(m->holders, m->holder_count, by_tag_bytes);
	for (uint32_t i = 0; i < m->holder_count && good; i++)
		good = frag_tag_json(a->symbols, m->holders[i].number, &m->holders[i].tag);
	return good;
}

static int by_pool(const void *a, const void *b)
{
	const struct frag_pool_row *x = a, *y = b;

	return x->pool < y->pool ? -1 : x->pool > y->pool;
}

/* There are few. */
static bool fill_pools(struct account *a)
{
	struct frag_explained *m = a->m;

	for (uint32_t i = 0; i < a->memory->segment_count; i++) {
		const struct frag_state_segment *seg = &a->memory->segments[i];
		uint32_t k = 0;

		if (!seg->pool)
			continue;
		while (k < m->pool_count && m->pools[k].pool != seg->pool)
			k++;
		if (!FRAG_GROW(m->pools, a->pool_capacity, k))
			return false;
		if (k == m->pool_count) {
			m->pools[m->pool_count++] = (struct frag_pool_row){
				.pool = seg->pool, .name = frag_pool_json(a->tape, seg->pool),
			};
			if (!m->pools[k].name)
				return false;
		}
		m->pools[k].segments++;
		m->pools[k].reserved += seg->bytes;
		m->pools[k].live += seg->live;
		m->pools[k].free += seg->free;
		m->pools[k].non_releasable += seg->non_releasable;
	}
	FRAG_SORT(m->pools, m->pool_count, by_pool);
	return true;
}

int frag_explain_memory(struct frag_explained *m, const struct frag_memory_state *memory,
			uint32_t device, const struct frag_tape *tape, bool folded,
			struct frag_error *err)
{
	struct account a = {
		.m = m, .memory = memory, .tape = tape, .symbols = frag_tape_symbols(tape),
	};
	int rc = frag_lifetimes_find(&a.lifetimes, memory, false, tape, err);

	if (!rc && !(frag_waits_find(&a.waits, memory, device, tape, m->step) && frag_pending_uses_fill(m, memory, tape, &a.lifetimes, &a.waits)
		     && fill_segments(&a) && fill_holders(&a) && fill_pools(&a)
		     && (!folded || frag_fold_stacks(m, memory, a.symbols))))
		rc = frag_fail_nomem(err);
	free(a.waits.of);
	for (uint32_t i = 0; i < a.lifetimes.count; i++)
		free(a.lifetimes.of[i].id);
	free(a.lifetimes.of);
	m->accounted = !rc;
	return rc;
}

void frag_explain_memory_fini(struct frag_explained *m)
{
	for (uint32_t i = 0; i < m->use_count; i++)
		free(m->uses[i].stream);
	free(m->uses);
	free(m->waits);
	for (uint32_t i = 0; i < m->segment_count; i++) {
		for (uint32_t k = 0; k < m->segments[i].blocking_count; k++) {
			free(m->segments[i].blocking[k].id);
			free(m->segments[i].blocking[k].tag);
		}
		free(m->segments[i].blocking);
	}
	free(m->segments);
	for (uint32_t i = 0; i < m->holder_count; i++)
		free(m->holders[i].tag);
	free(m->holders);
	for (uint32_t i = 0; i < m->folded_count; i++)
		free(m->folded[i].line);
	free(m->folded);
	for (uint32_t i = 0; i < m->pool_count; i++)
		free(m->pools[i].name);
	free(m->pools);
}
