/* test_sim_oom.c - what is known and said of a request that found no memory. */
#include <stdio.h>
#include <string.h>

#include "documents/documents.h"
#include "fragsim/engine.h"
#include "answers/report.h"
#include "support/faulty_device.h"
#include "support/play.h"
#include "support/records.h"
#include "support/unit.h"

#define KIB UINT64_C(1024)

/* The card of the classic message: 6 GiB, 446 MiB context, 931.56 MiB of others. */
static const struct frag_device_figures classic = {
	.total = UINT64_C(6442450944), .context = 467664896, .other = 976811459,
	.granularity = 2097152,
};

static const struct frag_device_figures small = { .total = 10 * KIB, .granularity = 1 };

static const struct frag_oom *play(struct play *p, const char *policy,
				   const struct frag_record *records, uint32_t count,
				   const struct frag_device_figures *device)
{
	const struct frag_sim_options options = {
		.check = true, .device = &faulty_device, .on_oom = &frag_oom_explain,
	};
	struct frag_choice choice = play_choose(policy);
	const struct frag_result *result;
	uint32_t devices;

	assert_int_equal(play_open(p, &choice, records, count, device, 1, &options), 0);
	if (play_run(p))
		fail_msg("%s", p->error.message);
	result = frag_sim_results(p->sim, false, &devices);
	assert_int_equal(result->status, FRAG_RUN_OOM);
	assert_int_equal(result->counts.ooms, 1);
	assert_int_equal(result->oom_count, 1);
	return result->ooms;
}

static void expect_message(const struct play *p, const char *want)
{
	char message[FRAG_OOM_MESSAGE_ROOM];
	uint32_t devices;
	const struct frag_result *result = frag_sim_results(p->sim, false, &devices);

	assert_string_equal(frag_oom_message(result, result->ooms, false, message), want);
}

/* fragsim-result(5), Result: up to 1024 bytes, up to 2^20 KiB, up to 2^30 MiB, else GiB. */
static void test_pytorch_sizes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *want;
	} cases[] = {
		{ 0, "0 bytes" }, { 1, "1 bytes" }, { 1024, "1024 bytes" }, { 1025, "1.00 KiB" },
		{ 1536, "1.50 KiB" }, { 1 << 20, "1024.00 KiB" }, { (1 << 20) + 1, "1.00 MiB" },
		{ UINT64_C(916) << 20, "916.00 MiB" }, { 1 << 30, "1024.00 MiB" },
		{ (1 << 30) + 1, "1.00 GiB" }, { UINT64_C(6) << 30, "6.00 GiB" },
		{ (UINT64_C(1) << 53) - 1, "8388608.00 GiB" },
	};
	const struct frag_result result = { .choice = play_choose("pytorch") };
	char message[FRAG_OOM_MESSAGE_ROOM], want[512];

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		const struct frag_oom oom = { .tried = cases[i].bytes };

		snprintf(want, sizeof(want), "CUDA out of memory. Tried to allocate %s (GPU 0;"
			 " 0 bytes already allocated; 0 bytes reserved in total by PyTorch)",
			 cases[i].want);
		assert_string_equal(frag_oom_message(&result, &oom, false, message), want);
	}
}

static void test_classic_message(void **state)
{
	static const struct frag_record six[] = {
		ALLOC(1, 960000000), ALLOC(2, 960000000), ALLOC(3, 960000000),
		ALLOC(4, 960000000), ALLOC(5, 960000000), ALLOC(6, 960000000),
	};
	static const struct {
		const char *policy, *name;
	} cases[] = {
		{ "direct", "direct" },
		{ "bestfit", "bestfit" },
		{ "pytorch", "PyTorch" },
	};
	char want[512];

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		const struct frag_oom *oom;
		struct play p;

		faulty_begin(0, 0);
		oom = play(&p, cases[i].policy, six, LENGTH(six), &classic);
		snprintf(want, sizeof(want), "CUDA out of memory. Tried to allocate 916.00 MiB "
			 "(GPU 0; 6.00 GiB total capacity; 4.47 GiB already allocated; "
			 "186.44 MiB free; 4.47 GiB reserved in total by %s)", cases[i].name);
		expect_message(&p, want);
		assert_int_equal(oom->step, 5);
		assert_string_equal(oom->id, "6");
		assert_int_equal(oom->size, 960000000);
		assert_int_equal(oom->tried, 960495616);
		assert_false(oom->fragmentation);
		play_close(&p);
	}
}

