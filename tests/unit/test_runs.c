/* test_runs.c - names cut to the room that there is; what is kept of a result. */
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>

#include "compare/runs.h"
#include "policy/policies.h"

/* The whole of an escape or nothing: what is left has to be JSON still. */
static void names_are_cut_between_escapes(void **state)
{
	static const struct {
		size_t size;
		const char *json, *wanted;
	} cases[] = {
		{ 4, "\"abcdef\"", "abc" }, { 8, "\"abc\"", "abc" }, { 4, "\"ab\\n\"", "ab" },
		{ 5, "\"ab\\n\"", "ab\\n" }, { 8, "\"ab\\u00e9\"", "ab" },
		{ 9, "\"ab\\u00e9\"", "ab\\u00e9" }, { 12, "\"\\ud83d\\ude00\"", "" },
		{ 13, "\"\\ud83d\\ude00\"", "\\ud83d\\ude00" }, { 3, "\"\"", "" },
	};
	char to[16];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		frag_where_json_name(to, cases[i].size, cases[i].json);
		assert_string_equal(to, cases[i].wanted);
	}
}

static char *text(const char *from)
{
	char *copy = strdup(from);

	assert_non_null(copy);
	return copy;
}

static struct frag_tag_usage holder(const char *tag)
{
	return (struct frag_tag_usage){
		.tag = tag ? text(tag) : NULL, .bytes = 1, .blocks = 1,
		.stacks = { { .frames = text("a.py:1 f\n") }, { .frames = text("b.py:2 g\n") } },
		.stack_count = 2, .all_stacks = 2,
	};
}

/* Whatever a result owns, at each place that can own something. */
static void fill_result(struct frag_result *result)
{
	struct frag_oom *oom;

	result->choice.ops = &frag_policy_direct;
	result->ooms = calloc(2, sizeof(*result->ooms));
	result->marks = calloc(2, sizeof(*result->marks));
	assert_true(result->ooms && result->marks);
	for (result->oom_count = 0; result->oom_count < 2; result->oom_count++) {
		oom = &result->ooms[result->oom_count];
		oom->id = text("\"x\"");
		oom->holders[oom->holder_count++] = holder("\"held\"");
		oom->holders[oom->holder_count++] = holder(NULL);
		oom->hole.holders[oom->hole.holder_count++] = holder("\"in the way\"");
	}
	result->marks[result->mark_count++].name = text("\"begin\"");
	result->marks[result->mark_count++].name = text("\"end\"");
}

/* Run and result are released each by itself, in either order. */
static void a_kept_result_is_the_run_s_own(void **state)
{
	(void)state;
	for (int run_first = 0; run_first < 2; run_first++) {
		struct frag_result result = { .steps = 0 };
		struct frag_run_set set = { .count = 0 };
		struct frag_runs *runs = frag_run_set_add(&set);
		struct frag_run *run = runs ? frag_runs_add(runs) : NULL;

		fill_result(&result);
		assert_non_null(run);
		assert_true(frag_run_keep(run, &result));
		if (!run_first)
			frag_result_fini(&result);
		assert_int_equal(run->result.oom_count, 1);
		assert_string_equal(run->result.ooms->id, "\"x\"");
		assert_string_equal(run->result.ooms->hole.holders[0].tag, "\"in the way\"");
		assert_string_equal(run->result.ooms->holders[1].stacks[1].frames, "b.py:2 g\n");
		assert_int_equal(run->result.mark_count, 2);
		assert_string_equal(run->result.marks[1].name, "\"end\"");
		frag_run_set_fini(&set);
		if (run_first)
			frag_result_fini(&result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_cut_between_escapes),
		cmocka_unit_test(a_kept_result_is_the_run_s_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
