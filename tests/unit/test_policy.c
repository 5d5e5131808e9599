/* test_policy.c - the table of policies, its check, and NAME:key=value. */
#include "fragsim/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/heap_tables.h"
#include "policy/param.h"
#include "support/faulty_device.h"
#include "support/files.h"
#include "support/play.h"
#include "support/policy_skeleton.h"
#include "support/policy_sorted.h"
#include "support/unit.h"

static void test_all_pass_the_check(void **state)
{
	const struct frag_policy_ops *const *all = frag_policies();
	struct frag_error err = { .code = 0 };

	(void)state;
	for (uint32_t i = 0; all[i]; i++) {
		if (frag_policy_check(all[i], &err))
			fail_msg("%s", err.message);
		if (i)
			assert_true(strcmp(all[i - 1]->name, all[i]->name) < 0);
	}
	assert_int_equal(frag_policy_check(&policy_skeleton, &err), 0);
}

/* The first multiple from x on, found by counting. */
static uint64_t count_up(uint64_t x, uint64_t m)
{
	while (x % m)
		x++;
	return x;
}

static void test_rounding(void **state)
{
	const uint64_t limit = UINT64_C(1) << 53;

	(void)state;
	for (uint64_t m = 1; m <= 70; m++) {
		for (uint64_t x = 0; x <= 300; x++) {
			assert_int_equal(frag_round_up(x, m), count_up(x, m));
			assert_int_equal(frag_round_up(limit - x, m), count_up(limit - x, m));
			if ((m & (m - 1)) == 0)
				assert_int_equal(frag_round_up_pow2(x, m), count_up(x, m));
		}
	}
	assert_int_equal(frag_round_up_pow2(limit - 1, UINT64_C(1) << 52), limit);
}

static const struct frag_param_spec good_params[] = {
	{ .name = "size", .type = FRAG_PARAM_SIZE, .fallback = 8, .min = 1, .max = 64,
	  .power_of_two = true, .help = "a size" },
	{ .name = "also", .type = FRAG_PARAM_SIZE, .same_as = "size", .min = 1, .help = "too" },
	{ 0 },
};

/* Good but for what each case changes. */
static struct frag_policy_ops good(void)
{
	struct frag_policy_ops ops = policy_skeleton;

	ops.params = good_params;
	return ops;
}

static void expect_refused(const struct frag_policy_ops *ops, const char *why)
{
	struct frag_error err = { .code = 0 };

	assert_int_equal(frag_policy_check(ops, &err), -FRAG_EPOLICY);
	if (!strstr(err.message, why))
		fail_msg("expected \"%s\", got \"%s\"", why, err.message);
}

static void test_bad_slots(void **state)
{
	struct frag_policy_ops ops = good();

	(void)state;
	assert_int_equal(frag_policy_check(&ops, NULL), 0);
	ops.params = NULL;
	assert_int_equal(frag_policy_check(&ops, NULL), 0);
	ops.check = NULL;
	ops.init = NULL;
	ops.ended = NULL;
	ops.notice = NULL;
	assert_int_equal(frag_policy_check(&ops, NULL), 0);
	ops = good(), ops.summary = NULL;
	expect_refused(&ops, "policy skeleton: summary, alloc and free are required");
	ops = good(), ops.order = (enum frag_order)3;
	expect_refused(&ops, "policy skeleton: order 3 is none");
	ops = good(), ops.order = FRAG_ORDER_KEY;
	expect_refused(&ops, "policy skeleton: key and FRAG_ORDER_KEY go together");
	ops = good(), ops.key = policy_twolevel.key;
	expect_refused(&ops, "policy skeleton: key and FRAG_ORDER_KEY go together");
	ops.order = FRAG_ORDER_KEY;
	assert_int_equal(frag_policy_check(&ops, NULL), 0);
	ops = good(), ops.which = policy_twolevel.which;
	assert_int_equal(frag_policy_check(&ops, NULL), 0);
	ops = good(), ops.alloc = NULL;
	expect_refused(&ops, "are required");
	ops = good(), ops.free = NULL;
	expect_refused(&ops, "are required");
}

