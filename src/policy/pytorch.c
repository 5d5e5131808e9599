/*
 * pytorch.c - the CUDA caching allocator of PyTorch 2.1 to 2.15, decision by decision.
 *
 * Free blocks are in lists, one for each pool, stream and class (small: up to 1 MiB, else
 * large), ordered by size, then by the age of their segment, then by offset. A request takes the
 * first block that is large enough, unless a rule excludes it; no other block is considered. On
 * a miss it tries in turn: collect old blocks, call the device, release blocks that are large
 * enough, release everything. A freed block that other streams still use stays pending until the
 * next request after they are done.
 *
 * The rules as measured on the shipped library of each version: fragsim-policies(7).
 */
#include <inttypes.h>
#include <math.h>

#include "policy/policies.h"
#include "policy/pytorch.h"
#include "policy/pytorch_settings.h"
#include "policy/small_pool.h"

#define SMALL_MAX MIB           /* kSmallSize */
#define EXACT_FROM (10 * MIB)   /* kMinLargeAlloc */
#define EXACT_UNIT (2 * MIB)    /* kRoundLarge */
#define MIN_REST 512            /* of a small or expandable block that is split */
#define LARGE_REST MIB          /* of a large one: the remainder must be larger */

/* Of a stream's two lists in a pool. */
static inline uint32_t list_number(uint32_t stream, bool large)
{
	return stream * 2 + large;
}

/* Makes `last` the lists that serve such requests. */
static int find_lists(struct frag_policy *p, const struct frag_request *rq)
{
	struct pytorch *t = p->state;
	int rc = 0;

	t->last.known = false;
	for (uint32_t i = 0; i < 2 && !rc; i++) {
		rc = frag_heap_list(p->heap, rq->pool, list_number(rq->stream, i),
				    &t->last.list[i]);
		if (!rc)
			frag_heap_set_list_user(p->heap, t->last.list[i], rq->stream_order);
	}
	t->last.stream = rq->stream;
	t->last.pool = rq->pool;
	t->last.known = !rc;
	return rc;
}

/* A verb: the free list that serves such requests; it is made, and remembered. */
static inline int list_for(struct frag_policy *p, const struct frag_request *rq, bool large,
			   frag_list *out)
{
	struct pytorch *t = p->state;
	int rc = 0;

	if (!t->last.known || t->last.stream != rq->stream || t->last.pool != rq->pool)
		rc = find_lists(p, rq);
	*out = t->last.list[large];
	return rc;
}

static inline bool is_large_list(const struct frag_heap *h, frag_list list)
{
	return frag_heap_look_list_unchecked(h, list).which & 1;
}

static inline bool is_oversize(const struct pytorch *t, uint64_t bytes)
{
	return bytes >= t->max_split;
}

/* Is a remainder of this size split off as a free block? */
static bool splits(const struct pytorch *t, bool large, uint64_t need, uint64_t rest)
{
	if (!large || t->set[EXPANDABLE_SEGMENTS])
		return rest >= MIN_REST;
	return rest > LARGE_REST && need < t->max_split;
}

/* The device calls of this step so far. */
static uint32_t count_calls(const struct frag_policy *p)
{
	uint32_t count;

	frag_heap_calls(p->heap, &count);
	return count;
}

/* Counts the device calls of this step in the statistics, from the first on. */
static void count_new_calls(struct frag_policy *p, uint32_t first)
{
	struct pytorch *t = p->state;
	uint32_t count;
	const struct frag_call *calls = frag_heap_calls(p->heap, &count);

	for (uint32_t i = first; i < count; i++)
		frag_stats_call(&t->stats, &calls[i], is_large_list(p->heap, calls[i].list),
			   is_oversize(t, calls[i].bytes));
}

/*
 * The limit and the threshold rise with the device's total. Each decision compares one with a
 * number of bytes, and so depends on one comparison of the total, which the heap notes: a run is
 * the same for a known range of totals. An unlimited device has no limit.
 */
static bool is_within(struct frag_policy *p, frag_pytorch_figure_fn *figure, uint64_t bytes)
{
	return frag_pytorch_total_reaches(p, figure, 0, bytes) || !frag_heap_capacity(p->heap);
}

