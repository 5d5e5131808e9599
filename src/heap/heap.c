/*
 * heap.c - the heap as a whole: its tables, its copies, and what a policy notes in it; and why a
 * verb was refused.
 */
#include "fragsim/heap.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/format.h"
#include "heap/heap_inline.h"

/* Tables ------------------------------------------------------------------ */

void frag_gap_insert(struct frag_heap *h, uint32_t b)
{
	const struct frag_entry e = frag_gap_entry(h, b);

	FRAG_ASSERT(h->segments[h->blocks[b].segment].list < h->gaps.count);
	FRAG_ASSERT(h->blocks[b].state == FRAG_UNMAPPED);
	frag_index_insert(&h->gaps, h->segments[h->blocks[b].segment].list, &e, e.size);
}

void frag_gap_remove(struct frag_heap *h, uint32_t b)
{
	const struct frag_entry e = frag_gap_entry(h, b);

	FRAG_ASSERT(h->blocks[b].state == FRAG_UNMAPPED);
	frag_index_remove(&h->gaps, h->segments[h->blocks[b].segment].list, &e, e.size);
}


/*
 * Lists and keys that the policy defines. The heap calls the policy once, when a block becomes
 * free or has changed, and stores list and key with the block. So the block is found again even if
 * the policy would return others then. Every number names a list, and every number is a key.
 */
void frag_heap_sort_by(struct frag_heap *h, const struct frag_sorter *by)
{
	h->sorter = *by;
	h->policy_sorts = by->which || by->key || h->index.order == FRAG_ORDER_KEY;
}

void frag_sorted_insert(struct frag_heap *h, uint32_t b)
{
	const struct frag_sorter *by = &h->sorter;
	const struct frag_block_view view = frag_heap_look_unchecked(h, b);
	const struct frag_segment_view segment = frag_heap_look_segment_unchecked(h, view.segment);
	struct frag_heap_block *k = &h->blocks[b];
	struct frag_entry e;

	FRAG_ASSERT(h->policy_sorts);
	k->list = !by->which ? segment.list
		: frag_index_list(&h->index, segment.pool,
				  by->which(by->state, by->param, &segment, &view));
	k->key = by->key ? by->key(by->state, by->param, &segment, &view) : 0;
	FRAG_ASSERT(k->list < h->index.count);
	e = frag_sorted_entry(h, b);
	frag_index_insert(&h->index, k->list, &e, frag_fit_size(&h->segments[k->segment], k));
}

void frag_sorted_remove(struct frag_heap *h, uint32_t b)
{
	const struct frag_entry e = frag_sorted_entry(h, b);
	const struct frag_heap_block *k = &h->blocks[b];

	FRAG_ASSERT(k->state == FRAG_FREE && k->list < h->index.count);
	frag_index_remove(&h->index, k->list, &e, frag_fit_size(&h->segments[k->segment], k));
}

/* Creation, copies, deletion ------------------------------------------------ */

/* The end of the memory that begins with block b; *next is the unmapped block after it. */
static uint64_t mapped_end(const struct frag_heap *h, uint32_t b, uint32_t *next)
{
	uint64_t end = h->blocks[b].offset;

	for (; b != FRAG_NO_ENTRY && h->blocks[b].state != FRAG_UNMAPPED; b = h->blocks[b].next)
		end += h->blocks[b].bytes;
	*next = b;
	return end;
}

static void close_range(struct frag_heap *h, uint32_t s)
{
	const struct frag_heap_segment *g = &h->segments[s];
	uint32_t b = g->first;
	uint64_t cost;

	FRAG_ASSERT(g->in_use && g->page);
	while (b != FRAG_NO_ENTRY) {
		uint64_t offset = h->blocks[b].offset;
		uint32_t next;
		uint64_t end = mapped_end(h, b, &next);

		if (end > offset)
			h->dev->ops->unmap(h->dev, g->addr, offset, end - offset, g->page,
					   &cost);
		b = next != FRAG_NO_ENTRY ? h->blocks[next].next : FRAG_NO_ENTRY;
	}
	h->dev->ops->unreserve(h->dev, g->addr, g->bytes, &cost);
}

