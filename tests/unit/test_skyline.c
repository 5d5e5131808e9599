/* test_skyline.c - a skyline asks whether to stop often enough, and where it is stopped it is a plan. */
#include <stdlib.h>
#include <string.h>

#include "base/job.h"
#include "plan/address_space.h"
#include "support/random.h"
#include "support/unit.h"

/* Between two calls of `stop` the work of one placement may come on top. */
#define LOOKS_MAX ((UINT64_C(1) << 20) + (UINT64_C(1) << 16))

struct asked {
	struct frag_placing placing;
	uint64_t looks, most;           /* at the last call, and between two of them */
	uint32_t calls, stop_at;        /* the call that stops it; 0: none */
	bool late;                      /* it is stopped before it begins */
};

static bool ask(void *ctx)
{
	struct asked *a = ctx;

	a->most = a->placing.looks - a->looks > a->most ? a->placing.looks - a->looks : a->most;
	a->looks = a->placing.looks;
	a->calls++;
	return a->calls == a->stop_at;
}

/* So many buffers, of which so many live at a time; every eighth is aligned to 4 KiB. */
static struct frag_plan new_plan(uint32_t count, uint32_t live)
{
	struct frag_plan plan = { .path = "x", .count = count, .scale = 1, .space_count = 1 };
	uint64_t random = 1;

	plan.buffers = calloc(count, sizeof(*plan.buffers));
	plan.spaces = calloc(1, sizeof(*plan.spaces));
	assert_true(plan.buffers && plan.spaces);
	plan.spaces[0].count = count;
	for (uint32_t i = 0; i < count; i++)
		plan.buffers[i] = (struct frag_buffer){
			.birth = i, .end = i + 1 + random_below(&random, 2 * live),
			.size = 512 * (1 + random_below(&random, 1 << random_below(&random, 14))),
			.align = i % 8 ? 1 : 4096,
		};
	return plan;
}

static void place(struct asked *a, const struct frag_plan *plan, uint64_t *bound, uint64_t *height)
{
	const struct frag_job job = { .stop = ask, .ctx = a };
	uint64_t *offset = calloc(plan->count, sizeof(*offset));
	struct frag_error err = { .message = "" };
	struct frag_space s;

	assert_non_null(offset);
	assert_int_equal(frag_space_init(&s, plan, 0, &err), 0);
	a->placing = (struct frag_placing){ .space = &s, .stop = &job, .always = true, .offset = offset };
	a->placing.stopped = a->late;
	if (!a->late)
		assert_int_equal(frag_space_sum_contention(&s, &err), 0);
	assert_int_equal((a->late ? frag_class_place : frag_skyline_place)(&a->placing, &err), 0);
	ask(a);
	*height = 0;
	for (uint32_t i = 0; i < s.count; i++) {
		assert_int_equal(offset[i] % s.align[i], 0);
		*height = offset[i] + s.size[i] > *height ? offset[i] + s.size[i] : *height;
	}
	for (uint32_t i = 0; i < s.count; i++)
		assert_true(s.fixed[i] == UINT64_MAX || offset[i] == s.fixed[i]);
	*bound = s.bound;
	assert_int_equal(frag_space_check(&s, plan, offset, "x", &err), 0);
	frag_space_fini(&s);
	free(offset);
}

/* It is stopped at the first call, at a later one, and not at all. */
static void test_stop(void **state)
{
	static const uint32_t lives[] = { 10, 2000, 20000 };

	(void)state;
	for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++) {
		struct frag_plan plan = new_plan(60000, lives[i]);

		for (uint32_t stop_at = 0; stop_at < 3; stop_at++) {
			struct asked a = { .stop_at = stop_at };
			uint64_t bound, height;

			place(&a, &plan, &bound, &height);
			assert_true(a.calls > 1 && a.most < LOOKS_MAX);
			assert_int_equal(a.placing.stopped, stop_at && a.calls > stop_at);
			/* the classes of few buffers are rarely used again */
			assert_true(height >= bound && (double)height
				    < (stop_at ? lives[i] < 100 ? 20 : 3 : 1.1) * (double)bound);
		}
		free(plan.buffers);
		free(plan.spaces);
	}
}

/* Without time for a skyline: above what is fixed, each in a slot of its class. */
static void test_class(void **state)
{
	struct frag_plan plan = new_plan(60000, 2000);
	struct asked a = { .late = true };
	uint64_t bound, height;

	(void)state;
	place(&a, &plan, &bound, &height);
	assert_true(height >= bound && (double)height < 3 * (double)bound);
	assert_int_equal(a.calls, 1);   /* that of this test */
	plan.buffers[100].fixed = true;
	plan.buffers[100].offset = bound;
	place(&a, &plan, &bound, &height);
	assert_true(height > 2 * bound && (double)height < 4 * (double)bound);
	free(plan.buffers);
	free(plan.spaces);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_stop), cmocka_unit_test(test_class) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
