/*
 * candidates.c - candidates for a move against all there could be.
 *
 *     candidates [HEAPS]          so many random ones (1000)
 *
 * Heaps of up to twelve segments. The judge goes through every run of neighbours and every subset
 * of segments: what gains enough at the least cost must be the first candidate, and the cheapest
 * subset by free bytes among all of them.
 */
#include "compaction/move_candidates.h"

#include <stdlib.h>

#include "support/random.h"
#include "support/unit.h"

#define SEGMENTS 12
#define BLOCKS 9                /* of a segment */
#define KIB UINT64_C(1024)

static uint32_t heaps = 1000;

struct world {
	struct frag_memory_state memory;
	struct frag_state_segment segments[SEGMENTS];
	struct frag_state_block blocks[SEGMENTS * BLOCKS];
	struct frag_move_target shortage;
};

static uint8_t random_state(uint64_t *random)
{
	const uint64_t n = random_below(random, 16);

	return n == 0 ? FRAG_PENDING : n < 9 ? FRAG_ALLOCATED : FRAG_FREE;
}

/* Few sizes, so that costs are often the same. */
static void lay_segment(struct world *w, uint64_t *random)
{
	struct frag_state_segment *s = &w->segments[w->memory.segment_count];
	uint64_t offset = 0;

	*s = (struct frag_state_segment){
		.first = w->memory.block_count, .ordinal = 3 * w->memory.segment_count,
		.list = (frag_list)random_below(random, 2),
		.kept = random_below(random, 10) == 0,
		.count = 1 + (uint32_t)random_below(random, BLOCKS),
	};
	for (uint32_t i = 0; i < s->count; i++) {
		struct frag_state_block *b = &w->blocks[w->memory.block_count++];

		*b = (struct frag_state_block){
			.offset = offset, .bytes = (1 + random_below(random, 6)) * KIB,
			.state = random_state(random), .slot = w->memory.block_count,
		};
		offset += b->bytes;
		if (b->state == FRAG_FREE) {
			s->free += b->bytes;
			continue;
		}
		s->live += b->bytes;
		s->live_blocks++;
		s->fixed += b->state == FRAG_PENDING;
	}
	s->bytes = offset;
	s->non_releasable = s->live_blocks ? s->free : 0;
	w->memory.segment_count++;
}

static void lay_world(struct world *w, uint64_t *random)
{
	const uint32_t segments = 1 + (uint32_t)random_below(random, SEGMENTS);
	uint64_t all = 0;

	w->memory = (struct frag_memory_state){ .segments = w->segments, .blocks = w->blocks };
	for (uint32_t i = 0; i < segments; i++) {
		lay_segment(w, random);
		all += w->segments[i].bytes;
	}
	w->shortage = (struct frag_move_target){
		.list = (frag_list)random_below(random, 2),
		.need = (1 + random_below(random, 20)) * KIB,
		.missing = random_below(random, all / KIB + 1) * KIB, .left = 0,
		.block_cost = random_below(random, 3) * 2 * KIB,
	};
}

/* What it costs to move blocks [from, to), UINT64_MAX where that cannot be; and if any is live. */
static uint64_t cost_of(const struct world *w, uint32_t from, uint32_t to)
{
	uint64_t cost = 0;
	bool any = false;

	for (uint32_t i = from; i < to; i++) {
		if (w->blocks[i].state == FRAG_PENDING)
			return UINT64_MAX;
		if (w->blocks[i].state == FRAG_ALLOCATED) {
			cost += w->blocks[i].bytes + w->shortage.block_cost;
			any = true;
		}
	}
	return any ? cost : UINT64_MAX;
}

/* With more than is needed it is no better, but where nothing is live in what is needed. */
static uint64_t best_window(const struct world *w)
{
	uint64_t best = UINT64_MAX;

	for (uint32_t s = 0; s < w->memory.segment_count; s++) {
		const struct frag_state_segment *seg = &w->segments[s];

		if (seg->list != w->shortage.list)
			continue;
		for (uint32_t a = seg->first; a < seg->first + seg->count; a++)
			for (uint32_t b = a + 1; b <= seg->first + seg->count; b++) {
				uint64_t bytes = w->blocks[b - 1].offset + w->blocks[b - 1].bytes
						 - w->blocks[a].offset;

				if (bytes >= w->shortage.need
				    && bytes - w->blocks[b - 1].bytes < w->shortage.need
				    && cost_of(w, a, b) < best)
					best = cost_of(w, a, b);
			}
	}
	return best;
}

/* Of all subsets of segments that can be emptied. */
static uint64_t best_subset(const struct world *w, bool all)
{
	uint64_t best = UINT64_MAX;

	for (uint32_t subset = 1; subset < UINT32_C(1) << w->memory.segment_count
	     && w->shortage.missing; subset++) {
		uint64_t cost = 0, gain = 0;
		bool good = true;

		for (uint32_t s = 0; s < w->memory.segment_count && good; s++) {
			const struct frag_state_segment *seg = &w->segments[s];
			uint64_t one;

			if (!(subset >> s & 1))
				continue;
			one = cost_of(w, seg->first, seg->first + seg->count);
			good = one != UINT64_MAX && !seg->kept;
			cost += good ? one : 0;
			gain += all ? seg->bytes : seg->free;
		}
		if (good && gain >= w->shortage.missing && cost < best)
			best = cost;
	}
	return best;
}