/* To the nearest byte: the one product that PyTorch does not cut off; up to 2.12 it did. */
static uint64_t limit_now(const struct frag_policy *p, uint64_t total, uint64_t page)
{
	const struct pytorch *t = p->state;

	(void)page;
	if (t->set[VERSION] <= 12)
		return (uint64_t)(t->fraction * (double)total);
	return (uint64_t)llround(t->fraction * (double)total);
}

static uint64_t limit_initial(const struct frag_policy *p, uint64_t total, uint64_t page)
{
	const struct pytorch *t = p->state;

	(void)page;
	return (uint64_t)(frag_pytorch_real(t->set[FRACTION]) * (double)total);
}

static uint64_t threshold(const struct frag_policy *p, uint64_t total, uint64_t page)
{
	const struct pytorch *t = p->state;

	return (uint64_t)(t->threshold * (double)limit_now(p, total, page));
}

/* May `bytes` be reserved under the fraction now in force? */
static bool may_reserve(struct frag_policy *p, uint64_t bytes)
{
	const struct pytorch *t = p->state;

	return !t->limited || is_within(p, limit_now, bytes);
}

/* The same by the fraction of the settings, whatever set_fraction said since? */
static bool may_reserve_initially(struct frag_policy *p, uint64_t bytes)
{
	return is_within(p, limit_initial, bytes);
}

/* Are `bytes` reserved bytes below the threshold of the garbage collection? */
static bool may_keep(struct frag_policy *p, uint64_t bytes)
{
	return is_within(p, threshold, bytes);
}

/* An unlimited device never collects, one with any limit does. */
static bool collects(struct frag_policy *p)
{
	const struct pytorch *t = p->state;

	if (!t->limited || t->threshold <= 0)
		return false;
	if (!frag_heap_capacity(p->heap))
		frag_heap_pin_capacity(p->heap);
	return frag_heap_capacity(p->heap) > 0;
}

static uint64_t pytorch_limit(const struct frag_policy *p)
{
	const struct pytorch *t = p->state;
	const uint64_t total = frag_heap_capacity(p->heap);

	return total && t->limited ? limit_now(p, total, 0) : UINT64_MAX;
}

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
	const struct frag_block_view was = frag_heap_look_unchecked(p->heap, b);
	const struct frag_segment_view s = frag_heap_look_segment_unchecked(p->heap, was.segment);
	struct frag_block_view now;
	struct frag_stat_free freed = {
		.large = is_large_list(p->heap, s.list), .range = s.page != 0,
		.oversize = is_oversize(t, was.bytes),
	};
	int rc;

	if (was.state == FRAG_ALLOCATED)
		frag_stats_freed(&t->stats, &freed, was.bytes);
	rc = frag_heap_give_unchecked(p->heap, b, &b);
	if (rc)
		return rc;
	frag_heap_set_user_unchecked(p->heap, b, t->searches);
	now = frag_heap_look_unchecked(p->heap, b);
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
		.large = is_large_list(p->heap,
					       frag_heap_look_segment(p->heap, k.segment).list),
		.oversize = is_oversize(t, k.bytes),
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
	while (!rc && (b = frag_heap_find_ready_unchecked(p->heap)) != FRAG_NO_BLOCK)
		rc = pytorch_give(p, b);
	return rc;
}

static frag_block pytorch_find(struct frag_policy *p, const struct alloc_params *w)
{
	struct pytorch *t = p->state;
	frag_block b;
	uint64_t bytes;

	if (collects(p) && w->large && w->rq->pool == 0)
		t->searches++;
	b = frag_heap_find_unchecked(p->heap, w->list, w->need);
	if (t->set[EXPANDABLE_SEGMENTS] && b != FRAG_NO_BLOCK)
		b = frag_pytorch_prefer_hole(p, b);
	else
		while (b != FRAG_NO_BLOCK && frag_pytorch_in_range(p->heap, b))
			b = frag_heap_after(p->heap, b);
	if (b == FRAG_NO_BLOCK)
		return b;
	if (t->set[REUSE_OVERSIZE] && frag_pytorch_in_range(p->heap, b))
		return b;
	bytes = frag_heap_look_unchecked(p->heap, b).bytes;
	if (w->need < t->max_split ? bytes >= t->max_split : bytes >= w->need + t->non_split)
		return FRAG_NO_BLOCK;
	return b;
}

