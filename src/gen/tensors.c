/* tensors.c - tensors without a model: a few, many of one size, and of random sizes. */
#include "gen/gen.h"

#include <stdlib.h>

/* A few, as a person types them at a prompt. */

#define TENSOR 960000000        /* 240,000,000 floats */

/* 6 GiB; the context uses 446 MiB and other processes use 931.56 MiB. */
static const struct frag_device_figures six_gib = {
	.total = UINT64_C(6) << 30, .context = UINT64_C(446) << 20, .other = 976811459,
	.granularity = 2 << 20,
};

static const struct frag_gen_option no_options[] = { { 0 } };

static void emit(struct frag_gen *g, enum frag_op op)
{
	frag_gen_write(g, &(struct frag_record){ .members = FRAG_HAS_OP, .op = op });
}

enum { SIX_COUNT, SIX_SIZE };

static const struct frag_gen_option six_options[] = {
	{ "count", FRAG_GEN_COUNT, 6, 1, FRAG_GEN_MAX, "how many tensors", NULL },
	{ "size", FRAG_GEN_SIZE, TENSOR, 0, FRAG_GEN_MAX, "bytes of each", NULL },
	{ 0 },
};

static void six_emit(struct frag_gen *g)
{
	for (uint64_t i = 0; i < g->option[SIX_COUNT] && frag_gen_going(g); i++)
		frag_gen_alloc(g, g->option[SIX_SIZE], "tensor");
}

enum { REBIND_COUNT, REBIND_SIZE, REBIND_DELETE };

static const struct frag_gen_option rebind_options[] = {
	{ "count", FRAG_GEN_COUNT, 6, 1, FRAG_GEN_MAX, "how often the name is bound", NULL },
	{ "size", FRAG_GEN_SIZE, TENSOR, 0, FRAG_GEN_MAX, "bytes of each tensor", NULL },
	{ "delete-first", FRAG_GEN_FLAG, 0, 0, 1, "delete the old tensor, then make the new",
	  NULL },
	{ 0 },
};

static void rebind_emit(struct frag_gen *g)
{
	uint64_t old = frag_gen_alloc(g, g->option[REBIND_SIZE], "x");

	for (uint64_t i = 1; i < g->option[REBIND_COUNT] && frag_gen_going(g); i++) {
		uint64_t fresh;

		if (g->option[REBIND_DELETE])
			frag_gen_free(g, old);
		fresh = frag_gen_alloc(g, g->option[REBIND_SIZE], "x");
		if (!g->option[REBIND_DELETE])
			frag_gen_free(g, old);
		old = fresh;
	}
	frag_gen_free(g, old);
	emit(g, FRAG_OP_EMPTY_CACHE);
}

static void tiny_emit(struct frag_gen *g)
{
	frag_gen_alloc(g, 24, "tensor");
}

static void one_tensor_emit(struct frag_gen *g)
{
	frag_gen_alloc(g, TENSOR, "tensor");
}

static void small_after_large_emit(struct frag_gen *g)
{
	frag_gen_free(g, frag_gen_alloc(g, TENSOR, "large"));
	frag_gen_alloc(g, 240000, "small");
}

static void grow_emit(struct frag_gen *g)
{
	frag_gen_free(g, frag_gen_alloc(g, TENSOR, "large"));
	frag_gen_alloc(g, 2160000000, "larger");
}

enum { LEAK_STEPS, LEAK_SIZE };

static const struct frag_gen_option leak_options[] = {
	{ "steps", FRAG_GEN_COUNT, 100, 1, FRAG_GEN_MAX, "how many tensors are appended", NULL },
	{ "size", FRAG_GEN_SIZE, 96000000, 0, FRAG_GEN_MAX, "bytes of each", NULL },
	{ 0 },
};

static void leak_emit(struct frag_gen *g)
{
	for (uint64_t i = 0; i < g->option[LEAK_STEPS] && frag_gen_going(g); i++)
		frag_gen_alloc(g, g->option[LEAK_SIZE], "list item");
}

enum { ALTERNATING_ROUNDS, ALTERNATING_LARGE, ALTERNATING_SMALL };

static const struct frag_gen_option alternating_options[] = {
	{ "rounds", FRAG_GEN_COUNT, 10, 1, FRAG_GEN_MAX, "how often", NULL },
	{ "large", FRAG_GEN_SIZE, 100000000, 0, FRAG_GEN_MAX, "bytes of the large tensor", NULL },
	{ "small", FRAG_GEN_SIZE, 4000000, 0, FRAG_GEN_MAX, "bytes of the small tensor", NULL },
	{ 0 },
};