static void test_bad_names(void **state)
{
	static const char *const names[] = {
		NULL, "", "Best", "best fit", "best:fit", "b=f", "\xc3\xa9",
	};
	struct frag_policy_ops ops = good();

	(void)state;
	for (uint32_t i = 0; i < LENGTH(names); i++) {
		ops.name = names[i];
		expect_refused(&ops, "a policy's name is made of a-z, 0-9, _ and -");
	}
	ops.name = "best-fit_2";
	assert_int_equal(frag_policy_check(&ops, NULL), 0);
}

static void test_bad_params(void **state)
{
	static const struct frag_param_spec first = {
		.name = "first", .type = FRAG_PARAM_SIZE, .fallback = 4, .help = "good",
	};
	static const char range[] = "key 1, \"key\": its default is not a value that it takes";
	static const struct {
		struct frag_param_spec spec;
		const char *said;
	} bad[] = {
		{ { .name = "Key", .help = "upper case" }, "key 1, \"Key\": its name is not made of" },
		{ { .name = "", .help = "no name" }, "key 1, \"\": its name is not made of a-z" },
		{ { .name = "first", .help = "the same name again" },
		  "key 1, \"first\": an earlier one has the same name" },
		{ { .name = "key" }, "key 1, \"key\": it has no help" },
		{ { .name = "key", .fallback = 1, .min = 2, .help = "below" }, range },
		{ { .name = "key", .fallback = 9, .max = 8, .help = "above" }, range },
		{ { .name = "key", .fallback = UINT64_C(1) << 53, .help = "2^53" }, range },
		{ { .name = "key", .fallback = 12, .power_of_two = true, .help = "no power" }, range },
		{ { .name = "key", .min = 1, .power_of_two = true, .help = "0 is below" }, range },
		{ { .name = "key", .type = FRAG_PARAM_OWN, .help = "who reads it?" },
		  "key 1, \"key\": a separate type requires expects, parse and print" },
		{ { .name = "key", .type = FRAG_PARAM_FILE, .fallback = 1, .help = "which?" },
		  "key 1, \"key\": a file has no default" },
		{ { .name = "key", .type = FRAG_PARAM_FILE, .same_as = "first", .help = "a size?" },
		  "key 1, \"key\": a file is never that of another key" },
		{ { .name = "key", .type = FRAG_PARAM_NAME, .fallback = 1, .help = "whose?" },
		  "key 1, \"key\": a name has no default" },
		{ { .name = "key", .type = FRAG_PARAM_NAME, .same_as = "first", .help = "a size?" },
		  "key 1, \"key\": a name is never that of another key" },
		{ { .name = "key", .same_as = "key", .help = "as itself" },
		  "key 1, \"key\": same_as is no earlier key" },
		{ { .name = "key", .same_as = "later", .help = "as nothing" },
		  "key 1, \"key\": same_as is no earlier key" },
	};
	struct frag_param_spec params[3] = { first, first, { 0 } };
	struct frag_policy_ops ops = good();

	(void)state;
	ops.params = params;
	for (uint32_t i = 0; i < LENGTH(bad); i++) {
		char said[160];

		params[1] = bad[i].spec;
		snprintf(said, sizeof(said), "policy skeleton: %s", bad[i].said);
		expect_refused(&ops, said);
	}
	params[0] = (struct frag_param_spec){
		.name = "first", .type = FRAG_PARAM_FILE, .help = "a file",
	};
	params[1] = (struct frag_param_spec){ .name = "key", .same_as = "first", .help = "it too" };
	expect_refused(&ops, "key 1, \"key\": a file is never that of another key");
	params[0] = first;
	params[1] = (struct frag_param_spec){
		.name = "key", .same_as = "first", .min = 1, .power_of_two = true, .help = "good",
	};
	assert_int_equal(frag_policy_check(&ops, NULL), 0);
}

