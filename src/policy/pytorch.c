/*
 * pytorch.c - the CUDA caching allocator of PyTorch 2.15, decision by decision.
 *
 * Free blocks are in lists, one for each pool, stream and class (small: up to 1 MiB, else
 * large), ordered by size, then by the age of their segment, then by offset. A request takes the
 * first block that is large enough, unless a rule excludes it; no other block is considered. On
 * a miss it tries in turn: collect old blocks, call the device, release blocks that are large
 * enough, release everything. A freed block that other streams still use stays pending until the
 * next request after they are done.
 *
 * Named after what was measured on the shipped binary: fragsim-policies(7).
 */
#include <inttypes.h>

#include "policy/policies.h"
#include "policy/pytorch.h"
#include "policy/pytorch_settings.h"
#include "policy/pytorch_total.h"
#include "policy/small_pool.h"

#define SMALL_MAX MIB
#define EXACT_FROM (10 * MIB)
#define EXACT_UNIT (2 * MIB)

/* A request on its way down the ladder. */
struct want {
	const struct frag_request *rq;
	frag_list list;
	uint64_t need;          /* rounded */
	uint64_t segment;       /* bytes of a new segment for it */
	bool large;
};

static void derive(struct pytorch *t)
{
	t->max_split = t->set[MAX_SPLIT_MB] ? t->set[MAX_SPLIT_MB] * MIB : UINT64_MAX;
	t->non_split = t->set[MAX_NON_SPLIT_MB] * MIB;
	t->large_segment = t->set[LARGE_SEGMENT_MB] * MIB;
	t->threshold = frag_pytorch_real(t->set[GC_THRESHOLD]);
}

/*
 * Up to 2.11 the lower address came first. A trace does not say where segments were; each new one
 * is taken to be below all others, as most are that drivers give.
 */
static int order_equals(struct frag_policy *p)
{
	struct pytorch *t = p->state;
	const uint64_t version = t->set[VERSION];

	t->by_creation = version == 12;
	if (frag_set_ties(p->heap, version >= 13 ? FRAG_TIES_AGE
				   : t->by_creation ? FRAG_TIES_CREATION : FRAG_TIES_FALLING))
		return 0;
	return frag_fail(p->err, FRAG_EUSAGE, "a plug-in has no order but that by age");
}

static int pytorch_init(struct frag_policy *p)
{
	struct pytorch *t = p->state;

	for (uint32_t i = 0; frag_pytorch_params[i].name; i++)
		t->set[i] = p->param[i];
	derive(t);
	t->fraction = frag_pytorch_real(t->set[FRACTION]);
	t->limited = t->fraction < 1;
	return order_equals(p);
}

/* Frees a block, merges it with adjacent free ones, and updates the statistics. */
static int pytorch_give(struct frag_policy *p, frag_block b)
{
	struct pytorch *t = p->state;
	const struct frag_block_view was = frag_look(p->heap, b);
	const struct frag_segment_view s = frag_look_segment(p->heap, was.segment);
	struct frag_block_view now;
	struct frag_stat_free freed = {
		.large = frag_pytorch_is_large(p->heap, s.list), .range = s.page != 0,
		.oversize = frag_pytorch_is_oversize(t, was.bytes),
	};
	int rc;

	if (was.state == FRAG_ALLOCATED)
		frag_stats_freed(&t->stats, &freed, was.bytes);
	rc = frag_give(p->heap, b, &b);
	if (rc)
		return rc;
	frag_set_user(p->heap, b, t->searches);
	now = frag_look(p->heap, b);
	freed.merged = (uint32_t)(now.prev != was.prev) + (now.next != was.next);
	freed.split = now.prev != FRAG_NO_BLOCK || now.next != FRAG_NO_BLOCK;
	frag_stats_ended(&t->stats, &freed, was.requested, was.bytes, now.bytes);
	return 0;
}