/* Two segments of 4 KiB with a hole of 2 KiB each, and 2 KiB of the device. */
#define TWO_HOLES                                                             \
	ALLOC_TAGGED(1, 2 * KIB, "a"), ALLOC_TAGGED(2, 2 * KIB, "b"),         \
	ALLOC_TAGGED(3, 2 * KIB, "c"), ALLOC(4, 2 * KIB), FREE(1), FREE(3)

static void expect_advice(const struct frag_oom *oom, const char *const *parts)
{
	char advice[FRAG_OOM_ADVICE_ROOM];

	frag_oom_advice(oom, advice);
	for (; *parts; parts++)
		if (!strstr(advice, *parts))
			fail_msg("\"%s\" does not say \"%s\"", advice, *parts);
}

static void test_fragmentation(void **state)
{
	/* a new segment of 4 KiB was tried: 6 KiB are free, nowhere more than 2 */
	static const struct frag_record records[] = { TWO_HOLES, ALLOC(5, 3 * KIB) };
	static const char *const parts[] = {
		"Enough bytes were free, but not in one piece",
		"4.00 KiB reserved but unallocated", "4.00 KiB of that non-releasable",
		"largest free block 2.00 KiB", "fi 50.00 %", "fi_device 66.67 %",
		"2.00 KiB missing", NULL,
	};
	const struct frag_oom *oom;
	struct play p;

	(void)state;
	faulty_begin(0, 0);
	oom = play(&p, "bestfit:segment=4K", records, LENGTH(records), &small);
	assert_true(oom->fragmentation);
	expect_message(&p, "CUDA out of memory. Tried to allocate 4.00 KiB (GPU 0; "
		       "10.00 KiB total capacity; 4.00 KiB already allocated; 2.00 KiB free; "
		       "8.00 KiB reserved in total by bestfit)");
	expect_advice(oom, parts);
	play_close(&p);
}

/* The cause turns where free and device_free come to just the size tried: 6 KiB. */
static void test_cause(void **state)
{
	static const struct frag_record just[] = { TWO_HOLES, ALLOC(5, 6 * KIB) };
	static const struct frag_record more[] = { TWO_HOLES, ALLOC(5, 6 * KIB + 1) };
	static const char *const parts[] = { "Too little memory was free", NULL };
	const struct frag_oom *oom;
	struct play p;

	(void)state;
	faulty_begin(0, 0);
	oom = play(&p, "bestfit:segment=1,align=1,release=false", just, LENGTH(just), &small);
	assert_int_equal(oom->tried, 6 * KIB);
	assert_true(oom->fragmentation);
	play_close(&p);
	faulty_begin(0, 0);
	oom = play(&p, "bestfit:segment=1,align=1,release=false", more, LENGTH(more), &small);
	assert_int_equal(oom->tried, 6 * KIB + 1);
	assert_false(oom->fragmentation);
	expect_advice(oom, parts);
	play_close(&p);
}

/* What an unlimited device does not have is left out. */
static void test_unlimited(void **state)
{
	static const struct frag_device_figures unlimited = { .granularity = 1 };
	static const struct frag_record records[] = { ALLOC(1, 1000), ALLOC(2, 500) };
	const struct frag_oom *oom;
	struct play p;

	(void)state;
	faulty_begin(3, -FRAG_EDEVMEM); /* open, the first segment, the second */
	oom = play(&p, "direct", records, LENGTH(records), &unlimited);
	expect_message(&p, "CUDA out of memory. Tried to allocate 500 bytes (GPU 0; "
		       "1000 bytes already allocated; 1000 bytes reserved in total by direct)");
	assert_false(oom->fragmentation);
	play_close(&p);
}

