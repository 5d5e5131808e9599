/* block_window.c - the adjacent blocks with the fewest live bytes that a failed request would need. */
#include "explain/block_window.h"

struct search {
	const struct frag_heap *heap;
	const struct frag_failed_request *request;
	frag_block low;         /* the first block of the run that ends here */
	struct frag_block_window run, segment, best;
	bool kept;              /* the segment is never released */
	bool any;
};

static uint64_t live_bytes(const struct frag_block_view *b)
{
	return b->state == FRAG_ALLOCATED || b->state == FRAG_PENDING ? b->bytes : 0;
}

static void note_best(struct search *s, const struct frag_block_window *w)
{
	const struct frag_block_window *best = &s->best;
	bool better = !s->any || w->live < best->live;

	if (s->any && w->live == best->live)
		better = w->whole != best->whole ? best->whole : w->ordinal < best->ordinal;
	if (better)
		s->best = *w;
	s->any = true;
}

/* All blocks of the segment before have been seen. */
static void window_end_segment(struct search *s)
{
	const uint64_t needed = frag_heap_round(s->heap, s->request->demand) - s->request->left;

	if (s->segment.bytes && !s->kept
	    && frag_heap_round(s->heap, s->segment.bytes) >= needed)
		note_best(s, &s->segment);
}

static void window_begin_segment(struct search *s, const struct frag_segment_view *seg)
{
	window_end_segment(s);
	s->segment = (struct frag_block_window){
		.ordinal = seg->ordinal, .bytes = seg->mapped, .whole = true,
	};
	s->kept = seg->kept;
	s->low = seg->first;
	s->run = (struct frag_block_window){ .ordinal = seg->ordinal };
}

/* Each block ends the shortest run after which there is enough. */
static void end_run(struct search *s, const struct frag_block_view *b)
{
	if (!s->run.bytes)
		s->run.offset = b->offset;
	s->run.segment = b->segment;
	s->run.bytes += b->bytes;
	s->run.live += live_bytes(b);
	while (s->run.bytes >= s->request->bytes) {
		const struct frag_block_view low = frag_heap_look(s->heap, s->low);

		if (s->run.bytes - low.bytes < s->request->bytes) {
			note_best(s, &s->run);
			break;
		}
		s->run.bytes -= low.bytes;
		s->run.live -= live_bytes(&low);
		s->run.offset += low.bytes;
		s->low = low.next;
	}
}

/* Blocks come in the order of their addresses. */
static void window_visit(void *ctx, const struct frag_segment_view *seg,
				  const struct frag_block_view *b)
{
	struct search *s = ctx;

	if (!b) {
		window_begin_segment(s, seg);
		return;
	}
	s->segment.segment = b->segment;
	s->segment.live += live_bytes(b);
	if (seg->pool != s->request->pool || seg->slot_size
	    || (s->request->list != FRAG_NO_LIST && seg->list != s->request->list))
		return;
	if (b->state != FRAG_UNMAPPED) {
		end_run(s, b);
		return;
	}
	s->low = b->next;
	s->run.bytes = s->run.live = 0;
}

bool frag_window_find(const struct frag_heap *h, const struct frag_failed_request *request,
		      struct frag_block_window *out)
{
	struct search s = { .heap = h, .request = request };

	if (request->left >= request->demand)
		return false;
	frag_heap_walk(h, &s, window_visit);
	window_end_segment(&s);
	*out = s.best;
	return s.any && s.best.live;
}