static void pytorch_deferred(struct frag_policy *p, frag_block b)
{
	struct pytorch *t = p->state;
	struct frag_block_view k = frag_heap_look(p->heap, b);
	struct frag_stat_free freed = {
		.large = frag_pytorch_is_large(p->heap,
					       frag_heap_look_segment(p->heap, k.segment).list),
		.oversize = frag_pytorch_is_oversize(t, k.bytes),
	};

	frag_stats_freed(&t->stats, &freed, k.bytes);
}

/* What finished since the last request is noticed now. */
static int poll_streams(struct frag_policy *p, uint64_t tick)
{
	struct pytorch *t = p->state;
	frag_block b;
	int rc = 0;

	t->polled = tick;
	if (t->by_creation)
		frag_order_ready(p->heap, false);
	while (!rc && (b = frag_find_ready(p->heap)) != FRAG_NO_BLOCK)
		rc = pytorch_give(p, b);
	return rc;
}

/* As much as a block could become: with the unmapped addresses after it. */
struct reach {
	uint64_t own, bytes;    /* without them, and with */
	uint64_t end;           /* at a range's end: where that begins */
	uint64_t page;
	bool at_end;            /* the range's length, which the total decides, counts */
};

static struct reach reach_of(const struct frag_policy *p, frag_block b)
{
	const struct frag_block_view k = frag_heap_look(p->heap, b);
	struct reach reach = { .own = k.bytes, .bytes = k.bytes };
	struct frag_block_view next;

	if (k.next == FRAG_NO_BLOCK || !frag_pytorch_in_range(p->heap, b))
		return reach;
	next = frag_heap_look(p->heap, k.next);
	if (next.state != FRAG_UNMAPPED)
		return reach;
	reach.bytes += next.bytes;
	reach.end = next.offset;
	reach.page = frag_heap_page(p->heap, b);
	reach.at_end = frag_pytorch_is_end(p, k.next);
	return reach;
}

/* Could the first become less than the second, which is no larger without growth? */
static bool is_less(const struct frag_policy *p, frag_block first, frag_block second)
{
	const struct reach a = reach_of(p, first), b = reach_of(p, second);

	if (a.at_end && b.at_end && a.page != b.page)
		frag_pytorch_pin_total(p);
	/* the length of the one at the end decides, with the known bytes of both */
	if (b.at_end && !a.at_end)
		return frag_pytorch_range_reaches(p, b.page, a.bytes - b.own + b.end + 1);
	if (a.at_end && !b.at_end)
		return b.bytes > a.own
		       && !frag_pytorch_range_reaches(p, a.page, b.bytes - a.own + a.end);
	return a.bytes < b.bytes;
}

/* Holes between blocks are better than the end that can grow. */
static frag_block prefer_hole(const struct frag_policy *p, frag_block b)
{
	while (frag_pytorch_in_range(p->heap, b)) {
		frag_block next = frag_heap_after(p->heap, b);

		if (next == FRAG_NO_BLOCK || !is_less(p, next, b))
			break;
		b = next;
	}
	return b;
}

static frag_block pytorch_find(struct frag_policy *p, const struct want *w)
{
	struct pytorch *t = p->state;
	frag_block b;
	uint64_t bytes;

	if (frag_pytorch_collects(p) && w->large && w->rq->pool == 0)
		t->searches++;
	b = frag_find(p->heap, w->list, w->need);
	if (t->set[EXPANDABLE_SEGMENTS] && b != FRAG_NO_BLOCK)
		b = prefer_hole(p, b);
	else
		while (b != FRAG_NO_BLOCK && frag_pytorch_in_range(p->heap, b))
			b = frag_heap_after(p->heap, b);
	if (b == FRAG_NO_BLOCK)
		return b;
	bytes = frag_look(p->heap, b).bytes;
	if (w->need < t->max_split ? bytes >= t->max_split : bytes >= w->need + t->non_split)
		return FRAG_NO_BLOCK;
	return b;
}

