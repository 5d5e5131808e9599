/* test_condition.c - the conditions of --fail-if: what they mean, and what is none. */
#include "support/unit.h"

#include <string.h>

#include "compare/condition.h"

struct bad {
	const char *text;
	double base, value;     /* of peak.reserved */
	int holds;
};

/*
 * By fragsim-run(1), Conditions: a sign makes it a change against the base, % in percent of
 * that.
 */
static const struct bad cases[] = {
	{ "peak.reserved > 100", 0, 101, 1 },
	{ "peak.reserved > 100", 0, 100, 0 },
	{ "peak.reserved>=1K", 0, 1024, 1 },
	{ "peak.reserved > +10%", 200, 220, 0 },
	{ "peak.reserved > +10%", 200, 221, 1 },
	{ "peak.reserved >= +10%", 200, 220, 1 },
	{ "peak.reserved < -10%", 200, 180, 0 },
	{ "peak.reserved < -10%", 200, 179, 1 },
	{ "peak.reserved > +1K", 1000, 2024, 0 },
	{ "peak.reserved > +1K", 1000, 2025, 1 },
	{ "peak.reserved > -5", 10, 6, 1 },
	{ "peak.reserved > -5", 10, 5, 0 },
	{ "peak.reserved == +0", 7, 7, 1 },
	{ "peak.reserved != +0%", 7, 7, 0 },
	/* of nothing, any percentage is nothing */
	{ "peak.reserved > +50%", 0, 1, 1 },
	{ "peak.reserved > +50%", 0, 0, 0 },
};

static void what_holds(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct frag_result base = { .peak.reserved = (uint64_t)cases[i].base };
		const struct frag_result run = { .peak.reserved = (uint64_t)cases[i].value };
		struct frag_condition c[FRAG_CONDITIONS_MAX];
		struct frag_finding found;
		struct frag_error err;
		uint32_t count;

		assert_int_equal(frag_condition_parse(c, &count, cases[i].text, &err), 0);
		assert_int_equal(count, 1);
		if (frag_condition_holds(c, &run, &base, 0, "it", &found, &err) != cases[i].holds)
			fail_msg("%s: base %g, value %g", cases[i].text, cases[i].base,
				 cases[i].value);
	}
}

/*
 * A part of a program whose peak is 100: the program's is 100 or more, which decides some
 * conditions. The words say where it does not.
 */
