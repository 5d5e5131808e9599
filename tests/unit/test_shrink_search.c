/*
 * test_shrink_search.c - the search for the least of a trace, over trials whose outcome is a rule
 * and no simulation: so what has to be left is known, and how many trials it may take.
 */
#include "support/unit.h"

#include "base/hash.h"
#include "search/shrink_search.h"

#define BLOCKS_MAX 4096

/*
 * Block b is allocated by one event and freed by the next, but not where b is a multiple of
 * `stays`. What has to be there for an out-of-memory:
 */
struct rule {
	uint32_t blocks, stays;
	bool needed[BLOCKS_MAX];        /* all of these */
	bool odd;               /* of the others an odd number */
	bool first_for_second;  /* block 1, where block 2 is there */
	uint32_t last;          /* nothing from the first event of this one on; BLOCKS_MAX: all */
	uint64_t tries_left;    /* then it is enough */
};

static int try_rule(void *ctx, const struct frag_reduce *r, struct frag_shrink_trial *trial,
		    struct frag_error *err)
{
	const struct rule *rule = ctx;
	bool there[BLOCKS_MAX] = { false };
	uint32_t others = 0;

	(void)err;
	for (uint32_t i = frag_reduce_next(r, 0); i < r->count; i = frag_reduce_next(r, i + 1)) {
		const struct frag_record *rec = &r->events[i].copy->rec;
		const uint32_t b = (uint32_t)rec->id.number;

		if (b >= rule->last)
			break;
		others += rec->op == FRAG_OP_ALLOC && !rule->needed[b];
		there[b] = true;
		trial->events++;
	}
	trial->oom = (!rule->odd || others % 2)
		     && (!rule->first_for_second || there[1] || !there[2]);
	for (uint32_t b = 0; b < rule->blocks; b++)
		trial->oom = trial->oom && (there[b] || !rule->needed[b]);
	return 0;
}

static bool count_down(void *ctx)
{
	struct rule *rule = ctx;

	rule->tries_left -= rule->tries_left > 0;
	return rule->tries_left == 0;
}

static void fill(struct frag_reduce *r, struct rule *rule)
{
	*r = (struct frag_reduce){
		.tries_max = UINT64_MAX, .try = try_rule, .try_ctx = rule,
	};
	for (uint32_t i = 0; i < 2 * rule->blocks; i++) {
		const struct frag_record rec = {
			.members = FRAG_HAS_ID, .op = i % 2 ? FRAG_OP_FREE : FRAG_OP_ALLOC,
			.id.number = i / 2,
		};
		const struct frag_event ev = { .op = (uint8_t)rec.op, .slot = i / 2, .step = i };

		if (rec.op == FRAG_OP_ALLOC || i / 2 % rule->stays)
			assert_true(frag_reduce_add(r, &rec, &ev));
	}
}

static bool is_left(const struct frag_reduce *r, uint32_t block)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (r->events[i].copy->rec.id.number == block)
			return true;
	return false;
}

static uint32_t count_left(const struct frag_reduce *r)
{
	uint32_t blocks = 0;

	for (uint32_t i = 0; i < r->count; i++)
		blocks += r->events[i].copy->rec.op == FRAG_OP_ALLOC;
	return blocks;
}

/* Without any one of what is left there is no out-of-memory, but with all of it. */
static void check_minimal(struct frag_reduce *r, struct rule *rule)
{
	struct frag_shrink_trial trial = { .oom = false };

	try_rule(rule, r, &trial, NULL);
	assert_true(trial.oom);
	for (uint32_t i = 0; i < r->left_count; i++) {
		bool *out = &r->group[r->left[i]].out;

		*out = true;
		try_rule(rule, r, &trial, NULL);
		assert_false(trial.oom);
		*out = false;
	}
}

static uint32_t log2_above(uint32_t n)
{
	uint32_t log = 0;

	while (n > UINT32_C(1) << log)
		log++;
	return log;
}

static struct rule rule;
static struct frag_reduce r;

/* Draws so many needed blocks. */
static void need(struct frag_rng *rng, uint32_t count)
{
	while (count) {
		bool *one = &rule.needed[frag_rng_below(rng, rule.blocks)];

		count -= !*one;
		*one = true;
	}
}

