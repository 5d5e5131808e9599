/* tensors.c - a few tensors, as a person types them at a prompt. */
#include "gen/scenarios.h"

#define TENSOR 960000000        /* 240,000,000 floats */

/* 6 GiB; the context uses 446 MiB and other processes use 931.56 MiB. */
static const struct frag_device_figures six_gib = {
	.total = UINT64_C(6) << 30, .context = UINT64_C(446) << 20, .other = 976811459,
	.granularity = 2 << 20,
};

static const struct frag_gen_option no_options[] = { { 0 } };

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
	frag_gen_empty_cache(g);
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
