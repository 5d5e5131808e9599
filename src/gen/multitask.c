/* multitask.c - a training and a text generation on one device: the scenario multitask. */
#include "gen/scenario_options.h"
#include "gen/serving.h"
#include "gen/training.h"

enum {
	B_ISOLATE, B_ITERATIONS, B_LAYERS, B_HIDDEN, B_BATCH, B_LENGTH, B_JITTER, B_REQUESTS,
	B_CONCURRENT, B_PROMPT, B_WORDS, B_GROW, B_STEPS, B_SEED,
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

	if (g->option[B_ISOLATE])
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
		.steps = o[B_STEPS],
		.serving = {
			.layers = o[B_LAYERS], .hidden = o[B_HIDDEN], .requests = o[B_REQUESTS],
			.concurrent = o[B_CONCURRENT], .prompt = o[B_PROMPT], .words = o[B_WORDS],
			.grow = o[B_GROW], .rng.state = ~o[B_SEED],
		},
	};
	struct frag_training t = {
		.layers = o[B_LAYERS], .iterations = o[B_ITERATIONS], .jitter = o[B_JITTER],
		.vocab = 32000, .rng.state = o[B_SEED], .pause = serve, .ctx = &b,
		.shape = { .hidden = o[B_HIDDEN], .batch = o[B_BATCH], .length = o[B_LENGTH] },
	};

	g->pool = o[B_ISOLATE] ? SERVING_POOL : 0;
	frag_serving_begin(g, &b.serving);
	g->pool = o[B_ISOLATE] ? TRAINING_POOL : 0;
	frag_training_emit(g, &t);
	frag_serving_fini(&b.serving);
}

static const struct frag_gen_option multitask_options[] = {
	{ "isolate", FRAG_GEN_FLAG, 0, 0, 1, "each task in a separate pool", NULL },
	ITERATIONS(6), COUNT("layers", 12, 1, 10000, "layers of both models"),
	COUNT("hidden", 1024, 1, HIDDEN_MAX, "hidden size of both"), BATCH(8, "batch"),
	WORDS_OF(1024), JITTER(0, "batch"),
	COUNT("requests", 200, 1, FRAG_GEN_MAX, "sequences to generate"), CONCURRENT,
	SERVING(4096, 16, 64),
	COUNT("steps", 1, 1, 1000000, "words generated for each layer trained"), SEED, { 0 },
};

const struct frag_scenario frag_scenario_multitask = {
	.name = "multitask",
	.summary = "training and text generation interleaved on one device",
	.options = multitask_options,
	.device = DEVICE(8192, 200, 0),
	.emit = multitask_emit,
};