struct frag_heap *frag_heap_new(struct frag_device *dev, enum frag_order order)
{
	struct frag_heap *h = calloc(1, sizeof(*h));

	FRAG_ASSERT(dev);
	if (!h)
		return NULL;
	h->dev = dev;
	h->unused_block = h->unused_segment = FRAG_NO_ENTRY;
	h->policy_sorts = order == FRAG_ORDER_KEY;
	if (!frag_index_init(&h->index, order)
	    || !frag_index_init(&h->gaps, FRAG_ORDER_ADDRESS)) {
		frag_heap_del(h);
		return NULL;
	}
	return h;
}

void frag_heap_del(struct frag_heap *h)
{
	uint64_t cost;

	if (!h)
		return;
	for (uint32_t s = 0; s < h->segment_count; s++) {
		if (h->segments[s].in_use && h->segments[s].page)
			close_range(h, s);
		else if (h->segments[s].in_use)
			h->dev->ops->release(h->dev, h->segments[s].addr, h->segments[s].bytes,
					     &cost);
	}
	frag_index_fini(&h->index);
	frag_index_fini(&h->gaps);
	free(h->blocks);
	free(h->segments);
	free(h->idle);
	free(h->pending);
	free(h->calls);
	free(h->moved);
	free(h);
}

/*
 * Unused capacity is not copied: arrays grow again when they need to. The exception is the idle
 * list, which keeps an entry for each segment, because becoming idle must not fail.
 */
static bool own_tables(struct frag_heap *h)
{
	bool good = frag_array_copy(&h->blocks, h->block_count, 0, sizeof(*h->blocks));

	good &= frag_array_copy(&h->segments, h->segment_count, 0, sizeof(*h->segments));
	good &= frag_array_copy(&h->idle, h->idle_count, h->segment_count - h->idle_count,
				sizeof(*h->idle));
	good &= frag_array_copy(&h->pending, h->pending_count, 0, sizeof(*h->pending));
	good &= frag_array_copy(&h->calls, h->call_count, 0, sizeof(*h->calls));
	good &= frag_array_copy(&h->moved, h->moved_count, 0, sizeof(*h->moved));
	h->block_capacity = h->block_count;
	h->segment_capacity = h->idle_capacity = h->segment_count;
	h->pending_capacity = h->pending_count;
	h->call_capacity = h->call_count;
	h->moved_capacity = h->moved_count;
	return good;
}

struct frag_heap *frag_heap_copy(const struct frag_heap *from, struct frag_device *dev)
{
	struct frag_heap *h = malloc(sizeof(*h));
	bool good;

	FRAG_ASSERT(dev != from->dev);
	FRAG_ASSERT(from->ready_count <= from->pending_count);
	if (!h)
		return NULL;
	*h = *from;
	h->dev = dev;
	good = own_tables(h);
	good &= frag_index_copy(&h->index);
	good &= frag_index_copy(&h->gaps);
	if (good)
		return h;
	h->segment_count = 0;   /* nothing of it is the device's */
	frag_heap_del(h);
	return NULL;
}

/* What a policy or the engine notes ----------------------------------------- */

void frag_heap_by_address(struct frag_heap *h)
{
	h->by_address = true;
}

void frag_heap_keep_all(struct frag_heap *h)
{
	h->keeps_all = true;
}

void frag_heap_set_ties(struct frag_heap *h, enum frag_ties ties)
{
	FRAG_ASSERT(!h->segment_count);
	h->ties = ties;
}

void frag_heap_renew(struct frag_heap *h, frag_block b)
{
	FRAG_ASSERT(frag_is_block(h, b));
	frag_renew(h, b);
}

void frag_heap_step(struct frag_heap *h)
{
	frag_heap_step_inline(h);
}

int frag_heap_list(struct frag_heap *h, uint32_t pool, uint32_t which, frag_list *out)
{
	return frag_heap_list_unchecked(h, pool, which, out);
}

void frag_heap_set_list_user(struct frag_heap *h, frag_list list, uint64_t user)
{
	if (list < h->index.count)
		h->index.lists[list].user = user;
}