static void test_too_many_params(void **state)
{
	static const char *const names[] = {
		"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q",
		"r", "s", "t", "u", "v", "w", "x", "y",
	};
	struct frag_param_spec params[LENGTH(names) + 1] = { { 0 } };
	struct frag_policy_ops ops = good();

	(void)state;
	assert_int_equal(LENGTH(names), FRAG_PARAMS_MAX + 1);
	ops.params = params;
	for (uint32_t i = 0; i < LENGTH(names); i++) {
		params[i] = (struct frag_param_spec){ .name = names[i], .help = "one of many" };
		if (i < FRAG_PARAMS_MAX)
			assert_int_equal(frag_policy_check(&ops, NULL), 0);
	}
	expect_refused(&ops, "more than 24 parameters");
}

/* A table that could not work never meets an event. */
static void test_refused_by_a_simulation(void **state)
{
	static const struct frag_device_figures device = { .granularity = 1 };
	struct frag_policy_ops ops = good();
	struct frag_choice choice;
	struct play p;

	(void)state;
	faulty_begin(0, 0);
	ops.free = NULL;
	choice = play_policy(&ops);
	assert_int_equal(play_open(&p, &choice, NULL, 0, &device, 1, NULL), -FRAG_EPOLICY);
	assert_non_null(strstr(p.error.message, "skeleton"));
	play_close(&p);
}

/* bestfit: align, segment, pool, min_split, release. */
static void test_parse(void **state)
{
	static const struct {
		const char *text;
		uint64_t want[5];
	} cases[] = {
		{ "bestfit", { 512, 2097152, 0, 512, 1 } },
		{ "bestfit:align=4K", { 4096, 2097152, 0, 4096, 1 } },
		{ "bestfit:min_split=1,align=4KiB", { 4096, 2097152, 0, 1, 1 } },
		{ "bestfit:segment=1.5MiB", { 512, 1572864, 0, 512, 1 } },
		{ "bestfit:segment=1,pool=9007199254740991", { 512, 1, 9007199254740991, 512, 1 } },
		{ "bestfit:release=false", { 512, 2097152, 0, 512, 0 } },
		{ "bestfit:release=0,pool=1T", { 512, 2097152, UINT64_C(1) << 40, 512, 0 } },
		{ "bestfit:release=True", { 512, 2097152, 0, 512, 1 } },
		{ "bestfit:align=1", { 1, 2097152, 0, 1, 1 } },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		struct frag_choice c = play_choose(cases[i].text);

		assert_string_equal(c.ops->name, "bestfit");
		assert_string_equal(c.text, cases[i].text);
		for (uint32_t k = 0; k < 5; k++)
			assert_true(c.param[k] == cases[i].want[k]);
	}
}

/* What is wrong, and the words that must tell it. */
static void test_parse_errors(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "no policy \"\"; valid values: bestfit, bfc, buddy, compact, " },
		{ "bestfi", "no policy \"bestfi\"; did you mean bestfit? valid values: " },
		{ "bestfitt", "no policy \"bestfitt\"" },
		{ "BestFit", "no policy \"BestFit\"" },
		{ "bestfit,align=1", "no policy \"bestfit,align=1\"" },
		{ ":align=1", "no policy \"\"" },
		{ "bestfit:",
		  "has no key \"\"; its keys are: align, segment, pool, min_split, release" },
		{ "bestfit:align=1K,", "has no key \"\"" },
		{ "bestfit:,align=1K", "has no key \"\"" },
		{ "bestfit:aligns=1", "policy bestfit has no key \"aligns\"" },
		{ "bestfit:Align=1", "has no key \"Align\"" },
		{ "bestfit: align=1", "has no key \" align\"" },
		{ "bestfit:=1", "has no key \"\"" },
		{ "direct:align=1", "policy direct has no key \"align\"; its keys are: none" },
		{ "bestfit:align", "policy bestfit: align requires a value: align=..." },
		{ "bestfit:align=1,align=1", "policy bestfit: align is specified more than once" },
		{ "bestfit:align=",
		  "policy bestfit: align= is not a power of two, from 1 and below 2^53" },
		{ "bestfit:align=0", "align=0 is not a power of two" },
		{ "bestfit:align=3", "align=3 is not a power of two" },
		{ "bestfit:align=-1", "align=-1 is not" },
		{ "bestfit:align=0x200", "align=0x200 is not" },
		{ "bestfit:align=512=512", "align=512=512 is not" },
		{ "bestfit:align=512 ", "align=512  is not" },
		{ "bestfit:segment=0", "segment=0 is not a size such as 2MiB, from 1 and below 2^53" },
		{ "bestfit:segment=9007199254740992", "is not a size" },
		{ "bestfit:segment=8192T", "is not a size" },
		{ "bestfit:segment=99999999999999999999999", "is not a size" },
		{ "bestfit:segment=0.3", "segment=0.3 is not a size" },
		{ "bestfit:segment=1Q", "segment=1Q is not a size" },
		{ "bestfit:segment=1kib", "segment=1kib is not a size" },
		{ "bestfit:release=yes", "release=yes is neither true nor false" },
		{ "bestfit:release=", "release= is neither true nor false" },
		{ "bestfit:release=TRUE", "release=TRUE is neither true nor false" },
		{ "buddy:pool=3", "policy buddy: pool=3 is not 0 or a power of two, from 0 and below 2^53" },
		{ "buddy:min=4M", "min=4194304 is larger than segment=2097152" },
		{ "sizeclass:steps=3",
		  "policy sizeclass: steps=3 is not a power of two, from 1 to 1048576" },
		{ "sizeclass:steps=1K", "steps=1K is not" },
		{ "sizeclass:steps=2097152", "steps=2097152 is not" },
		{ "sizeclass:slab=512K", "max_small=1048576 is larger than slab=524288" },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		struct frag_error err = { .code = 0 };
		struct frag_choice c;

		if (frag_choice_parse(&c, cases[i].text, &err) != -FRAG_EUSAGE
		    || err.code != -FRAG_EUSAGE || !strstr(err.message, cases[i].says))
			fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].text, err.message,
				 cases[i].says);
	}
}