static void search(bool whole)
{
	bool failed, minimal;

	fill(&r, &rule);
	if (!whole) {
		r.enough = count_down;
		r.enough_ctx = &rule;
	}
	assert_int_equal(frag_reduce(&r, &failed, &minimal, NULL), 0);
	assert_true(failed);
	assert_int_equal(minimal, whole);
}

/*
 * k of n blocks are needed: each is found by doubling to behind it and halving
 * back, 2 log2 of the gap before it, and tried once more in the end. Of all
 * gaps, equal ones have the largest sum of logarithms.
 */
static void what_is_needed_is_left_after_few_tries(void **state)
{
	static const uint32_t needed[] = { 1, 2, 7, 64, 500, BLOCKS_MAX };
	struct frag_rng rng = { 1 };

	(void)state;
	for (uint32_t i = 0; i < 3 * LENGTH(needed); i++) {
		const uint32_t k = needed[i / 3];

		rule = (struct rule){ BLOCKS_MAX, i % 3 + 1, .last = BLOCKS_MAX };
		need(&rng, k);
		search(true);
		assert_int_equal(count_left(&r), k);
		for (uint32_t b = 0; b < BLOCKS_MAX; b++)
			assert_int_equal(is_left(&r, b), rule.needed[b]);
		assert_in_range(r.tries, k, k * (2 * log2_above(BLOCKS_MAX / k) + 4)
					    + 2 * log2_above(BLOCKS_MAX) + 2);
		assert_in_range(r.simulated, 0, r.tries * 2 * BLOCKS_MAX);
		frag_reduce_fini(&r);
	}
}

/* An even number more or less changes nothing: single blocks cannot go, two can. */
static void what_goes_together_only(void **state)
{
	struct frag_rng rng = { 2 };

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		rule = (struct rule){ 101, i % 3 + 1, .odd = true, .last = BLOCKS_MAX };
		need(&rng, 2 * i);
		search(true);
		assert_in_range(count_left(&r), 2 * i + 1, 101);
		check_minimal(&r, &rule);
		frag_reduce_fini(&r);
	}
}

/* Block 1 cannot go as long as block 2 is there, which goes later. */
static void what_was_needed_for_what_went_goes_too(void **state)
{
	(void)state;
	rule = (struct rule){ 9, 20, .first_for_second = true, .last = BLOCKS_MAX };
	rule.needed[0] = rule.needed[3] = true;
	search(true);
	assert_int_equal(count_left(&r), 2);
	assert_true(is_left(&r, 0) && is_left(&r, 3));
	frag_reduce_fini(&r);
}

static void nothing_is_left_behind_the_end(void **state)
{
	struct frag_rng rng = { 3 };

	(void)state;
	for (uint32_t last = 1; last < 60; last++) {
		rule = (struct rule){ last, last % 3 + 1, .last = last };
		need(&rng, last / 2 ? last / 2 : 1);
		rule.blocks = 100;
		search(true);
		assert_int_equal(count_left(&r), last / 2 ? last / 2 : 1);
		check_minimal(&r, &rule);
		frag_reduce_fini(&r);
	}
}

/* The least so far: each stop leaves an out-of-memory, and later ones leave no more. */
static void a_search_that_has_to_end_keeps_what_it_has(void **state)
{
	uint32_t before = UINT32_MAX;

	(void)state;
	for (uint32_t tries = 0; tries < 12; tries++) {
		struct frag_shrink_trial trial = { .oom = false };

		rule = (struct rule){ 500, 3, .last = BLOCKS_MAX, .tries_left = tries + 1 };
		rule.needed[17] = rule.needed[300] = rule.needed[499] = true;
		search(false);
		try_rule(&rule, &r, &trial, NULL);
		assert_true(trial.oom);
		assert_in_range(count_left(&r), 3, before);
		assert_in_range(r.tries, 1, tries + 1);
		before = count_left(&r);
		frag_reduce_fini(&r);
	}
	assert_in_range(before, 3, 499);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_needed_is_left_after_few_tries),
		cmocka_unit_test(what_goes_together_only),
		cmocka_unit_test(what_was_needed_for_what_went_goes_too),
		cmocka_unit_test(nothing_is_left_behind_the_end),
		cmocka_unit_test(a_search_that_has_to_end_keeps_what_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
