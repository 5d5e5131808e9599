/* heap_tables.c - the heap's tables: records of blocks, gaps, idle segments, calls of the step. */
#include "heap/heap_tables.h"

#include "base/bug.h"

void frag_note_call(struct frag_heap *h, enum frag_call_kind kind, const struct segment *s,
		    uint64_t offset, uint64_t bytes)
{
	FRAG_ASSERT(h->call_count < h->call_capacity);
	h->calls[h->call_count++] = (struct frag_call){
		.kind = kind,
		.ordinal = s->ordinal,
		.list = s->list,
		.offset = offset,
		.bytes = bytes,
	};
}

void frag_note_step_peaks(struct frag_heap *h)
{
	if (h->totals.reserved > h->totals.step_peak_reserved)
		h->totals.step_peak_reserved = h->totals.reserved;
	if (h->totals.segments > h->totals.step_peak_segments)
		h->totals.step_peak_segments = h->totals.segments;
	if (h->dev->used > h->totals.step_peak_used)
		h->totals.step_peak_used = h->dev->used;
}

void frag_gap_insert(struct frag_heap *h, uint32_t b)
{
	const struct frag_entry e = frag_gap_entry(h, b);

	FRAG_ASSERT(h->segments[h->blocks[b].segment].list < h->gaps.count);
	FRAG_ASSERT(h->blocks[b].state == FRAG_UNMAPPED);
	frag_index_insert(&h->gaps, h->segments[h->blocks[b].segment].list, &e);
}

void frag_gap_remove(struct frag_heap *h, uint32_t b)
{
	const struct frag_entry e = frag_gap_entry(h, b);

	FRAG_ASSERT(h->blocks[b].state == FRAG_UNMAPPED);
	frag_index_remove(&h->gaps, h->segments[h->blocks[b].segment].list, &e);
}

void frag_idle_enter(struct frag_heap *h, uint32_t s)
{
	if (h->segments[s].page || h->segments[s].kept)
		return;
	FRAG_ASSERT(!h->segments[s].live && h->segments[s].idle_at == NONE
		    && h->idle_count < h->idle_capacity);
	h->segments[s].idle_at = h->idle_count;
	h->idle[h->idle_count++] = s;   /* the array has an entry for every segment */
	h->totals.releasable += h->segments[s].bytes;
}

void frag_idle_leave(struct frag_heap *h, uint32_t s)
{
	uint32_t at = h->segments[s].idle_at;
	uint32_t last;

	if (at == NONE)
		return;
	FRAG_ASSERT(at < h->idle_count && h->idle[at] == s);
	last = h->idle[--h->idle_count];
	h->idle[at] = last;
	h->segments[last].idle_at = at;
	h->segments[s].idle_at = NONE;
	h->totals.releasable -= h->segments[s].bytes;
}
