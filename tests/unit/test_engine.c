/* test_engine.c - one policy on one device: limits, pending blocks, and lies. */
#include "engine/engine.h"

#include <string.h>

#include "support/faulty_device.h"
#include "support/play.h"
#include "support/policy_skeleton.h"
#include "support/unit.h"

#define KIB UINT64_C(1024)

static const struct frag_device_figures device = { .total = 100 * KIB, .granularity = 1 };

/* Plays the table to its end under the policy; the caller closes. */
static void play(struct play *p, const char *policy, const struct frag_record *records,
		 uint32_t count)
{
	struct frag_choice choice = play_choose(policy);

	faulty_begin(0, 0);
	assert_int_equal(play_open(p, &choice, records, count, &device, 1, NULL), 0);
	if (play_run(p))
		fail_msg("%s", p->error.message);
}

static void expect_status(const struct play *p, const char *want)
{
	assert_int_equal(p->row_count, strlen(want));
	for (uint32_t i = 0; i < p->row_count; i++)
		assert_int_equal(p->rows[i].status, want[i] == '.' ? FRAG_STEP_OK
				 : want[i] == 'x' ? FRAG_STEP_OOM : FRAG_STEP_SKIPPED);
}

static void test_status_names(void **state)
{
	(void)state;
	assert_string_equal(frag_step_status_name(FRAG_STEP_OK), "ok");
	assert_string_equal(frag_step_status_name(FRAG_STEP_OOM), "oom");
	assert_string_equal(frag_step_status_name(FRAG_STEP_SKIPPED), "skipped");
}

/* Half of 100 KiB holds 51200 bytes and not one more; the product is rounded down. */
static void test_set_fraction(void **state)
{
	static const struct {
		double fraction;
		uint64_t size;
		bool fits;
	} cases[] = {
		{ 0.5, 51200, true }, { 0.5, 51201, false },
		{ 0.333, 34099, true }, { 0.333, 34100, false },       /* 34099.2 */
		{ 0.99999, 102398, true }, { 0.99999, 102399, false }, /* 102398.976 */
		{ 0, 1, false },
		{ 1, 102400, true }, { 1, 102401, false },
	};
	struct play p;

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		const struct frag_record records[] = {
			SET_FRACTION(cases[i].fraction), ALLOC(1, cases[i].size),
		};

		play(&p, "direct", records, LENGTH(records));
		expect_status(&p, cases[i].fits ? ".." : ".x");
		play_close(&p);
	}
}

/* A later value takes its place; what is held stays; 1 lifts it. */
static void test_set_fraction_again(void **state)
{
	static const struct frag_record records[] = {
		ALLOC(1, 50 * KIB), SET_FRACTION(0.25), SET_FRACTION(0.75), ALLOC(2, 25 * KIB),
		SET_FRACTION(1), ALLOC(3, 25 * KIB),
	};
	struct play p;

	(void)state;
	play(&p, "direct", records, LENGTH(records));
	expect_status(&p, "......");
	play_close(&p);
}

/* On a device without capacity a fraction is of nothing. */
static void test_set_fraction_unlimited(void **state)
{
	static const struct frag_device_figures unlimited = { .granularity = 1 };
	static const struct frag_record records[] = { SET_FRACTION(0), ALLOC(1, KIB) };
	struct frag_choice choice = play_choose("direct");
	struct play p;

	(void)state;
	faulty_begin(0, 0);
	assert_int_equal(play_open(&p, &choice, records, LENGTH(records), &unlimited, 1, NULL), 0);
	assert_int_equal(play_run(&p), 0);
	expect_status(&p, "..");
	play_close(&p);
}

/* A pending block keeps its memory until the step that ends it. */
static void test_pending(void **state)
{
	static const struct frag_record records[] = {
		ALLOC(1, 4 * KIB), RECORD_STREAM(1, 1), FREE(1), EMPTY_CACHE(), SYNC(),
		ALLOC(2, KIB), FREE_PENDING(2), SYNC(), COMPLETE(2),
	};
	static const uint64_t reserved[] = { 4, 4, 4, 4, 0, 1, 1, 1, 0 };
	static const uint64_t allocated[] = { 4, 4, 0, 0, 0, 1, 0, 0, 0 };
	struct play p;

	(void)state;
	play(&p, "direct", records, LENGTH(records));
	for (uint32_t i = 0; i < LENGTH(records); i++) {
		assert_int_equal(p.rows[i].metrics.reserved, reserved[i] * KIB);
		assert_int_equal(p.rows[i].metrics.active, reserved[i] * KIB);
		assert_int_equal(p.rows[i].metrics.allocated, allocated[i] * KIB);
	}
	play_close(&p);
}

