/*
 * equal_sizes.c - many tensors of one size: min-block, one-float, two-mib, mib-plus-one.
 *
 * What an allocator makes of them is arithmetic: how far it rounds a request,
 * and how many blocks a segment holds.
 */
#include "gen/scenarios.h"

enum { COUNT, SIZE, THEN };

#define OPTIONS(count, size)                                                                       \
	{                                                                                          \
		{ "count", FRAG_GEN_COUNT, count, 1, FRAG_GEN_MAX, "how many tensors", NULL },     \
		{ "size", FRAG_GEN_SIZE, size, 0, FRAG_GEN_MAX, "bytes of each", NULL },           \
		{ "then", FRAG_GEN_SIZE, 0, 0, FRAG_GEN_MAX,                                       \
		  "one more request of N bytes; 0: none", NULL },                            \
		{ 0 },                                                                             \
	}

static const struct frag_gen_option min_block_options[] = OPTIONS(4194304, 516);
static const struct frag_gen_option one_float_options[] = OPTIONS(8388608, 4);
static const struct frag_gen_option two_mib_options[] = OPTIONS(2048, 2097152);
static const struct frag_gen_option mib_plus_one_options[] = OPTIONS(2048, 1048580);

static void equals_emit(struct frag_gen *g)
{
	for (uint64_t i = 0; i < g->option[COUNT] && frag_gen_going(g); i++)
		frag_gen_alloc(g, g->option[SIZE], NULL);
	if (g->option[THEN])
		frag_gen_alloc(g, g->option[THEN], "then");
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