/* Long texts are refused whole, and a message never runs over. */
static void test_parse_long(void **state)
{
	struct frag_error err = { .code = 0 };
	struct frag_choice c;
	char *text = malloc(5001);

	(void)state;
	assert_non_null(text);
	memset(text, 'x', 5000);
	text[5000] = '\0';
	assert_int_equal(frag_choice_parse(&c, text, &err), -FRAG_EUSAGE);
	memcpy(text, "bestfit:align=", 14);
	assert_int_equal(frag_choice_parse(&c, text, &err), -FRAG_EUSAGE);
	assert_string_equal(err.message, "policy bestfit: more than 511 characters");
	text[511] = '\0';
	assert_int_equal(frag_choice_parse(&c, text, &err), -FRAG_EUSAGE);
	assert_non_null(strstr(err.message, "x is not a power of two"));
	free(text);
}

/* The template works: first fit, kept or given back at once. */
static void test_skeleton(void **state)
{
	static const struct frag_device_figures device = { .total = 10000, .granularity = 1 };
	static const struct frag_record records[] = {
		ALLOC(1, 1000), ALLOC(2, 1), FREE(1), ALLOC(3, 700), ALLOC(4, 8000),
		FREE_PENDING(3), COMPLETE(3), CONFIGURE("a:b"), EMPTY_CACHE(), FREE(2), FREE(4),
	};
	static const uint64_t too_large[] = { UINT64_C(1) << 40, 0 };
	static const uint64_t good_size[] = { UINT64_C(1) << 40, 1 };
	struct frag_choice choice = play_policy(&policy_skeleton);
	struct play p;

	(void)state;
	for (uint32_t keep = 0; keep < 2; keep++) {
		faulty_begin(0, 0);
		choice.param[1] = keep;
		assert_int_equal(play_open(&p, &choice, records, LENGTH(records), &device, 1, NULL),
				 0);
		assert_int_equal(play_run(&p), 0);
		assert_int_equal(p.row_count, LENGTH(records));
		/* step 3 has the freed block of step 0 again, or a segment of its own */
		assert_int_equal(p.rows[3].segment, keep ? 0 : 2);
		assert_int_equal(p.rows[3].bytes, 1024);
		assert_int_equal(p.rows[2].metrics.reserved, keep ? 1536 : 512);
		assert_int_equal(p.rows[4].bytes, 8192);
		assert_int_equal(p.rows[6].metrics.reserved, keep ? 9728 : 8704);
		assert_int_equal(p.rows[8].metrics.reserved, 8704);
		assert_int_equal(p.rows[10].metrics.reserved, keep ? 8704 : 0);
		play_close(&p);
	}
	assert_int_equal(policy_skeleton.check(too_large, NULL), -FRAG_EUSAGE);
	assert_int_equal(policy_skeleton.check(good_size, NULL), 0);
}