/* Up to 2.4, private pools have none. */
static bool uses_ranges(const struct pytorch *t, const struct frag_request *rq)
{
	return t->set[EXPANDABLE_SEGMENTS] && !(rq->pool && t->set[VERSION] <= 4);
}

/* One try to get memory from the device. */
static int try_device(struct frag_policy *p, const struct alloc_params *w, frag_block *out)
{
	struct pytorch *t = p->state;
	uint64_t reserved = frag_heap_totals(p->heap)->reserved + w->segment;
	const bool may = may_reserve(p, reserved);
	int rc;

	t->rejected = t->set[THROW] && may && !may_reserve_initially(p, reserved);
	if (t->rejected || !may)
		rc = -FRAG_EDEVMEM;
	else if (uses_ranges(t, w->rq))
		rc = frag_pytorch_grow_range(p, w, out);
	else
		rc = frag_heap_grow(p->heap, w->list, w->segment, out);
	if (rc == -FRAG_EDEVMEM)
		frag_heap_note_tried(p->heap, w->segment);
	return rc;
}

/*
 * Releases the segment that a free block is all of. -FRAG_EPOLICY where it is a part: PyTorch
 * would hand an address to cudaFree that cudaMalloc never gave.
 */
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
static int skip_range(struct frag_policy *p, frag_block b)
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
static int release_oversize(struct frag_policy *p, const struct alloc_params *w, bool *enough)
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
	rc = b != FRAG_NO_BLOCK ? skip_range(p, b) : 0;
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
			rc = skip_range(p, b);
		}
		b = smaller;
	}
	*enough = released >= bytes;
	return rc;
}

/*
 * The order of release: pool 0 before private pools, there large lists before small ones, in
 * private pools small before large; segments before ranges; then by stream, then by size.
 */
