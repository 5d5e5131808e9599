/*
 * pytorch_restore.c - restores PyTorch's allocator to its state in the middle of a program:
 * segments from before the first request, and blocks at known offsets.
 */
#include "policy/heap_access.h"
#include "policy/policies.h"
#include "policy/pytorch.h"
#include "policy/pytorch_settings.h"
#include "policy/pytorch_total.h"

/* A range as it was: reserved, and its runs mapped. */
static int restore_range(struct frag_policy *p, const struct frag_restored_segment *seg,
			 frag_list list, frag_block *out)
{
	const struct pytorch *t = p->state;
	uint64_t page = seg->large ? t->large_segment : SMALL_SEGMENT;
	uint64_t bytes = frag_pytorch_range_bytes(p, page);
	frag_block b = FRAG_NO_BLOCK;
	frag_segment range;
	int rc;

	*out = FRAG_NO_BLOCK;
	for (uint32_t i = 0; i < seg->run_count; i++)
		if (seg->runs[i].offset % page || seg->runs[i].bytes % page)
			return 0;
	if (!frag_pytorch_range_reaches(p, page, seg->bytes))
		bytes = frag_round_up(seg->bytes, page);
	rc = frag_heap_reserve(p->heap, list, bytes, page, &b);
	range = frag_heap_look(p->heap, b).segment;
	for (uint32_t i = 0; i < seg->run_count && !rc; i++) {
		frag_block mapped;

		/* the runs rise, so what is not mapped yet is the last block */
		rc = frag_heap_map(p->heap, b, seg->runs[i].offset, seg->runs[i].bytes, &mapped);
		if (!rc) {
			frag_pytorch_note_mapped(p, mapped);
			b = frag_heap_look(p->heap, mapped).next;
		}
	}
	if (!rc)
		*out = frag_heap_look_segment(p->heap, range).first;
	return rc;
}

/* Reserves a segment that the trace begins with, unless the fraction forbids it. */
int frag_pytorch_restore_segment(struct frag_policy *p, const struct frag_restored_segment *seg,
				 frag_block *out)
{
	const struct frag_request rq = {
		.stream = seg->stream, .pool = seg->pool, .stream_order = seg->stream_order,
	};
	uint32_t first = frag_pytorch_calls(p);
	uint64_t bytes = seg->range ? 0 : seg->bytes;
	frag_list list;
	int rc = frag_pytorch_list(p, &rq, seg->large, &list);

	for (uint32_t i = 0; i < seg->run_count; i++)
		bytes += seg->runs[i].bytes;
	if (!rc && !frag_pytorch_may_reserve(p, frag_heap_totals(p->heap)->reserved + bytes)) {
		frag_heap_tried(p->heap, bytes);
		rc = -FRAG_EDEVMEM;
	}
	if (!rc && seg->range)
		rc = restore_range(p, seg, list, out);
	else if (!rc)
		rc = frag_heap_grow(p->heap, list, seg->bytes, out);
	frag_pytorch_count_splits(p, first);
	return rc;
}

/* Allocates a block at its recorded place, as large as PyTorch would have left it. */
int frag_pytorch_restore_block(struct frag_policy *p, const struct frag_request *rq,
			       frag_block hole, uint64_t offset, uint64_t bytes, uint64_t room,
			       frag_block *out)
{
	struct pytorch *t = p->state;
	const struct frag_block_view k = frag_heap_look(p->heap, hole);
	const bool large = frag_pytorch_is_large(p->heap,
			frag_heap_look_segment(p->heap, k.segment).list);
	uint64_t need = frag_pytorch_round(rq->bytes, t->set[ROUNDUP]);
	uint64_t end = k.offset + k.bytes, taken;
	struct frag_stat_alloc found;
	int rc;

	*out = FRAG_NO_BLOCK;
	if (room > end - offset)
		room = end - offset;
	taken = bytes ? bytes : need;
	if (taken > room || (!bytes && !frag_pytorch_splits(t, large, need, room - taken)))
		taken = room;
	if (taken < rq->bytes)
		return 0;
	found = (struct frag_stat_alloc){
		.large = large,
		.range = frag_pytorch_in_range(p->heap, hole),
		.requested = rq->bytes,
		.found = k.bytes,
		.taken = taken,
		.oversize = frag_pytorch_is_oversize(t, taken),
		.split = k.prev != FRAG_NO_BLOCK || k.next != FRAG_NO_BLOCK,
		.apart = offset > k.offset && offset + taken < end,
	};
	rc = frag_cut_below(p->heap, &hole, offset);
	rc = rc ? rc : frag_heap_take(p->heap, &hole, rq->bytes, taken);
	if (rc)
		return rc;
	frag_stats_alloc(&t->stats, &found);
	*out = hole;
	return 0;
}