static void alternating_emit(struct frag_gen *g)
{
	for (uint64_t i = 0; i < g->option[ALTERNATING_ROUNDS] && frag_gen_going(g); i++) {
		uint64_t large = frag_gen_alloc(g, g->option[ALTERNATING_LARGE], "large");
		uint64_t small = frag_gen_alloc(g, g->option[ALTERNATING_SMALL], "small");

		frag_gen_free(g, large);
		frag_gen_free(g, small);
	}
}

const struct frag_scenario frag_scenario_six_tensors = {
	.name = "six-tensors",
	.summary = "six live tensors of 960 MB on 6 GiB: the sixth does not fit",
	.options = six_options,
	.device = &six_gib,
	.emit = six_emit,
};

const struct frag_scenario frag_scenario_rebind = {
	.name = "rebind",
	.summary = "one name bound again and again: two live tensors",
	.options = rebind_options,
	.device = &six_gib,
	.emit = rebind_emit,
};

const struct frag_scenario frag_scenario_tiny = {
	.name = "tiny",
	.summary = "six floats: what the first tensor costs",
	.options = no_options,
	.device = &six_gib,
	.emit = tiny_emit,
};

const struct frag_scenario frag_scenario_one_tensor = {
	.name = "one-tensor",
	.summary = "one tensor of 960 MB",
	.options = no_options,
	.device = &six_gib,
	.emit = one_tensor_emit,
};

const struct frag_scenario frag_scenario_small_after_large = {
	.name = "small-after-large",
	.summary = "960 MB dropped, then 240 KB: does the cached block help?",
	.options = no_options,
	.device = &six_gib,
	.emit = small_after_large_emit,
};

const struct frag_scenario frag_scenario_grow = {
	.name = "grow",
	.summary = "960 MB dropped, then 2.16 GB: the cached block is too small",
	.options = no_options,
	.device = &six_gib,
	.emit = grow_emit,
};

const struct frag_scenario frag_scenario_append_leak = {
	.name = "append-leak",
	.summary = "a list that keeps every tensor, until memory is full",
	.options = leak_options,
	.device = &six_gib,
	.emit = leak_emit,
};

const struct frag_scenario frag_scenario_alternating = {
	.name = "alternating",
	.summary = "100 MB and 4 MB, both dropped, again and again",
	.options = alternating_options,
	.emit = alternating_emit,
};

/*
 * Many tensors of one size. What an allocator makes of them is arithmetic: how far it rounds a
 * request, and how many blocks a segment holds.
 */
enum { EQUAL_COUNT, EQUAL_SIZE, EQUAL_THEN };

#define EQUAL_OPTIONS(count, size)                                                                 \
	{                                                                                          \
		{ "count", FRAG_GEN_COUNT, count, 1, FRAG_GEN_MAX, "how many tensors", NULL },     \
		{ "size", FRAG_GEN_SIZE, size, 0, FRAG_GEN_MAX, "bytes of each", NULL },           \
		{ "then", FRAG_GEN_SIZE, 0, 0, FRAG_GEN_MAX,                                       \
		  "one more request of N bytes; 0: none", NULL },                            \
		{ 0 },                                                                             \
	}

static const struct frag_gen_option min_block_options[] = EQUAL_OPTIONS(4194304, 516);
static const struct frag_gen_option one_float_options[] = EQUAL_OPTIONS(8388608, 4);
static const struct frag_gen_option two_mib_options[] = EQUAL_OPTIONS(2048, 2097152);
static const struct frag_gen_option mib_plus_one_options[] = EQUAL_OPTIONS(2048, 1048580);

static void equals_emit(struct frag_gen *g)
{
	for (uint64_t i = 0; i < g->option[EQUAL_COUNT] && frag_gen_going(g); i++)
		frag_gen_alloc(g, g->option[EQUAL_SIZE], NULL);
	if (g->option[EQUAL_THEN])
		frag_gen_alloc(g, g->option[EQUAL_THEN], "then");
}

const struct frag_scenario frag_scenario_min_block = {
	.name = "min-block",
	.summary = "tensors of 129 floats: a block of 1 KiB for 516 bytes",
	.options = min_block_options,
	.emit = equals_emit,
};

const struct frag_scenario frag_scenario_one_float = {
	.name = "one-float",
	.summary = "tensors of one float: 128 times their size",
	.options = one_float_options,
	.emit = equals_emit,
};

const struct frag_scenario frag_scenario_two_mib = {
	.name = "two-mib",
	.summary = "tensors of 2 MiB: ten fill a segment of 20 MiB",
	.options = two_mib_options,
	.emit = equals_emit,
};

const struct frag_scenario frag_scenario_mib_plus_one = {
	.name = "mib-plus-one",
	.summary = "tensors of 1 MiB and one float: 19 to a segment of 20 MiB",
	.options = mib_plus_one_options,
	.emit = equals_emit,
};