static void what_a_part_decides(void **state)
{
	static const struct {
		const char *text;
		unsigned parts;
		int holds;
		bool judged;
	} of[] = {
		{ "peak.reserved > 99", FRAG_PART_RUN, 1, true },
		{ "peak.reserved > 100", FRAG_PART_RUN, 1, false },
		{ "peak.reserved >= 100", FRAG_PART_RUN, 1, true },
		{ "peak.reserved < 100", FRAG_PART_RUN, 0, true },
		{ "peak.reserved < 101", FRAG_PART_RUN, 1, false },
		{ "peak.reserved <= 100", FRAG_PART_RUN, 1, false },
		{ "peak.reserved <= 99", FRAG_PART_RUN, 0, true },
		{ "peak.reserved == 99", FRAG_PART_RUN, 0, true },
		{ "peak.reserved != 99", FRAG_PART_RUN, 1, true },
		{ "peak.reserved == 100", FRAG_PART_RUN, 1, false },
		{ "peak.reserved > +50%", FRAG_PART_RUN, 1, true },
		{ "peak.reserved > +200%", FRAG_PART_RUN, 1, false },
		{ "peak.reserved > +50%", FRAG_PART_BASE, 1, false },
		{ "peak.reserved > 100", FRAG_PART_BASE, 0, true },
		{ "oom > 0", FRAG_PART_RUN, 1, false },
		{ "last.reserved > 200", FRAG_PART_RUN, 0, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		const struct frag_result base = { .peak.reserved = 50 };
		const struct frag_result run = { .peak.reserved = 100 };
		struct frag_condition c[FRAG_CONDITIONS_MAX];
		struct frag_finding found;
		struct frag_error err;
		uint32_t count;

		assert_int_equal(frag_condition_parse(c, &count, of[i].text, &err), 0);
		assert_int_equal(frag_condition_holds(c, &run, &base, of[i].parts, "it", &found,
						      &err), of[i].holds);
		if (of[i].holds)
			assert_int_equal(!strstr(found.line, "cannot be judged"), of[i].judged);
	}
}

static void any_stands_for_five(void **state)
{
	static const char *const paths[] = {
		"peak.reserved", "fi_device.mean", "fi_device.max", "counts.ooms", "counts.retries",
	};
	struct frag_condition c[FRAG_CONDITIONS_MAX];
	uint32_t count;

	(void)state;
	assert_int_equal(frag_condition_parse(c, &count, "any > +0%", NULL), 0);
	assert_int_equal(count, sizeof(paths) / sizeof(paths[0]));
	for (uint32_t i = 0; i < count; i++) {
		assert_string_equal(c[i].path, paths[i]);
		assert_int_equal(c[i].kind, FRAG_CHANGE_PERCENT);
		assert_true(c[i].implied);
	}
}

static void what_is_none(void **state)
{
	static const char *const texts[] = {
		"", "peak.reserved", "peak.reserved >", "peak.reserved > +", "peak.reserved > +%",
		"peak.reserved > -%", "peak.reserved > +1K%", "peak.reserved > +-1",
		"peak.reserved > 5%", "nothing > +1%", "peak > +1", "peak.reserved => +1",
	};
	struct frag_condition c[FRAG_CONDITIONS_MAX];
	uint32_t count;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (frag_condition_parse(c, &count, texts[i], NULL) != -FRAG_EUSAGE)
			fail_msg("taken: %s", texts[i]);
}

/* Without a base there is nothing that could have changed. */
static void changes_are_told_apart(void **state)
{
	struct frag_condition c[FRAG_CONDITIONS_MAX];
	uint32_t count;

	(void)state;
	assert_int_equal(frag_condition_parse(c, &count, "oom > 0", NULL), 0);
	assert_string_equal(c->path, "counts.ooms");
	assert_int_equal(frag_condition_absolute(c, NULL), 0);
	assert_int_equal(frag_condition_parse(c, &count, "oom > +0", NULL), 0);
	assert_int_equal(frag_condition_absolute(c, NULL), -FRAG_EUSAGE);
}

/* A percentage is judged as files show it: 12.34567 is 12.3457 there, and no more than that. */
static void percentages_are_rounded(void **state)
{
	const struct frag_result base = { .fi = { .steps = 1, .max = 12.3457 } };
	const struct frag_result run = { .fi = { .steps = 1, .max = 12.34567 } };
	struct frag_condition c[FRAG_CONDITIONS_MAX];
	struct frag_finding found;
	uint32_t count;

	(void)state;
	assert_int_equal(frag_condition_parse(c, &count, "fi.max != +0", NULL), 0);
	assert_int_equal(frag_condition_holds(c, &run, &base, 0, "it", &found, NULL), 0);
}

/* A run without a step has no index: for a path that somebody wrote, that is wrong usage. */
static void what_has_no_value(void **state)
{
	const struct frag_result none = { .steps = 0 };
	const struct frag_result some = { .fi = { .steps = 1, .max = 99 } };
	struct frag_condition c[FRAG_CONDITIONS_MAX];
	struct frag_finding found;
	struct frag_error err;
	uint32_t count;

	(void)state;
	assert_int_equal(frag_condition_parse(c, &count, "fi.max > +1", &err), 0);
	assert_false(c->implied);
	assert_int_equal(frag_condition_holds(c, &none, &some, 0, "it", &found, &err), -FRAG_EUSAGE);
	assert_int_equal(frag_condition_holds(c, &some, &none, 0, "it", &found, &err), -FRAG_EUSAGE);
	c->implied = true;
	assert_int_equal(frag_condition_holds(c, &none, &some, 0, "it", &found, &err), 0);
	assert_int_equal(frag_condition_holds(c, &some, &none, 0, "it", &found, &err), 0);
	assert_int_equal(frag_condition_holds(c, &none, &none, 0, "it", &found, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_holds),
		cmocka_unit_test(what_a_part_decides),
		cmocka_unit_test(any_stands_for_five),
		cmocka_unit_test(what_is_none),
		cmocka_unit_test(changes_are_told_apart),
		cmocka_unit_test(percentages_are_rounded),
		cmocka_unit_test(what_has_no_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