/* empty_cache by default gives back what is idle, and only that. */
static void test_empty_cache(void **state)
{
	static const struct frag_record records[] = {
		ALLOC(1, 2 * KIB), ALLOC(2, 2 * KIB), FREE(1), EMPTY_CACHE(), EMPTY_CACHE(),
	};
	struct play p;

	(void)state;
	play(&p, "bestfit:segment=2K", records, LENGTH(records));
	assert_int_equal(p.rows[2].metrics.reserved, 4 * KIB);
	assert_int_equal(p.rows[3].metrics.reserved, 2 * KIB);
	assert_int_equal(p.rows[3].call_count, 1);
	assert_int_equal(p.rows[4].call_count, 0);
	play_close(&p);
}

/* Size 0 takes no memory, is a hit, and can be freed. */
static void test_size_0(void **state)
{
	static const struct frag_record records[] = { ALLOC(1, 0), FREE(1), ALLOC(1, 0) };
	const struct frag_result *result;
	struct play p;
	uint32_t count;

	(void)state;
	play(&p, "bestfit", records, LENGTH(records));
	expect_status(&p, "...");
	assert_true(p.rows[0].placed);
	assert_int_equal(p.rows[0].bytes, 0);
	assert_int_equal(p.rows[0].metrics.blocks, 0);
	result = frag_sim_results(p.sim, false, &count);
	assert_int_equal(result[0].counts.allocs, 2);
	assert_int_equal(result[0].counts.frees, 1);
	assert_int_equal(result[0].counts.hits, 2);
	assert_int_equal(result[0].counts.segment_allocs, 0);
	play_close(&p);
}

/*
 * Liars. Each does one thing wrong, and is stopped with its name and no crash;
 * the rest of its life is the skeleton's.
 */
static frag_block kept = FRAG_NO_BLOCK;

static int truth(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	return policy_skeleton.alloc(p, rq, out);
}

static int nothing(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	(void)p;
	(void)rq;
	(void)out;
	return 0;
}

static int wild_handle(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	int rc = truth(p, rq, out);

	*out = 123456789;
	return rc;
}

static int no_handle(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	int rc = truth(p, rq, out);

	*out = FRAG_NO_BLOCK;
	return rc;
}

static int free_block(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	int rc = truth(p, rq, out);

	return rc ? rc : frag_heap_give(p->heap, *out, out);
}

static int same_again(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	if (kept != FRAG_NO_BLOCK) {
		*out = kept;
		return 0;
	}
	return truth(p, rq, out) || (kept = *out, 0);
}

static int two_blocks(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	int rc = truth(p, rq, out);

	return rc ? rc : truth(p, rq, out);
}

static int too_small(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	struct frag_request less = *rq;

	less.bytes = rq->bytes / 2;
	return truth(p, &less, out);
}

static int other_pool(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	struct frag_request other = *rq;

	other.pool = rq->pool + 1;
	return truth(p, &other, out);
}

static int wrong_list(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	return frag_heap_grow(p->heap, 99, rq->bytes, out);
}

static int odd_code(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	(void)p;
	(void)rq;
	(void)out;
	return 7;
}

static int refused_yet_took(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	return truth(p, rq, out) ? 0 : -FRAG_EDEVMEM;
}

static int keeps_all(struct frag_policy *p, frag_block b)
{
	(void)p;
	(void)b;
	return 0;
}

static int frees_twice(struct frag_policy *p, frag_block b)
{
	frag_block out;
	int rc = frag_heap_give(p->heap, b, &out);

	return rc ? rc : frag_heap_give(p->heap, out, &out);
}

static int frees_another(struct frag_policy *p, frag_block b)
{
	return frag_heap_give(p->heap, b + 1000, NULL);
}

static int refuses_to_free(struct frag_policy *p, frag_block b)
{
	(void)p;
	(void)b;
	return -FRAG_EDEVMEM;
}

static int speaks(struct frag_policy *p, frag_block b)
{
	return frag_fail(p->err, FRAG_EPOLICY, "block %u is dear to me", b);
}

static int bad_start(struct frag_policy *p)
{
	return frag_heap_release(p->heap, 0);
}

static int odd_notice(struct frag_policy *p, const struct frag_notice *n, bool *handled)
{
	(void)p;
	(void)n;
	*handled = true;
	return -FRAG_EDEVMEM;
}

static int odd_end(struct frag_policy *p, frag_block b, uint64_t synced)
{
	(void)b;
	(void)synced;
	return frag_heap_defer_free(p->heap, b, 0);
}

#define MEANS_NOTHING "which means nothing here"