/* A random walk around a number of live blocks; each free picks a random block. */

#define MIB (UINT64_C(1) << 20)

enum { EVENTS, LIVE, SIZES, MIN_SIZE, MAX_SIZE, STREAMS, SHARED, SEED };
enum { LOG, UNIFORM, MIXED };

static const char *const size_words[] = { "log", "uniform", "mixed", NULL };

static const struct frag_gen_option random_options[] = {
	{ "events", FRAG_GEN_COUNT, 100000, 1, FRAG_GEN_MAX, "how many events", NULL },
	{ "live", FRAG_GEN_COUNT, 1000, 1, 10000000, "live blocks, about", NULL },
	{ "sizes", FRAG_GEN_WORD, LOG, 0, 0, "how sizes are distributed", size_words },
	{ "min-size", FRAG_GEN_SIZE, 512, 1, FRAG_GEN_MAX, "smallest request", NULL },
	{ "max-size", FRAG_GEN_SIZE, 32 * MIB, 1, FRAG_GEN_MAX, "largest request", NULL },
	{ "streams", FRAG_GEN_COUNT, 1, 1, 1000000, "how many streams", NULL },
	{ "shared", FRAG_GEN_COUNT, 0, 0, 100, "percent of blocks used on a second stream", NULL },
	{ "seed", FRAG_GEN_COUNT, 1, 0, FRAG_GEN_MAX, "where the random numbers begin", NULL },
	{ 0 },
};

static int random_check(const uint64_t *option, struct frag_error *err)
{
	if (option[MIN_SIZE] > option[MAX_SIZE])
		return frag_fail(err, FRAG_EUSAGE, "--min-size %llu is above --max-size %llu",
				 (unsigned long long)option[MIN_SIZE],
				 (unsigned long long)option[MAX_SIZE]);
	if (option[SHARED] && option[STREAMS] < 2)
		return frag_fail(err, FRAG_EUSAGE, "--shared requires --streams of 2 or more");
	return 0;
}

static uint64_t random_size(const uint64_t *option, struct frag_rng *rng)
{
	uint64_t min = option[MIN_SIZE], max = option[MAX_SIZE];
	uint64_t border = max < MIB ? max : min > MIB ? min : MIB;

	if (option[SIZES] == UNIFORM)
		return frag_rng_between(rng, min, max);
	if (option[SIZES] == LOG)
		return frag_rng_magnitude(rng, min, max);
	/* mixed: nine in ten are small */
	if (frag_rng_below(rng, 10))
		return frag_rng_magnitude(rng, min, border);
	return frag_rng_magnitude(rng, border, max);
}

static void free_one(struct frag_gen *g, struct frag_rng *rng, struct frag_gen_ids *live)
{
	uint32_t which = (uint32_t)frag_rng_below(rng, live->count);

	frag_gen_free(g, live->ids[which]);
	live->ids[which] = live->ids[--live->count];
}

/* The block is used on another stream than its own. */
static void use_elsewhere(struct frag_gen *g, struct frag_rng *rng, uint64_t id)
{
	const uint64_t streams = g->option[STREAMS];

	frag_gen_write(g, &(struct frag_record){
		.members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_STREAM,
		.op = FRAG_OP_RECORD_STREAM, .id.number = id,
		.stream.number = (g->stream + 1 + frag_rng_below(rng, streams - 1)) % streams,
	});
}

/*
 * With n live blocks the next event is a free with probability n / (2 LIVE), so
 * the walk returns to LIVE from both sides.
 */
static void random_emit(struct frag_gen *g)
{
	const uint64_t *option = g->option;
	struct frag_rng rng = { .state = option[SEED] };
	struct frag_gen_ids live = { .ids = NULL };
	bool share = false;     /* the block just made is used on a second stream */

	for (uint64_t i = 0; i < option[EVENTS] && frag_gen_going(g); i++) {
		if (share) {
			use_elsewhere(g, &rng, live.ids[live.count - 1]);
			share = false;
		} else if (option[SHARED] && frag_rng_below(&rng, 64) == 0) {
			emit(g, FRAG_OP_SYNC);
		} else if (frag_rng_below(&rng, 2 * option[LIVE]) < live.count) {
			free_one(g, &rng, &live);
		} else {
			g->stream = frag_rng_below(&rng, option[STREAMS]);
			frag_gen_push(g, &live, frag_gen_alloc(g, random_size(option, &rng), NULL));
			share = frag_rng_percent(&rng, option[SHARED]);
		}
	}
	free(live.ids);
}

const struct frag_scenario frag_scenario_random = {
	.name = "random",
	.summary = "random sizes and lifetimes, with about a constant number of live blocks",
	.options = random_options,
	.check = random_check,
	.emit = random_emit,
};