/* Do the free and unmapped blocks from `start` on total `need` bytes? */
static bool has_run(const struct frag_policy *p, frag_block start, uint64_t need)
{
	const uint64_t offset = frag_heap_look(p->heap, start).offset;
	uint64_t bytes = 0;

	for (frag_block b = start; b != FRAG_NO_BLOCK && bytes < need;) {
		const struct frag_block_view k = frag_heap_look(p->heap, b);

		if (k.state != FRAG_FREE && k.state != FRAG_UNMAPPED)
			break;
		if (frag_pytorch_is_end(p, b))
			return frag_pytorch_range_reaches(p, frag_heap_page(p->heap, b),
							  offset + need);
		bytes += k.bytes;
		b = k.next;
	}
	return bytes >= need;
}

/* The lowest place of the list's ranges where the request could grow; or none. */
static frag_block pytorch_find_growth(const struct frag_policy *p, const struct want *w)
{
	const struct frag_heap *h = p->heap;
	frag_block u = frag_heap_find_unmapped(h, w->list, FRAG_NO_BLOCK);

	for (; u != FRAG_NO_BLOCK; u = frag_heap_find_unmapped(h, w->list, u)) {
		frag_block prev = frag_heap_look(h, u).prev;
		frag_block start = u;

		if (prev != FRAG_NO_BLOCK && frag_heap_look(h, prev).state == FRAG_FREE)
			start = prev;
		if (has_run(p, start, w->need))
			return start;
	}
	return FRAG_NO_BLOCK;
}

static int new_range(struct frag_policy *p, const struct want *w, uint64_t page, frag_block *out)
{
	const struct pytorch *t = p->state;
	uint64_t bytes = frag_pytorch_range_bytes(p, page);
	int rc = frag_heap_reserve(p->heap, w->list, bytes, page, out);

	if (rc || frag_pytorch_range_reaches(p, page, w->need))
		return rc;
	/* up to 2.14 the range stays where it is, empty */
	if (t->set[VERSION] >= 15)
		rc = frag_heap_release(p->heap, *out);
	return rc ? rc : -FRAG_EDEVMEM;
}

/* Maps what is missing, as much as `bytes` of block u needs. */
static int pytorch_map_pages(struct frag_heap *h, frag_block u, uint64_t bytes, uint64_t page,
			     frag_block *out)
{
	struct frag_block_view k = frag_heap_look(h, u);

	return frag_heap_map(h, u, k.offset, frag_round_up(bytes < k.bytes ? bytes : k.bytes, page),
			     out);
}

/* Pages that a failed growth has mapped stay, as free memory. */
static int grow_range(struct frag_policy *p, const struct want *w, frag_block *out)
{
	const struct pytorch *t = p->state;
	uint64_t page = w->large ? t->large_segment : SMALL_SEGMENT;
	frag_block b = pytorch_find_growth(p, w);
	struct frag_block_view k;
	int rc = 0;

	if (b == FRAG_NO_BLOCK)
		rc = new_range(p, w, page, &b);
	if (rc)
		return rc;
	page = frag_heap_page(p->heap, b);
	if (frag_heap_look(p->heap, b).state == FRAG_UNMAPPED)
		rc = pytorch_map_pages(p->heap, b, w->need, page, &b);
	while (!rc) {
		k = frag_heap_look(p->heap, b);
		if (k.bytes >= w->need)
			break;
		rc = pytorch_map_pages(p->heap, k.next, w->need - k.bytes, page, &b);
	}
	frag_pytorch_note_mapped(p, b);
	frag_heap_set_user(p->heap, b, t->searches);
	*out = b;
	return rc;
}

/* Up to 2.4, private pools have none. */
static bool uses_ranges(const struct pytorch *t, const struct frag_request *rq)
{
	return t->set[EXPANDABLE_SEGMENTS] && !(rq->pool && t->set[VERSION] <= 4);
}