/* Its own figures, its blocks: the largest first, all of them movable. */
static void check_relief(const struct world *w, const struct frag_move_candidate *r)
{
	uint64_t bytes = 0;

	assert_true(r->count > 0);
	for (uint32_t i = 0; i < r->count; i++) {
		const struct frag_state_block *b = &w->blocks[r->blocks[i]];

		assert_int_equal(b->state, FRAG_ALLOCATED);
		bytes += b->bytes;
		if (i)
			assert_true(b[0].bytes < w->blocks[r->blocks[i - 1]].bytes
				    || (b[0].bytes == w->blocks[r->blocks[i - 1]].bytes
					&& r->blocks[i] > r->blocks[i - 1]));
	}
	assert_int_equal(r->bytes, bytes);
	assert_int_equal(r->cost, bytes + r->count * w->shortage.block_cost);
}

static void check_world(const struct world *w)
{
	const uint64_t window = best_window(w), all = best_subset(w, true);
	const uint64_t by_free = best_subset(w, false), best = window < all ? window : all;
	struct frag_move_candidates got;
	struct frag_error err;
	bool found = by_free == UINT64_MAX;

	assert_int_equal(frag_move_candidates_find(&got, &w->memory, &w->shortage, &err), 0);
	assert_int_equal(got.count > 0, best != UINT64_MAX);
	for (uint32_t i = 0; i < got.count; i++) {
		check_relief(w, &got.candidates[i]);
		assert_true(!i || got.candidates[i].cost >= got.candidates[i - 1].cost);
		found = found || got.candidates[i].cost == by_free;
	}
	if (got.count)
		assert_int_equal(got.candidates[0].cost, best);
	assert_true(found || got.count == FRAG_MOVE_CANDIDATES_MAX);
	frag_move_candidates_fini(&got);
}

static void test_random(void **state)
{
	static struct world w;
	uint64_t random = 20;

	(void)state;
	for (uint32_t i = 0; i < heaps; i++) {
		lay_world(&w, &random);
		check_world(&w);
	}
}

/* A range of four pages of 8 KiB: a live block on each of two, one across two more. */
static void test_pages(void **state)
{
	static const struct { uint64_t kib; uint8_t state; } laid[] = {
		{ 6, FRAG_FREE }, { 2, FRAG_ALLOCATED },
		{ 7, FRAG_FREE }, { 1, FRAG_ALLOCATED },
		{ 2, FRAG_FREE }, { 10, FRAG_ALLOCATED }, { 4, FRAG_FREE },
		{ 8, FRAG_UNMAPPED },
	};
	struct world w = { .segments = { { .page = 8 * KIB, .count = LENGTH(laid), .list = 1 } } };
	struct frag_move_candidates got;
	struct frag_error err;
	uint64_t offset = 0;

	(void)state;
	w.memory = (struct frag_memory_state){
		.segments = w.segments, .blocks = w.blocks, .segment_count = 1,
		.block_count = LENGTH(laid),
	};
	for (uint32_t i = 0; i < LENGTH(laid); i++) {
		w.blocks[i] = (struct frag_state_block){
			.offset = offset, .bytes = laid[i].kib * KIB, .state = laid[i].state,
			.slot = i,
		};
		offset += laid[i].kib * KIB;
	}
	w.shortage = (struct frag_move_target){ .need = 100 * KIB, .missing = 8 * KIB };
	assert_int_equal(frag_move_candidates_find(&got, &w.memory, &w.shortage, &err), 0);
	/* one page, that of the 1 KiB; then that of 2; then both, by free bytes; then the rest */
	assert_true(got.count >= 3);
	assert_int_equal(got.candidates[0].cost, 1 * KIB);
	assert_int_equal(got.candidates[0].blocks[0], 3);
	assert_int_equal(got.candidates[1].cost, 2 * KIB);
	assert_int_equal(got.candidates[2].cost, 3 * KIB);
	assert_int_equal(got.candidates[2].count, 2);
	frag_move_candidates_fini(&got);
	/* a block costs a MiB: two pages by one block are cheaper than by two */
	w.shortage.missing = 16 * KIB;
	w.shortage.block_cost = 1024 * KIB;
	assert_int_equal(frag_move_candidates_find(&got, &w.memory, &w.shortage, &err), 0);
	assert_int_equal(got.candidates[0].count, 1);
	assert_int_equal(got.candidates[0].blocks[0], 5);
	frag_move_candidates_fini(&got);
	/* addresses without memory are mapped, as far as there is some left: 12 of 22 KiB are */
	w.shortage = (struct frag_move_target){ .list = 1, .need = 16 * KIB, .left = 8 * KIB };
	assert_int_equal(frag_move_candidates_find(&got, &w.memory, &w.shortage, &err), 0);
	assert_int_equal(got.candidates[0].cost, 3 * KIB);
	frag_move_candidates_fini(&got);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random), cmocka_unit_test(test_pages),
	};

	if (argc > 1)
		heaps = (uint32_t)strtoul(argv[1], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