static const struct {
	int (*alloc)(struct frag_policy *p, const struct frag_request *rq, frag_block *out);
	int (*free)(struct frag_policy *p, frag_block b);
	int (*init)(struct frag_policy *p);
	int (*notice)(struct frag_policy *p, const struct frag_notice *n, bool *handled);
	int (*ended)(struct frag_policy *p, frag_block b, uint64_t synced);
	uint32_t rows;          /* steps that went well */
	const char *message;
} liars[] = {
	{ .alloc = nothing, .message =
	    "event 0 (alloc id 1): alloc: FRAG_NO_BLOCK is no block" },
	{ .alloc = wild_handle, .message =
	    "event 0 (alloc id 1): alloc: block 123456789: there never was such "
	    "a block" },
	{ .alloc = no_handle, .message =
	    "event 0 (alloc id 1): alloc: FRAG_NO_BLOCK is no block" },
	{ .alloc = free_block, .message =
	    "event 0 (alloc id 1): alloc: block 0 (segment 0, offset 0, 1024 "
	    "bytes, free) is the answer, but not allocated" },
	{ .alloc = same_again, .rows = 1, .message =
	    "event 1 (alloc id 2): alloc: the number of allocated blocks "
	    "after it is 1, not 2" },
	{ .alloc = two_blocks, .message =
	    "event 0 (alloc id 1): alloc: the number of allocated blocks "
	    "after it is 2, not 1" },
	{ .alloc = too_small, .message =
	    "event 0 (alloc id 1): alloc: block 0 (segment 0, offset 0, 512 "
	    "bytes, allocated) is the answer, but allocated for 500 bytes, not "
	    "the 1000 requested" },
	{ .alloc = other_pool, .message =
	    "event 0 (alloc id 1): alloc: block 0 (segment 0, offset 0, 1024 "
	    "bytes, allocated) is the answer, but of pool 1, not 0" },
	{ .alloc = wrong_list, .message =
	    "event 0 (alloc id 1): frag_heap_grow: there is no list 99" },
	{ .alloc = odd_code, .message =
	    "policy liar: event 0 (alloc id 1): answered with code 7, " MEANS_NOTHING },
	{ .alloc = refused_yet_took, .message =
	    "event 0 (alloc id 1): alloc: the number of allocated blocks "
	    "after it is 1, not 0" },
	{ .free = keeps_all, .rows = 2, .message =
	    "event 2 (free id 1): free: the number of allocated blocks "
	    "after it is 2, not 1" },
	{ .free = frees_twice, .rows = 2, .message =
	    "event 2 (free id 1): frag_heap_give: block 0 (segment 0, offset 0, "
	    "1024 bytes, free) is neither allocated nor pending" },
	{ .free = frees_another, .rows = 2, .message =
	    "event 2 (free id 1): frag_heap_give: block 1000: there never was "
	    "such a block" },
	{ .free = refuses_to_free, .rows = 2, .message = MEANS_NOTHING },
	{ .free = speaks, .rows = 2, .message =
	    "policy liar: event 2 (free id 1): block 0 is dear to me" },
	{ .init = bad_start, .message =
	    "before the first event: frag_heap_release: block 0: there never was"
	    " such a block" },
	{ .notice = odd_notice, .rows = 3, .message = MEANS_NOTHING },
	{ .ended = odd_end, .rows = 6, .message =
	    "event 6 (complete id 3): frag_heap_defer_free: block 0 (segment 2, offset"
	    " 0, 1024 bytes, pending) is not allocated" },
};

/* What a run says that nobody watches, as it is read or from a tape; so many steps went well. */
static void expect_found_out(const struct frag_choice *choice, const struct frag_record *records,
			     uint32_t count, bool taped, uint32_t liar)
{
	struct frag_error err = { .code = 0 };
	struct frag_tape_reader *reader = NULL;
	struct frag_tape *tape = NULL;
	struct frag_batch batch;
	struct frag_sim *sim;
	struct play p;
	uint32_t devices;
	int rc = 0;

	assert_int_equal(play_open(&p, choice, records, count, &device, 1, NULL), 0);
	if (taped) {
		assert_int_equal(frag_tape_new(&tape, p.trace, NULL, &err), 0);
		assert_non_null(reader = frag_tape_reader_new(tape));
		assert_int_equal(frag_sim_on_tape(&sim, choice, tape, NULL, &err), 0);
		rc = frag_sim_play(sim, reader, UINT64_MAX, &err);
	} else {
		assert_int_equal(frag_sim_new(&sim, choice, p.trace, NULL, &err), 0);
		do {
			assert_int_equal(frag_trace_next(p.trace, &batch, &err), 0);
			rc = frag_sim_feed(sim, &batch, &err);
		} while (!rc && batch.count);
	}
	if (rc != -FRAG_EPOLICY || !strstr(err.message, liars[liar].message)
	    || !strstr(err.message, "liar")
	    || frag_sim_results(sim, false, &devices)->steps != liars[liar].rows)
		fail_msg("liar %u, unwatched%s: \"%s\"", liar, taped ? ", taped" : "", err.message);
	frag_sim_del(sim);
	frag_tape_reader_del(reader);
	frag_tape_del(tape);
	play_close(&p);
}