/* One try to get memory from the device. */
static int try_device(struct frag_policy *p, const struct want *w, frag_block *out)
{
	struct pytorch *t = p->state;
	uint64_t reserved = frag_heap_totals(p->heap)->reserved + w->segment;
	const bool may = frag_pytorch_may_reserve(p, reserved);
	int rc;

	t->rejected = t->set[THROW] && may && !frag_pytorch_may_at_first(p, reserved);
	if (t->rejected || !may)
		rc = -FRAG_EDEVMEM;
	else if (uses_ranges(t, w->rq))
		rc = grow_range(p, w, out);
	else
		rc = frag_heap_grow(p->heap, w->list, w->segment, out);
	if (rc == -FRAG_EDEVMEM)
		frag_heap_tried(p->heap, w->segment);
	return rc;
}

/* Where PyTorch would hand an address to cudaFree that cudaMalloc never gave. */
static int release_whole(struct frag_policy *p, frag_block b)
{
	struct frag_block_view k = frag_heap_look(p->heap, b);

	if (k.prev == FRAG_NO_BLOCK && k.next == FRAG_NO_BLOCK)
		return frag_heap_release(p->heap, b);
	return frag_fail(p->err, FRAG_EPOLICY, "PyTorch itself goes wrong here: after "
			 "max_split_size_mb was changed in mid-run it gives the device a block of %"
			 PRIu64 " bytes at offset %" PRIu64 " of segment %" PRIu32
			 " while its remainder still exists", k.bytes, k.offset,
			 frag_heap_look_segment(p->heap, k.segment).ordinal);
}

/* Up to 2.4, PyTorch checks only on release that a block is in no expandable segment. */
static int spare_range(struct frag_policy *p, frag_block b)
{
	const struct pytorch *t = p->state;
	const struct frag_block_view k = frag_heap_look(p->heap, b);

	if (t->set[VERSION] > 4)
		return 0;
	return frag_fail(p->err, FRAG_EPOLICY, "PyTorch itself goes wrong here: up to 2.4, under "
			 "max_split_size_mb and expandable_segments, it stops with an internal "
			 "error when it releases %" PRIu64 " bytes at offset %" PRIu64
			 " of expandable segment %" PRIu32, k.bytes, k.offset,
			 frag_heap_look_segment(p->heap, k.segment).ordinal);
}

/*
 * Only under max_split_size: releases one block of the stream that is large
 * enough, or several oversize ones, the largest first. *enough: try again.
 */
static int release_oversize(struct frag_policy *p, const struct want *w, bool *enough)
{
	const struct pytorch *t = p->state;
	uint64_t bytes = w->need > t->max_split ? w->need : t->max_split;
	frag_block b = frag_heap_find(p->heap, w->list, bytes);
	uint64_t released = 0;
	int rc = 0;

	*enough = false;
	if (t->max_split == UINT64_MAX)
		return 0;
	if (b != FRAG_NO_BLOCK && !frag_pytorch_in_range(p->heap, b)) {
		*enough = true;
		return release_whole(p, b);
	}
	rc = b != FRAG_NO_BLOCK ? spare_range(p, b) : 0;
	b = frag_heap_find_smaller(p->heap, w->list, bytes);
	while (!rc && b != FRAG_NO_BLOCK && released < bytes) {
		uint64_t size = frag_heap_look(p->heap, b).bytes;
		frag_block smaller = frag_heap_before(p->heap, b);

		if (size < t->max_split)
			break;
		if (!frag_pytorch_in_range(p->heap, b)) {
			released += size;
			rc = release_whole(p, b);
		} else {
			rc = spare_range(p, b);
		}
		b = smaller;
	}
	*enough = released >= bytes;
	return rc;
}

/* Large lists first in pool 0, after them in the others; ranges after segments. */
static void rank_block(const struct frag_heap *h, const struct frag_block_view *k,
		       const struct frag_segment_view *s, uint64_t rank[FRAG_RANKS])
{
	struct frag_list_view list = frag_heap_look_list(h, s->list);
	uint64_t pool =
		(uint64_t)list.pool * 2 + (frag_pytorch_is_large(h, s->list) == (list.pool != 0));

	rank[0] = pool * 2 + (s->page != 0);
	rank[1] = list.user;
	rank[2] = k->bytes;
}