/* By bytes, then by age; live and pending ones; five at most; no tag is a group too. */
static void test_holders(void **state)
{
	static const struct frag_record records[] = {
		ALLOC_TAGGED(1, 100, "late"), ALLOC_TAGGED(2, 300, "two"), ALLOC(3, 1000),
		ALLOC_TAGGED(4, 300, "two"), ALLOC_TAGGED(5, 50, "least"), FREE(1),
		ALLOC_TAGGED(6, 400, "four \"hundred\""), ALLOC_TAGGED(7, 400, "also"),
		FREE_PENDING(7), ALLOC_TAGGED(8, 200, "late"), ALLOC(9, 0), ALLOC(10, 9000),
	};
	static const struct {
		const char *tag;
		uint64_t bytes, blocks, oldest;
	} want[] = {
		{ NULL, 1000, 1, 2 },
		{ "\"two\"", 600, 2, 1 },
		{ "\"four \\\"hundred\\\"\"", 400, 1, 6 },
		{ "\"also\"", 400, 1, 7 },
		{ "\"late\"", 200, 1, 9 },
	};
	const struct frag_oom *oom;
	struct play p;

	(void)state;
	faulty_begin(0, 0);
	oom = play(&p, "direct", records, LENGTH(records), &small);
	assert_int_equal(oom->holder_count, LENGTH(want));
	for (uint32_t i = 0; i < LENGTH(want); i++) {
		assert_int_equal(oom->holders[i].bytes, want[i].bytes);
		assert_int_equal(oom->holders[i].blocks, want[i].blocks);
		assert_int_equal(oom->holders[i].oldest, want[i].oldest);
		if (want[i].tag)
			assert_string_equal(oom->holders[i].tag, want[i].tag);
		else
			assert_null(oom->holders[i].tag);
	}
	play_close(&p);
}

/* What was the least to be freed: 4 KiB were tried for 3, and 2 KiB are the device's. */
static void test_hole(void **state)
{
	static const struct frag_record two[] = { TWO_HOLES, ALLOC(5, 3 * KIB) };
	static const struct frag_record large[] = { TWO_HOLES, ALLOC(5, 6 * KIB) };
	/* 4 KiB of the device, 512 bytes in one segment and 1 KiB in the other; 8 are tried */
	static const struct frag_record far[] = {
		ALLOC_TAGGED(1, KIB, "more"), ALLOC(2, 3 * KIB), ALLOC_TAGGED(3, 512, "pin"),
		ALLOC(4, 3584), FREE(2), FREE(4), ALLOC(5, 5 * KIB),
	};
	static const struct frag_device_figures twelve = { .total = 12 * KIB, .granularity = 1 };
	const struct frag_hole *hole;
	struct play p;

	(void)state;
	faulty_begin(0, 0);
	hole = &play(&p, "bestfit:segment=4K", two, LENGTH(two), &small)->hole;
	assert_false(hole->whole);
	assert_int_equal(hole->segment, 0);
	assert_int_equal(hole->offset, 0);
	assert_int_equal(hole->bytes, 4 * KIB);
	assert_int_equal(hole->live, 2 * KIB);
	assert_int_equal(hole->holder_count, 1);
	assert_string_equal(hole->holders[0].tag, "\"b\"");
	assert_int_equal(hole->holders[0].bytes, 2 * KIB);
	assert_int_equal(hole->holders[0].blocks, 1);
	assert_int_equal(hole->holders[0].oldest, 1);
	play_close(&p);

	faulty_begin(0, 0);
	hole = &play(&p, "bestfit:segment=4K", large, LENGTH(large), &small)->hole;
	assert_int_equal(hole->bytes, 0);
	play_close(&p);

	faulty_begin(0, 0);
	hole = &play(&p, "bestfit:segment=4K", far, LENGTH(far), &twelve)->hole;
	assert_true(hole->whole);
	assert_int_equal(hole->segment, 1);
	assert_int_equal(hole->bytes, 4 * KIB);
	assert_int_equal(hole->live, 512);
	assert_string_equal(hole->holders[0].tag, "\"pin\"");
	play_close(&p);
}