/*
 * A request is looked for where its block is; what serves it is its own rounding. The question
 * makes no list.
 */
static void test_seek(void **state)
{
	static const struct frag_device_figures device = { .granularity = 3000 };
	static const struct { const char *policy; uint64_t bytes, need; } cases[] = {
		{ "bestfit", 1000, 1024 }, { "firstfit:align=256", 1025, 1280 },
		{ "nextfit:align=1", 7, 7 }, { "worstfit", 512, 512 },
		{ "buddy", 1025, 2048 }, { "buddy:min=4096", 1, 4096 },
		{ "sizeclass", 1025, 1536 }, { "sizeclass", (1 << 20) + 1, 2 << 20 },
		{ "tlsf", 1000, 1024 }, { "tlsf", 16385, 16896 }, { "tlsf", 40000, 40960 },
		{ "tlsf:sl_log2=1", (1 << 20) + 1, 3 << 19 },
		{ "direct", 3001, 6000 }, { "bfc", 257, 512 }, { "plan", 1025, 1536 },
		{ "pytorch", 1000, 1024 }, { "pytorch", (1 << 20) + 1, (1 << 20) + 512 },
		{ "pytorch:roundup_power2_divisions=4", 9000, 10240 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		const struct frag_record records[] = { ALLOC(1, cases[i].bytes) };
		const struct frag_event request = { .op = FRAG_OP_ALLOC, .bytes = cases[i].bytes };
		struct frag_choice choice = play_choose(cases[i].policy);
		const struct frag_heap *heap;
		struct frag_block_view block;
		struct frag_sought sought;
		struct play p;
		uint32_t lists;

		faulty_begin(0, 0);
		assert_int_equal(play_open(&p, &choice, records, 1, &device, 1, NULL), 0);
		heap = frag_sim_heap(p.sim, 0);
		assert_int_equal(frag_sim_begin(p.sim, NULL), 0);
		lists = heap->index.count;
		sought = frag_sim_seek(p.sim, &request);
		assert_int_equal(sought.bytes, cases[i].need);
		assert_int_equal(sought.list, FRAG_NO_LIST);
		assert_int_equal(heap->index.count, lists);
		assert_int_equal(play_run(&p), 0);
		block = frag_heap_look(heap, frag_sim_block(p.sim, 0));
		sought = frag_sim_seek(p.sim, &request);
		assert_int_equal(sought.bytes, cases[i].need);
		assert_int_equal(sought.list, frag_heap_look_segment(heap, block.segment).list);
		play_close(&p);
	}
}

static void test_settings(void **state)
{
	struct frag_choice choice = play_policy(&policy_skeleton), none = play_choose("direct");
	struct frag_error err = { .code = 0 };

	(void)state;
	assert_int_equal(frag_choice_settings(&choice, "drop", &err), 0);
	assert_int_equal(choice.param[1], 0);
	assert_int_equal(frag_choice_settings(&choice, "drops", &err), -FRAG_EUSAGE);
	assert_int_equal(frag_choice_settings(&none, "drop", &err), -FRAG_EUSAGE);
	assert_string_equal(err.message, "policy direct reads no settings string");
}

/* The choice reads the file, the policy's hook makes what the policy sees of it. */
static void test_file(void **state)
{
	const char *path = files_path(state, "sizes");
	struct frag_error err = { .code = 0 };
	struct frag_policy_ops raw = policy_twoended;
	struct frag_param_spec params[2] = {
		{ .name = "list", .type = FRAG_PARAM_FILE, .help = "as it is" }, { 0 },
	};
	const struct frag_file *file;
	struct frag_choice c;
	char text[400];

	files_write(path, "5\n4096\n", 7);
	snprintf(text, sizeof(text), "twoended:list=%s,align=8", path);
	assert_int_equal(frag_choice_of(&c, &policy_twoended, text, &err), 0);
	file = frag_param_file(c.param[3]);
	assert_string_equal(file->path, path);
	assert_int_equal(file->length, 16);
	assert_int_equal(((const uint64_t *)file->bytes)[0], 5);
	assert_int_equal(((const uint64_t *)file->bytes)[1], 4096);
	frag_choice_fini(&c);
	assert_null(frag_param_file(c.param[3]));
	raw.params = params;
	*strchr(text, ',') = '\0';
	assert_int_equal(frag_choice_of(&c, &raw, text, &err), 0);
	/* as it was when the choice was made, whatever becomes of it */
	assert_int_equal(remove(path), 0);
	file = frag_param_file(c.param[0]);
	assert_int_equal(file->length, 7);
	assert_memory_equal(file->bytes, "5\n4096\n", 7);
	frag_choice_fini(&c);
	assert_int_equal(frag_choice_of(&c, &raw, "twoended", &err), 0);
	assert_null(frag_param_file(c.param[0]));
	frag_choice_fini(&c);
}

/* A name is the choice's own, whatever becomes of the text that it was in. */
static void test_name(void **state)
{
	struct frag_error err = { .code = 0 };
	char text[] = "plan:period=step *";
	struct frag_choice c;
	char shown[FRAG_PARAM_TEXT];

	(void)state;
	assert_int_equal(frag_choice_parse(&c, text, &err), 0);
	memset(text, 'x', sizeof(text) - 1);
	memset(c.text, 'x', sizeof(c.text) - 1);
	assert_string_equal(frag_param_name(c.param[1]), "step *");
	assert_string_equal(frag_param_text(&c.ops->params[1], c.param[1], shown), "step *");
	assert_false(frag_param_is_default(&c, 1));
	frag_choice_fini(&c);
	assert_null(frag_param_name(c.param[1]));
	assert_int_equal(frag_choice_parse(&c, "plan:period=", &err), 0);
	assert_null(frag_param_name(c.param[1]));
	assert_true(frag_param_is_default(&c, 1));
	frag_choice_fini(&c);
	assert_int_equal(frag_choice_parse(&c, "plan:period=a,period=b", &err), -FRAG_EUSAGE);
}

/* What cannot be used is refused, and what was read before it is given back. */
static void test_file_refused(void **state)
{
	const char *path = files_path(state, "bad"), *good_path = files_path(state, "good");
	struct frag_error err = { .code = 0 };
	char text[400], says[400];
	struct frag_choice c;

	files_write(path, "5\n", 2);
	files_write(good_path, "5\n", 2);
	snprintf(text, sizeof(text), "twoended:list=%s,align=3", good_path);
	assert_int_equal(frag_choice_of(&c, &policy_twoended, text, &err), -FRAG_EUSAGE);
	assert_non_null(strstr(err.message, "align=3 is not a power of two"));
	frag_choice_fini(&c);
	files_write(path, "5\nx\n", 4);
	snprintf(text, sizeof(text), "twoended:list=%s", path);
	snprintf(says, sizeof(says), "policy twoended: list=%s: line 2 is no size in bytes", path);
	assert_int_equal(frag_choice_of(&c, &policy_twoended, text, &err), -FRAG_ETRACE);
	assert_string_equal(err.message, says);
	assert_int_equal(frag_choice_of(&c, &policy_twoended, "twoended:list=/no/such", &err),
			 -FRAG_EUSAGE);
	assert_string_equal(err.message, "policy twoended: list=/no/such: No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_pass_the_check),
		cmocka_unit_test(test_bad_slots),
		cmocka_unit_test(test_bad_names),
		cmocka_unit_test(test_bad_params),
		cmocka_unit_test(test_too_many_params),
		cmocka_unit_test(test_refused_by_a_simulation),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_parse_errors),
		cmocka_unit_test(test_parse_long),
		cmocka_unit_test(test_seek),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_rounding),
		cmocka_unit_test(test_skeleton),
		cmocka_unit_test(test_name),
		cmocka_unit_test_setup_teardown(test_file, files_begin, files_end),
		cmocka_unit_test_setup_teardown(test_file_refused, files_begin, files_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