/* A private pool keeps what it has while the program is not done with it. */
static bool rank_all(const struct frag_heap *h, frag_block b, void *ctx, uint64_t rank[FRAG_RANKS])
{
	struct frag_block_view k = frag_heap_look(h, b);
	struct frag_segment_view s = frag_heap_look_segment(h, k.segment);

	(void)ctx;
	if (s.pool && !frag_heap_look_list(h, s.list).done)
		return false;
	rank_block(h, &k, &s, rank);
	return true;
}

/* Waits for all streams, then releases all cached memory. */
static int pytorch_flush(struct frag_policy *p, uint64_t tick)
{
	struct pytorch *t = p->state;
	frag_block b;
	int rc = 0;

	t->polled = tick;
	t->stats.num_sync_all_streams++;
	if (t->by_creation)
		frag_order_ready(p->heap, true);
	while (!rc && (b = frag_heap_find_pending(p->heap)) != FRAG_NO_BLOCK)
		rc = pytorch_give(p, b);
	return rc ? rc : frag_heap_release_unused(p->heap, rank_all, NULL);
}

/* A pass of the garbage collection over the whole free segments of pool 0's large lists. */
struct sweep {
	const struct pytorch *t;
	double age;             /* that and older goes */
	uint64_t ages, count, bytes;
};

static bool is_swept(const struct frag_heap *h, const struct frag_segment_view *s)
{
	return s->pool == 0 && frag_pytorch_is_large(h, s->list);
}

/* A range that is one free block counts in the mean age, though it is never released here. */
static bool count_age(const struct frag_heap *h, frag_block b, void *ctx, uint64_t rank[FRAG_RANKS])
{
	struct frag_block_view k = frag_heap_look(h, b);
	struct frag_segment_view s = frag_heap_look_segment(h, k.segment);
	struct sweep *sweep = ctx;

	(void)rank;
	if (is_swept(h, &s) && k.prev == FRAG_NO_BLOCK && k.next == FRAG_NO_BLOCK) {
		sweep->ages += sweep->t->searches - k.user;
		sweep->count++;
	}
	return false;
}

static bool rank_old(const struct frag_heap *h, frag_block b, void *ctx, uint64_t rank[FRAG_RANKS])
{
	struct frag_block_view k = frag_heap_look(h, b);
	struct frag_segment_view s = frag_heap_look_segment(h, k.segment);
	struct sweep *sweep = ctx;
	uint32_t age = sweep->t->searches - k.user;

	if (!is_swept(h, &s) || s.page || (double)age < sweep->age)
		return false;
	sweep->ages -= age;
	sweep->count--;
	sweep->bytes += k.bytes;
	rank_block(h, &k, &s, rank);
	return true;
}

static int pytorch_collect(struct frag_policy *p)
{
	const struct pytorch *t = p->state;
	uint64_t reserved = frag_heap_totals(p->heap)->reserved;
	struct sweep sweep = { .t = t };
	uint64_t before = 0;
	int rc;

	if (frag_pytorch_may_keep(p, reserved))
		return 0;
	rc = frag_heap_release_unused(p->heap, count_age, &sweep);
	while (!rc && sweep.count && sweep.bytes < reserved
	       && !frag_pytorch_may_keep(p, reserved - sweep.bytes)) {
		before = sweep.bytes;
		sweep.age = (double)sweep.ages / (double)sweep.count;
		rc = frag_heap_release_unused(p->heap, rank_old, &sweep);
		if (sweep.bytes == before)
			break;
	}
	return rc;
}

/*
 * While a pool's context is open, for a graph capture, no event is polled and nothing is flushed.
 * Up to 2.12 that holds for each request of a private pool, too.
 */
static bool is_apart(const struct pytorch *t, const struct frag_request *rq)
{
	return t->contexts || (rq->pool && t->set[VERSION] <= 12);
}