/* Stack 10 n + m is the frames n and m, of which a file and a line belong to the odd ones. */
static void stacked_frame(void *state, uint64_t *at, struct frag_frame *frame)
{
	static const char *const names[] = { "", "f", "g \"h\"", "main", "native" };
	static const char *const files[] = { "", "/home/me/a.py", "/lib/libg.so", "b.py", "??" };
	const uint64_t n = *at >= 10 ? *at / 10 : *at;

	(void)state;
	*frame = (struct frag_frame){
		.name = records_text(names[n]), .file = records_text(files[n]),
		.line = n % 2 ? n * 11 : 0,
	};
	*at = *at >= 10 ? *at % 10 : 0;
}

#define STACKED(name, bytes, what, on)                                        \
	{ RECORD_OF(FRAG_OP_ALLOC, FRAG_HAS_ID | FRAG_HAS_SIZE | FRAG_HAS_TAG \
		    | FRAG_HAS_STACK),                                        \
	  .id = { .number = name }, .size = bytes, .stack = on,               \
	  .tag = { what, sizeof(what) - 1 } }

static void run_stacked(enum frag_stacks stacks, struct frag_sim **sim, struct frag_trace **trace)
{
	static const struct frag_record all[] = {
		STACKED(1, 100, "t", 13), STACKED(2, 300, "t", 23), STACKED(3, 150, "t", 13),
		STACKED(4, 20, "t", 4), STACKED(5, 10, "t", 3), STACKED(6, 9000, "u", 13),
		ALLOC_TAGGED(7, 40, "t"), STACKED(8, 9000, "u", 13),
	};
	static struct records records;
	const struct frag_trace_options options = { .stacks = stacks };
	const struct frag_sim_options sim_options = { .on_oom = &frag_oom_explain };
	const struct frag_choice choice = play_choose("direct");
	struct frag_source_ops ops = records_source;
	static struct frag_source_ops kept;
	struct frag_batch batch;
	struct frag_error err;

	ops.frame = stacked_frame;
	kept = ops;
	records = (struct records){ .records = all, .count = LENGTH(all) };
	assert_int_equal(frag_trace_from(trace, &kept, &records, &small, 1, &options, &err), 0);
	assert_int_equal(frag_sim_new(sim, &choice, *trace, &sim_options, &err), 0);
	do {
		assert_int_equal(frag_trace_next(*trace, &batch, &err), 0);
		assert_int_equal(frag_sim_feed(*sim, &batch, &err), 0);
	} while (batch.count);
}