void frag_heap_pool_done(struct frag_heap *h, uint32_t pool)
{
	for (uint32_t i = 0; i < h->index.count; i++)
		h->index.lists[i].done |= h->index.lists[i].pool == pool;
}

void frag_heap_set_user(struct frag_heap *h, frag_block b, uint32_t user)
{
	if (frag_is_block(h, b))
		frag_heap_set_user_unchecked(h, b, user);
}

void frag_heap_set_segment_user(struct frag_heap *h, frag_segment s, uint32_t user)
{
	if (s < h->segment_count)
		h->segments[s].user = user;
}

void frag_heap_limit(struct frag_heap *h, double fraction)
{
	frag_device_limit(h->dev, fraction);
}

bool frag_heap_capacity_reaches(struct frag_heap *h, uint64_t bytes)
{
	const bool yes = !h->dev->total || h->dev->total >= bytes;

	frag_device_narrow(h->dev, yes ? bytes : 0, yes ? UINT64_MAX : bytes);
	return yes;
}

void frag_heap_pin_capacity(struct frag_heap *h)
{
	frag_device_narrow(h->dev, h->dev->total, h->dev->total + 1);
}

void frag_heap_count_retry(struct frag_heap *h)
{
	h->totals.retries++;
}

void frag_heap_tried(struct frag_heap *h, uint64_t bytes)
{
	h->totals.tried = bytes;
}

/* Refusals ------------------------------------------------------------------ */

/* The rule, after what has been written; all of that fits, as names of verbs are short. */
__attribute__((format(printf, 3, 0)))
static void add_rule(struct frag_heap *h, int used, const char *rule, va_list args)
{
	FRAG_ASSERT(used > 0 && (size_t)used < sizeof(h->refusal));
	frag_vsnprintf(h->refusal + used, sizeof(h->refusal) - (size_t)used, rule, args);
}

int frag_refuse(struct frag_heap *h, const char *verb, const char *rule, ...)
{
	int used = snprintf(h->refusal, sizeof(h->refusal), "%s: ", verb);
	va_list args;

	va_start(args, rule);
	add_rule(h, used, rule, args);
	va_end(args);
	return -FRAG_EPOLICY;
}

/* What the handle is where it is no block; NULL: it is one. */
static const char *refusal_fault_of(const struct frag_heap *h, frag_block b)
{
	if (b == FRAG_NO_BLOCK)
		return "FRAG_NO_BLOCK is no block";
	if (!frag_is_block(h, b))
		return "there never was such a block";
	/* the record of a block that has ended */
	return h->blocks[b].bytes ? NULL : "it was merged into another one, or released";
}

static int refusal_describe(struct frag_heap *h, const char *verb, frag_block b)
{
	static const char *const states[] = {
		[FRAG_FREE] = "free", [FRAG_ALLOCATED] = "allocated", [FRAG_PENDING] = "pending",
		[FRAG_UNMAPPED] = "unmapped", [FRAG_DETACHED] = "detached",
	};
	const struct frag_heap_block *k = &h->blocks[b];

	FRAG_ASSERT(frag_is_block(h, b));
	return snprintf(h->refusal, sizeof(h->refusal), "%s: block %" PRIu32 " (segment %" PRIu32
			", offset %" PRIu64 ", %" PRIu64 " bytes, %s) ", verb, b,
			h->segments[k->segment].ordinal, k->offset, k->bytes, states[k->state]);
}

int frag_refuse_block(struct frag_heap *h, const char *verb, frag_block b, const char *rule, ...)
{
	const char *fault = refusal_fault_of(h, b);
	va_list args;

	if (b == FRAG_NO_BLOCK)
		return frag_refuse(h, verb, "%s", fault);
	if (fault)
		return frag_refuse(h, verb, "block %" PRIu32 ": %s", b, fault);
	va_start(args, rule);
	add_rule(h, refusal_describe(h, verb, b), rule, args);
	va_end(args);
	return -FRAG_EPOLICY;
}

const char *frag_refusal(const struct frag_heap *h)
{
	return h->refusal;
}