/* The ladder of a request that no free block serves. */
static int pytorch_climb(struct frag_policy *p, const struct want *w, frag_block *out)
{
	struct pytorch *t = p->state;
	bool enough;
	int rc = frag_pytorch_collects(p) ? pytorch_collect(p) : 0;

	rc = rc ? rc : try_device(p, w, out);
	if (rc != -FRAG_EDEVMEM || t->rejected)
		return rc;
	rc = release_oversize(p, w, &enough);
	if (rc)
		return rc;
	if (enough) {
		rc = try_device(p, w, out);
		if (rc != -FRAG_EDEVMEM || t->rejected)
			return rc;
	}
	if (is_apart(t, w->rq)) {
		t->stats.num_ooms++;
		return -FRAG_EDEVMEM;
	}
	rc = pytorch_flush(p, w->rq->tick);
	if (rc)
		return rc;
	frag_heap_count_retry(p->heap);
	t->stats.num_alloc_retries++;
	rc = try_device(p, w, out);
	t->stats.num_ooms += rc == -FRAG_EDEVMEM && !t->rejected;
	return rc;
}

static int pytorch_obtain(struct frag_policy *p, const struct want *w, frag_block *out)
{
	uint32_t first = frag_pytorch_calls(p);
	int rc = pytorch_climb(p, w, out);

	frag_pytorch_count_splits(p, first);
	return rc;
}

static uint64_t segment_for(const struct pytorch *t, uint64_t need)
{
	if (need <= SMALL_MAX)
		return SMALL_SEGMENT;
	return need < EXACT_FROM ? t->large_segment : frag_round_up(need, EXACT_UNIT);
}

/* Serves a request as PyTorch's malloc(): rounds, searches the pool, obtains a segment, splits. */
static int pytorch_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	struct pytorch *t = p->state;
	struct want w = { .rq = rq, .need = frag_pytorch_round(rq->bytes, t->set[ROUNDUP]) };
	struct frag_stat_alloc found;
	struct frag_block_view k;
	int rc = is_apart(t, rq) ? 0 : poll_streams(p, rq->tick);

	w.large = w.need > SMALL_MAX;
	w.segment = segment_for(t, w.need);
	rc = rc ? rc : frag_pytorch_list(p, rq, w.large, &w.list);
	if (rc)
		return rc;
	*out = pytorch_find(p, &w);
	if (*out == FRAG_NO_BLOCK)
		rc = pytorch_obtain(p, &w, out);
	if (rc)
		return rc;
	k = frag_look(p->heap, *out);
	found = (struct frag_stat_alloc){
		.large = w.large,
		.range = frag_pytorch_in_range(p->heap, *out),
		.requested = rq->bytes,
		.found = k.bytes,
		.taken = frag_pytorch_splits(t, w.large, w.need, k.bytes - w.need) ? w.need
										   : k.bytes,
		.split = k.prev != FRAG_NO_BLOCK || k.next != FRAG_NO_BLOCK,
	};
	rc = frag_take(p->heap, out, rq->bytes, found.taken);
	if (rc)
		return rc;
	if (found.taken < found.found) {
		frag_set_user(p->heap, frag_look(p->heap, *out).next, t->searches);
		if (t->by_creation)
			frag_renew_block(p->heap, *out);
	}
	found.oversize = frag_pytorch_is_oversize(t, found.taken);
	frag_stats_alloc(&t->stats, &found);
	return 0;
}

/* A stream that is done is noticed at the next request; a `complete` is the noticing. */
static int pytorch_ended(struct frag_policy *p, frag_block b, uint64_t synced)
{
	const struct pytorch *t = p->state;

	if (synced == UINT64_MAX || synced < t->polled)
		return pytorch_give(p, b);
	return frag_heap_ready(p->heap, b);
}