/* Of one tag the three stacks that hold the most, each with its frames; no stack is none. */
static void test_stacks(void **state)
{
	static const struct {
		const char *frames;
		uint64_t bytes, blocks, oldest;
	} want[] = {
		{ "g \\\"h\\\" (libg.so)\nb.py:33 main\n", 300, 1, 1 },
		{ "/home/me/a.py:11 f\nb.py:33 main\n", 250, 2, 0 },
		{ "native\n", 20, 1, 3 },
	};
	const struct frag_tag_usage *holder;
	struct frag_trace *trace;
	struct frag_sim *sim;
	uint32_t devices;

	(void)state;
	run_stacked(FRAG_STACKS_ALL, &sim, &trace);
	holder = &frag_sim_results(sim, false, &devices)->ooms[0].holders[1];
	assert_string_equal(holder->tag, "\"t\"");
	assert_int_equal(holder->bytes, 620);
	assert_int_equal(holder->all_stacks, 4);
	assert_int_equal(holder->stack_count, LENGTH(want));
	for (uint32_t i = 0; i < LENGTH(want); i++) {
		assert_string_equal(holder->stacks[i].frames, want[i].frames);
		assert_int_equal(holder->stacks[i].bytes, want[i].bytes);
		assert_int_equal(holder->stacks[i].blocks, want[i].blocks);
		assert_int_equal(holder->stacks[i].oldest, want[i].oldest);
	}
	frag_sim_del(sim);
	frag_trace_close(trace);

	run_stacked(FRAG_STACKS_TOP, &sim, &trace);
	holder = &frag_sim_results(sim, false, &devices)->ooms[0].holders[1];
	assert_int_equal(holder->bytes, 620);
	assert_int_equal(holder->stack_count, 0);
	frag_sim_del(sim);
	frag_trace_close(trace);
}

struct seen {
	uint32_t calls, live;
	uint64_t step, pending_bytes;
};

static void see_live(void *ctx, const struct frag_live *live)
{
	struct seen *seen = ctx;

	seen->live++;
	seen->pending_bytes += live->pending ? live->block.bytes : 0;
}

static int see_oom(void *ctx, const struct frag_sim *sim, uint32_t device,
		   const struct frag_event *event, struct frag_oom *oom, struct frag_error *err)
{
	struct seen *seen = ctx;

	(void)err;
	seen->calls++;
	seen->step = event->step;
	assert_int_equal(oom->step, event->step);
	frag_sim_walk(sim, device, seen, see_live);
	return 0;
}

/* A hook of one's own is asked after the failed request; where only intervals counts, none is. */
static void test_hook(void **state)
{
	static const struct frag_record records[] = {
		ALLOC(1, 100), ALLOC(2, 200), ALLOC(3, 300), FREE(1), FREE_PENDING(2),
		ALLOC(4, 20 * KIB),
	};
	static const enum frag_level levels[] = {
		FRAG_LEVEL_ALL, FRAG_LEVEL_PEAKS, FRAG_LEVEL_SURVIVE,
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(levels); i++) {
		struct seen seen = { .calls = 0 };
		const struct frag_oom_hook hook = { .explain = see_oom, .ctx = &seen };
		const struct frag_sim_options options = { .level = levels[i], .on_oom = &hook };
		const struct frag_choice choice = play_choose("direct");
		const bool called = levels[i] != FRAG_LEVEL_SURVIVE;
		struct records source = { .records = records, .count = LENGTH(records) };
		struct frag_trace *trace;
		struct frag_error err;
		struct frag_batch batch;
		struct frag_sim *sim;
		uint32_t devices;

		assert_int_equal(frag_trace_from(&trace, &records_source, &source, &small, 1, NULL,
						 &err), 0);
		assert_int_equal(frag_sim_new(&sim, &choice, trace, &options, &err), 0);
		do {
			assert_int_equal(frag_trace_next(trace, &batch, &err), 0);
			assert_int_equal(frag_sim_feed(sim, &batch, &err), 0);
		} while (batch.count);
		assert_int_equal(frag_sim_results(sim, false, &devices)->oom_count, 1);
		assert_int_equal(seen.calls, called);
		assert_int_equal(seen.live, called ? 2 : 0);
		assert_int_equal(seen.pending_bytes, called ? 200 : 0);
		assert_int_equal(seen.step, called ? 5 : 0);
		frag_sim_del(sim);
		frag_trace_close(trace);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pytorch_sizes),
		cmocka_unit_test(test_classic_message),
		cmocka_unit_test(test_fragmentation),
		cmocka_unit_test(test_cause),
		cmocka_unit_test(test_unlimited),
		cmocka_unit_test(test_holders),
		cmocka_unit_test(test_hole),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_hook),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
