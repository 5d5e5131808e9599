/* multitask.c - a training and a text generation on one device, interleaved. */
#include "gen/scenarios.h"

enum {
	ISOLATE, ITERATIONS, LAYERS, HIDDEN, BATCH, LENGTH, JITTER, REQUESTS, CONCURRENT, PROMPT,
	WORDS, GROW, STEPS, SEED,
};

enum { TRAINING_POOL = 1, SERVING_POOL = 2 };

struct beside {
	struct frag_serving serving;
	uint64_t steps;         /* of it, for each layer of the training */
};

static void serve(struct frag_gen *g, void *ctx)
{
	struct beside *b = ctx;
	uint64_t pool = g->pool;

	if (g->option[ISOLATE])
		g->pool = SERVING_POOL;
	for (uint64_t i = 0; i < b->steps && frag_serving_step(g, &b->serving); i++)
		;
	g->pool = pool;
}

/*
 * The service runs in the pauses of the training, between its layers, so each
 * takes holes that the other leaves. Two seeds keep their sizes independent.
 */
static void multitask_emit(struct frag_gen *g)
{
	const uint64_t *o = g->option;
	struct beside b = {
		.steps = o[STEPS],
		.serving = {
			.layers = o[LAYERS], .hidden = o[HIDDEN], .requests = o[REQUESTS],
			.concurrent = o[CONCURRENT], .prompt = o[PROMPT], .words = o[WORDS],
			.grow = o[GROW], .rng.state = ~o[SEED],
		},
	};
	struct frag_training t = {
		.layers = o[LAYERS], .iterations = o[ITERATIONS], .jitter = o[JITTER],
		.vocab = 32000, .rng.state = o[SEED], .pause = serve, .ctx = &b,
		.shape = { .hidden = o[HIDDEN], .batch = o[BATCH], .length = o[LENGTH] },
	};

	g->pool = o[ISOLATE] ? SERVING_POOL : 0;
	frag_serving_begin(g, &b.serving);
	g->pool = o[ISOLATE] ? TRAINING_POOL : 0;
	frag_training_emit(g, &t);
	frag_serving_fini(&b.serving);
}

static const struct frag_device_figures eight_gib = {
	.total = UINT64_C(8) << 30, .context = 200 << 20, .granularity = 2 << 20,
};

static const struct frag_gen_option multitask_options[] = {
	{ "isolate", FRAG_GEN_FLAG, 0, 0, 1, "each task in a separate pool", NULL },
	{ "iterations", FRAG_GEN_COUNT, 6, 1, FRAG_GEN_MAX, "training steps", NULL },
	{ "layers", FRAG_GEN_COUNT, 12, 1, 10000, "layers of both models", NULL },
	{ "hidden", FRAG_GEN_COUNT, 1024, 1, FRAG_HIDDEN_MAX, "hidden size of both", NULL },
	{ "batch", FRAG_GEN_COUNT, 8, 1, FRAG_BATCH_MAX, "sequences a batch", NULL },
	{ "length", FRAG_GEN_COUNT, 1024, 1, FRAG_LENGTH_MAX, "words a sequence", NULL },
	{ "jitter", FRAG_GEN_COUNT, 0, 0, 99, "percent by which a batch is shorter or longer",
	  NULL },
	{ "requests", FRAG_GEN_COUNT, 200, 1, FRAG_GEN_MAX, "sequences to generate", NULL },
	{ "concurrent", FRAG_GEN_COUNT, 8, 1, 65536, "concurrent sequences", NULL },
	{ "prompt", FRAG_GEN_COUNT, 4096, 1, 1048576, "words of the longest prompt", NULL },
	{ "words", FRAG_GEN_COUNT, 16, 1, 1048576, "words of the longest answer", NULL },
	{ "grow", FRAG_GEN_COUNT, 64, 1, 1048576, "words by which a full cache grows", NULL },
	{ "steps", FRAG_GEN_COUNT, 1, 1, 1000000, "words generated for each layer trained", NULL },
	{ "seed", FRAG_GEN_COUNT, 1, 0, FRAG_GEN_MAX, "where the random numbers begin", NULL },
	{ 0 },
};

const struct frag_scenario frag_scenario_multitask = {
	.name = "multitask",
	.summary = "training and text generation interleaved on one device",
	.options = multitask_options,
	.device = &eight_gib,
	.emit = multitask_emit,
};