/* Acts on an event other than alloc and free: cache, fraction, settings, and pools. */
static int pytorch_notice(struct frag_policy *p, const struct frag_notice *n, bool *handled)
{
	struct pytorch *t = p->state;
	const uint64_t reserve = t->set[RESERVE];
	uint32_t first = frag_pytorch_calls(p);
	int rc = 0;

	(void)handled;
	switch (n->kind) {
	case FRAG_NOTICE_EMPTY_CACHE:
		if (t->contexts)
			break;
		rc = pytorch_flush(p, n->tick);
		frag_pytorch_count_splits(p, first);
		break;
	case FRAG_NOTICE_SET_FRACTION:
		t->fraction = n->fraction;
		t->limited = n->fraction < 1 || t->set[VERSION] <= 9;
		break;
	case FRAG_NOTICE_CONFIGURE:
		rc = frag_pytorch_settings(t->set, n->text, n->length, p->err);
		/* ranges that are there keep the length that they were given */
		if (t->set[RESERVE] != reserve)
			frag_pytorch_pin_total(p);
		derive(t);
		break;
	case FRAG_NOTICE_RELEASE_POOL:
		frag_heap_pool_done(p->heap, n->pool);
		break;
	case FRAG_NOTICE_BEGIN_POOL:
		t->contexts++;
		break;
	case FRAG_NOTICE_END_POOL:
		t->contexts--;
		break;
	case FRAG_NOTICE_SYNC:
	case FRAG_NOTICE_MARK:
		break;
	}
	return rc;
}

static const struct frag_memory_stats *pytorch_stats(const struct frag_policy *p)
{
	struct pytorch *t = p->state;

	return frag_stats_show(&t->stats);
}

static int pytorch_seek(struct frag_policy *p, const struct frag_request *rq,
			struct frag_sought *out)
{
	const struct pytorch *t = p->state;

	out->bytes = frag_pytorch_round(rq->bytes, t->set[ROUNDUP]);
	return frag_pytorch_list(p, rq, out->bytes > SMALL_MAX, &out->list);
}

const struct frag_policy_ops frag_policy_pytorch = {
	.name = "pytorch",
	.summary = "PyTorch's CUDA caching allocator, as of 2.15",
	.params = frag_pytorch_params,
	.index = &frag_index_size,
	.state_size = sizeof(struct pytorch),
	.check = frag_pytorch_check,
	.settings = frag_pytorch_settings,
	.init = pytorch_init,
	.restore_segment = frag_pytorch_restore_segment,
	.restore_block = frag_pytorch_restore_block,
	.alloc = pytorch_alloc,
	.free = pytorch_give,
	.deferred = pytorch_deferred,
	.ended = pytorch_ended,
	.notice = pytorch_notice,
	.stats = pytorch_stats,
	.limit = frag_pytorch_limit,
	.range_bytes = frag_pytorch_range_resized,
	.seek = pytorch_seek,
};

#define BY_AGE 13               /* the first version that takes the older of equal blocks */

_Static_assert(FRAG_SMALL_SEGMENT == SMALL_SEGMENT, "it is this policy's");

/*
 * Pages of an expandable segment can be released while others of it are in use, so small
 * requests in expandable segments are not separate. Of all other settings only the rounding
 * affects a small request: limits on splitting are larger than its segments, and garbage
 * collection reads large lists only. Where equal blocks are not ordered by the age of their
 * segments, no request is separate.
 */
bool frag_small_rule(const struct frag_choice *choice, uint64_t *rule)
{
	const uint64_t max_split = choice->param[MAX_SPLIT_MB];

	if (choice->ops != &frag_policy_pytorch || choice->param[EXPANDABLE_SEGMENTS]
	    || choice->param[VERSION] < BY_AGE
	    || (max_split && max_split * MIB <= SMALL_SEGMENT))
		return false;
	*rule = choice->param[ROUNDUP];
	return true;
}

bool frag_is_small(uint64_t rule, uint64_t bytes)
{
	return bytes <= FRAG_SMALL_SEGMENT && frag_pytorch_round(bytes, rule) <= SMALL_SEGMENT / 2;
}
