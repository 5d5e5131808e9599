/* test_name_tables_stacks.c - stacks in a table: equal ones have equal numbers, common ends are there once. */
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "support/unit.h"
#include "trace/name_tables.h"

static struct frag_frame frame(const char *file, uint64_t line, const char *name)
{
	struct frag_frame f = { .line = line };

	if (file)
		f.file = (struct frag_text){ .text = file, .length = (uint32_t)strlen(file) };
	if (name)
		f.name = (struct frag_text){ .text = name, .length = (uint32_t)strlen(name) };
	return f;
}

static uint32_t frame_number(struct frag_stack_table *t, const struct frag_frame *frame)
{
	uint32_t number;

	assert_true(frag_stacks_frame(t, frame, &number));
	return number;
}

static uint32_t pushed(struct frag_stack_table *t, uint32_t frame, uint32_t below)
{
	uint32_t stack;

	assert_true(frag_stacks_push(t, frame, below, &stack));
	return stack;
}

/* Frames are file, line and name; each difference makes another one. */
static void test_frames(void **state)
{
	const struct frag_frame frames[] = {
		frame("a.py", 1, "f"), frame("a.py", 2, "f"), frame("a.py", 1, "g"),
		frame("b.py", 1, "f"), frame("f", 1, "a.py"), frame(NULL, 0, NULL),
		frame(NULL, 1, "f"), frame("a.py", 1, NULL), frame("a.py", UINT64_MAX, "f"),
	};
	struct frag_stack_table t;

	(void)state;
	assert_true(frag_stacks_init(&t, 7));
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < LENGTH(frames); i++)
			assert_int_equal(frame_number(&t, &frames[i]), i + 1);
	assert_int_equal(t.texts.count, 1 + 4);         /* a.py, b.py, f, g */
	frag_stacks_fini(&t);
}

/* main -> step -> forward, main -> step -> backward, main: five frames of stacks in all. */
static void test_common_ends(void **state)
{
	const struct frag_frame names[] = {
		frame("m.py", 1, "main"), frame("m.py", 9, "step"), frame("n.py", 5, "forward"),
		frame(NULL, 0, "backward"),
	};
	struct frag_stack_table t;
	struct frag_frame got;
	uint32_t f[4], main_, step, forward, backward;
	uint64_t at;

	(void)state;
	assert_true(frag_stacks_init(&t, 1));
	for (uint32_t i = 0; i < 4; i++)
		f[i] = frame_number(&t, &names[i]);
	main_ = pushed(&t, f[0], 0);
	step = pushed(&t, f[1], main_);
	forward = pushed(&t, f[2], step);
	assert_int_equal(pushed(&t, f[1], pushed(&t, f[0], 0)), step);
	backward = pushed(&t, f[3], step);
	assert_int_equal(t.count, 1 + 4);
	assert_int_not_equal(forward, backward);
	/* the same frame on another stack is another stack */
	assert_int_equal(pushed(&t, f[2], main_), 5);

	at = backward;
	frag_stacks_at(&t, &at, &got);
	assert_null(got.file.text);
	assert_int_equal(got.line, 0);
	assert_memory_equal(got.name.text, "backward", 8);
	frag_stacks_at(&t, &at, &got);
	assert_int_equal(at, main_);
	assert_int_equal(got.line, 9);
	frag_stacks_at(&t, &at, &got);
	assert_int_equal(at, 0);
	assert_int_equal(got.file.length, 4);
	assert_memory_equal(got.file.text, "m.py", 4);
	frag_stacks_fini(&t);
}

#define DEEP 4
#define KINDS 3

/* Random stacks of few frames: the number is the same where all frames are, and only there. */
static void test_random(void **state)
{
	static const char *const names[KINDS] = { "x", "y", "z" };
	uint32_t number_of[KINDS * KINDS * KINDS * KINDS] = { 0 }, different = 0;
	struct frag_stack_table t;
	uint64_t random = 11;

	(void)state;
	assert_true(frag_stacks_init(&t, 3));
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t stack = 0, code = 0, kinds[DEEP];
		uint64_t at;

		for (uint32_t d = 0; d < DEEP; d++) {
			const uint32_t kind = kinds[d] = (uint32_t)(random_below(&random, KINDS));
			const struct frag_frame f = frame("f.py", kind, names[kind]);

			code = code * KINDS + kind;
			stack = pushed(&t, frame_number(&t, &f), stack);
			assert_int_not_equal(stack, 0);
		}
		different += !number_of[code];
		if (!number_of[code])
			number_of[code] = stack;
		assert_int_equal(number_of[code], stack);
		at = stack;
		for (uint32_t d = DEEP; d; d--) {
			struct frag_frame got;

			frag_stacks_at(&t, &at, &got);
			assert_int_equal(got.line, kinds[d - 1]);
			assert_int_equal(*got.name.text, *names[kinds[d - 1]]);
		}
		assert_int_equal(at, 0);
	}
	/* all 81 have come by now: with their ends 3 + 9 + 27 + 81 */
	assert_int_equal(different, 81);
	assert_int_equal(t.count, 1 + 120);
	assert_int_equal(t.frame_count, 1 + KINDS);
	frag_stacks_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_common_ends),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