static void rank_block(const struct frag_heap *h, const struct frag_block_view *k,
		       const struct frag_segment_view *s, uint64_t rank[FRAG_RANKS])
{
	struct frag_list_view list = frag_heap_look_list(h, s->list);
	uint64_t pool =
		(uint64_t)list.pool * 2 + (is_large_list(h, s->list) == (list.pool != 0));

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
	return s->pool == 0 && is_large_list(h, s->list);
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

	if (may_keep(p, reserved))
		return 0;
	rc = frag_heap_release_unused(p->heap, count_age, &sweep);
	while (!rc && sweep.count && sweep.bytes < reserved
	       && !may_keep(p, reserved - sweep.bytes)) {
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
static bool is_capturing(const struct pytorch *t, const struct frag_request *rq)
{
	return t->open_pools || (rq->pool && t->set[VERSION] <= 12);
}

/*
 * What is tried for a request that no cached block holds: collect old blocks, reserve, release
 * oversize blocks, flush the cache.
 */
static int alloc_or_reclaim(struct frag_policy *p, const struct alloc_params *w, frag_block *out)
{
	struct pytorch *t = p->state;
	bool enough;
	int rc = collects(p) ? pytorch_collect(p) : 0;

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
	if (is_capturing(t, w->rq)) {
		t->stats.num_ooms++;
		return -FRAG_EDEVMEM;
	}
	rc = pytorch_flush(p, w->rq->tick);
	if (rc)
		return rc;
	/* the flush completed pending frees in segments that are still in use */
	*out = t->set[SEARCH_AFTER_FLUSH] ? pytorch_find(p, w) : FRAG_NO_BLOCK;
	if (*out != FRAG_NO_BLOCK)
		return 0;
	frag_heap_count_retry(p->heap);
	t->stats.num_alloc_retries++;
	rc = try_device(p, w, out);
	t->stats.num_ooms += rc == -FRAG_EDEVMEM && !t->rejected;
	return rc;
}

static int pytorch_obtain(struct frag_policy *p, const struct alloc_params *w, frag_block *out)
{
	uint32_t first = count_calls(p);
	int rc = alloc_or_reclaim(p, w, out);

	count_new_calls(p, first);
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
	struct alloc_params w = { .rq = rq, .need = frag_pytorch_round(rq->bytes, t->set[ROUNDUP]) };
	struct frag_stat_alloc found;
	struct frag_block_view k;
	int rc = is_capturing(t, rq) ? 0 : poll_streams(p, rq->tick);

	w.large = w.need > SMALL_MAX;
	w.segment = segment_for(t, w.need);
	rc = rc ? rc : list_for(p, rq, w.large, &w.list);
	if (rc)
		return rc;
	*out = pytorch_find(p, &w);
	if (*out == FRAG_NO_BLOCK)
		rc = pytorch_obtain(p, &w, out);
	if (rc)
		return rc;
	k = frag_heap_look_unchecked(p->heap, *out);
	found = (struct frag_stat_alloc){
		.large = w.large,
		.range = frag_pytorch_in_range(p->heap, *out),
		.requested = rq->bytes,
		.found = k.bytes,
		.taken = splits(t, w.large, w.need, k.bytes - w.need) ? w.need
										   : k.bytes,
		.split = k.prev != FRAG_NO_BLOCK || k.next != FRAG_NO_BLOCK,
	};
	rc = frag_heap_take_unchecked(p->heap, out, rq->bytes, found.taken);
	if (rc)
		return rc;
	if (found.taken < found.found) {
		frag_heap_set_user_unchecked(p->heap, frag_heap_look_unchecked(p->heap, *out).next,
					     t->searches);
		if (t->by_creation)
			frag_renew_block(p->heap, *out);
	}
	found.oversize = is_oversize(t, found.taken);
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

/* Reserves a segment that the trace begins with, unless the fraction forbids it. */
static int pytorch_restore_segment(struct frag_policy *p, const struct frag_restored_segment *seg,
				 frag_block *out)
{
	const struct frag_request rq = {
		.stream = seg->stream, .pool = seg->pool, .stream_order = seg->stream_order,
	};
	uint32_t first = count_calls(p);
	uint64_t bytes = seg->range ? 0 : seg->bytes;
	frag_list list;
	int rc = list_for(p, &rq, seg->large, &list);

	for (uint32_t i = 0; i < seg->run_count; i++)
		bytes += seg->runs[i].bytes;
	if (!rc && !may_reserve(p, frag_heap_totals(p->heap)->reserved + bytes)) {
		frag_heap_note_tried(p->heap, bytes);
		rc = -FRAG_EDEVMEM;
	}
	if (!rc && seg->range)
		rc = frag_pytorch_restore_range(p, seg, list, out);
	else if (!rc)
		rc = frag_heap_grow(p->heap, list, seg->bytes, out);
	count_new_calls(p, first);
	return rc;
}

/* Allocates a block at its recorded place, as large as PyTorch would have left it. */
static int pytorch_restore_block(struct frag_policy *p, const struct frag_request *rq,
			       frag_block hole, uint64_t offset, uint64_t bytes, uint64_t room,
			       frag_block *out)
{
	struct pytorch *t = p->state;
	const struct frag_block_view k = frag_heap_look(p->heap, hole);
	const bool large = is_large_list(p->heap,
			frag_heap_look_segment(p->heap, k.segment).list);
	uint64_t need = frag_pytorch_round(rq->bytes, t->set[ROUNDUP]);
	uint64_t end = k.offset + k.bytes, taken;
	struct frag_stat_alloc found;
	int rc;

	*out = FRAG_NO_BLOCK;
	if (room > end - offset)
		room = end - offset;
	taken = bytes ? bytes : need;
	if (taken > room || (!bytes && !splits(t, large, need, room - taken)))
		taken = room;
	if (taken < rq->bytes)
		return 0;
	found = (struct frag_stat_alloc){
		.large = large,
		.range = frag_pytorch_in_range(p->heap, hole),
		.requested = rq->bytes,
		.found = k.bytes,
		.taken = taken,
		.oversize = is_oversize(t, taken),
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

/* Acts on an event other than alloc and free: cache, fraction, settings, and pools. */
static int pytorch_notice(struct frag_policy *p, const struct frag_notice *n, bool *handled)
{
	struct pytorch *t = p->state;
	const uint64_t reserve = t->set[RESERVE];
	uint32_t first = count_calls(p);
	int rc = 0;

	(void)handled;
	switch (n->kind) {
	case FRAG_NOTICE_EMPTY_CACHE:
		if (t->open_pools)
			break;
		rc = pytorch_flush(p, n->tick);
		count_new_calls(p, first);
		break;
	case FRAG_NOTICE_SET_FRACTION:
		t->fraction = n->fraction;
		t->limited = n->fraction < 1 || t->set[VERSION] <= 9;
		break;
	case FRAG_NOTICE_CONFIGURE:
		rc = frag_pytorch_settings(t->set, n->text, n->length, p->err);
		/* ranges that are there keep the length that they were given */
		if (t->set[RESERVE] != reserve)
			frag_heap_pin_capacity(p->heap);
		derive(t);
		break;
	case FRAG_NOTICE_RELEASE_POOL:
		frag_heap_pool_done(p->heap, n->pool);
		break;
	case FRAG_NOTICE_BEGIN_POOL:
		t->open_pools++;
		break;
	case FRAG_NOTICE_END_POOL:
		t->open_pools--;
		break;
	case FRAG_NOTICE_SYNC:
	case FRAG_NOTICE_MARK:
		break;
	}
	return rc;
}

static bool pytorch_stats(const struct frag_policy *p, struct frag_memory_stats *out)
{
	const struct pytorch *t = p->state;

	*out = frag_stats_show(&t->stats);
	return true;
}

static uint64_t pytorch_round(const uint64_t *param, uint64_t granularity, uint64_t bytes)
{
	(void)granularity;
	return frag_pytorch_round(bytes, param[ROUNDUP]);
}

static struct frag_sought pytorch_seek(const struct frag_policy *p, const struct frag_request *rq)
{
	const struct pytorch *t = p->state;
	const uint64_t bytes = frag_pytorch_round(rq->bytes, t->set[ROUNDUP]);

	return (struct frag_sought){
		.list = frag_heap_find_list(p->heap, rq->pool,
					    list_number(rq->stream, bytes > SMALL_MAX)),
		.bytes = bytes,
	};
}

const struct frag_policy_ops frag_policy_pytorch = {
	.name = "pytorch",
	.summary = "PyTorch's CUDA caching allocator, as of 2.15",
	.params = frag_pytorch_params,
	.order = FRAG_ORDER_SIZE,
	.state_size = sizeof(struct pytorch),
	.check = frag_pytorch_check,
	.settings = frag_pytorch_settings,
	.init = pytorch_init,
	.restore_segment = pytorch_restore_segment,
	.restore_block = pytorch_restore_block,
	.alloc = pytorch_alloc,
	.free = pytorch_give,
	.deferred = pytorch_deferred,
	.ended = pytorch_ended,
	.notice = pytorch_notice,
	.stats = pytorch_stats,
	.limit = pytorch_limit,
	.range_bytes = frag_pytorch_range_resized,
	.seek = pytorch_seek,
	.round = pytorch_round,
};

#define BY_AGE 13               /* the first version that takes the older of equal blocks */

_Static_assert(FRAG_SMALL_SEGMENT == SMALL_SEGMENT, "it is this policy's");

/*
 * Pages of an expandable segment can be released while others of it are in use, so small
 * requests in expandable segments are not separate. Of all other settings only the rounding
 * affects a small request: limits on splitting are larger than its segments, and garbage
 * collection reads large lists only. Where equal blocks are not ordered by the age of their
 * segments, or a flush is followed by a search, no request is separate.
 */
bool frag_small_rule(const struct frag_choice *choice, uint64_t *rule)
{
	const uint64_t max_split = choice->param[MAX_SPLIT_MB];

	if (choice->ops != &frag_policy_pytorch || choice->param[EXPANDABLE_SEGMENTS]
	    || choice->param[SEARCH_AFTER_FLUSH]
	    || choice->param[VERSION] < BY_AGE
	    || (max_split && max_split * MIB <= SMALL_SEGMENT))
		return false;
	*rule = choice->param[ROUNDUP];
	return true;
}