static void test_liars(void **state)
{
	static const struct frag_record records[] = {
		ALLOC(1, 1000), ALLOC(2, 1000), FREE(1), EMPTY_CACHE(), ALLOC(3, 1000),
		FREE_PENDING(3), COMPLETE(3), FREE(2),
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(liars); i++) {
		struct frag_policy_ops ops = policy_skeleton;
		struct frag_choice choice;
		struct play p;

		kept = FRAG_NO_BLOCK;
		ops.name = "liar";
		ops.alloc = liars[i].alloc ? liars[i].alloc : ops.alloc;
		ops.free = liars[i].free ? liars[i].free : ops.free;
		ops.init = liars[i].init ? liars[i].init : ops.init;
		ops.notice = liars[i].notice ? liars[i].notice : NULL;
		ops.ended = liars[i].ended ? liars[i].ended : NULL;
		choice = play_policy(&ops);
		faulty_begin(0, 0);
		assert_int_equal(play_open(&p, &choice, records, LENGTH(records), &device, 1, NULL),
				 0);
		if (play_run(&p) != -FRAG_EPOLICY || !strstr(p.error.message, liars[i].message)
		    || !strstr(p.error.message, "liar") || p.row_count != liars[i].rows)
			fail_msg("liar %u: after %u steps \"%s\"", i, p.row_count,
				 p.error.message);
		play_close(&p);
		for (uint32_t taped = 0; taped < 2; taped++) {
			kept = FRAG_NO_BLOCK;
			expect_found_out(&choice, records, LENGTH(records), taped, i);
		}
	}
}

static enum frag_releases releases_always(const uint64_t *param)
{
	(void)param;
	return FRAG_RELEASES_ALWAYS;
}

static enum frag_releases releases_gc(const uint64_t *param)
{
	(void)param;
	return FRAG_RELEASES_GC;
}

static enum frag_releases releases_never(const uint64_t *param)
{
	(void)param;
	return FRAG_RELEASES_NEVER;
}

/*
 * Two segments of 10 KiB, of which the first becomes unused; then the program asks for what is
 * unused to go, and for 85 of the 100 KiB, which the policy's own rule makes room for if it can.
 */
static void test_releases(void **state)
{
	static const struct frag_record records[] = {
		ALLOC(1, 10 * KIB), ALLOC(2, 10 * KIB), FREE(1), EMPTY_CACHE(), ALLOC(3, 85 * KIB),
	};
	static const struct {
		enum frag_releases (*releases)(const uint64_t *param);
		uint64_t freed, asked, reserved;        /* releasable after step 2 and 3; then */
		const char *status;
	} cases[] = {
		{ NULL, 10 * KIB, 0, 10 * KIB, "....." },
		{ releases_always, 10 * KIB, 0, 10 * KIB, "....." },
		{ releases_gc, 10 * KIB, 10 * KIB, 20 * KIB, "....." },
		{ releases_never, 0, 0, 20 * KIB, "....x" },
	};
	struct frag_error err;
	struct play p;

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		struct frag_policy_ops ops = *frag_policies()[0];
		struct frag_choice choice;

		ops.releases = cases[i].releases;
		assert_int_equal(frag_choice_of(&choice, &ops, "bestfit:segment=1024", &err), 0);
		faulty_begin(0, 0);
		assert_int_equal(play_open(&p, &choice, records, LENGTH(records), &device, 1, NULL),
				 0);
		assert_int_equal(play_run(&p), 0);
		expect_status(&p, cases[i].status);
		assert_int_equal(p.rows[2].metrics.releasable, cases[i].freed);
		assert_int_equal(p.rows[3].metrics.releasable, cases[i].asked);
		assert_int_equal(p.rows[3].metrics.reserved, cases[i].reserved);
		play_close(&p);
	}
}

/* A request of 0 bytes and one of most that there can be, under every policy. */
static void test_extremes(void **state)
{
	static const struct frag_record records[] = {
		ALLOC(1, 0), ALLOC(2, (UINT64_C(1) << 53) - 1), FREE(1),
	};
	const struct frag_policy_ops *const *all = frag_policies();
	struct play p;

	(void)state;
	for (uint32_t i = 0; all[i]; i++) {
		play(&p, all[i]->name, records, LENGTH(records));
		expect_status(&p, ".x");
		play_close(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status_names),
		cmocka_unit_test(test_set_fraction),
		cmocka_unit_test(test_set_fraction_again),
		cmocka_unit_test(test_set_fraction_unlimited),
		cmocka_unit_test(test_pending),
		cmocka_unit_test(test_empty_cache),
		cmocka_unit_test(test_size_0),
		cmocka_unit_test(test_liars),
		cmocka_unit_test(test_releases),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
