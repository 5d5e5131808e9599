/*
 * pipeline.c - a model in stages, one a device: pipeline, uneven-pipeline.
 *
 * The schedule is "one forward, one backward" (PipeDream-Flush): a stage first
 * runs as many micro-batches forward as there are stages after it, then one
 * forward and one backward in turn, and holds the activations of all that are
 * in progress. The stages take turns; a stage that waits for another stage does nothing.
 */
#include <stdlib.h>

#include "gen/model.h"
#include "gen/scenarios.h"

enum {
	STAGES, LAYERS, UNEVEN, MICRO_BATCHES, ITERATIONS, JITTER, BATCH, LENGTH, HIDDEN, HEADS,
	VOCAB, SEED,
};

struct stage {
	uint64_t layers;
	uint64_t forwards, backwards;   /* micro-batches done in this iteration */
	struct frag_gen_ids gradients;
};

/* Micro-batch m in stage s. */
struct cell {
	uint64_t input, gradient;       /* received */
	struct frag_gen_ids kept;
};

struct pipeline {
	const uint64_t *option;
	struct stage *stages;
	struct cell *cells;             /* stage by stage, one a micro-batch */
	uint64_t *lengths;              /* of the micro-batches */
	struct frag_rng rng;
};

static struct frag_model_shape pipeline_shape_of(const struct pipeline *p, uint64_t m)
{
	const uint64_t *o = p->option;

	return (struct frag_model_shape){
		.hidden = o[HIDDEN], .heads = o[HEADS], .batch = o[BATCH], .length = p->lengths[m],
	};
}

/*
 * Stage s of n has a share of 100 + uneven * (n - 1 - 2s) / (n - 1): the first
 * has uneven percent more than the mean, the last as many less. What all stages
 * up to s have together is rounded down.
 */
static void share_out(struct pipeline *p)
{
	uint64_t n = p->option[STAGES], so_far = 0, done = 0;
	uint64_t whole = n > 1 ? 100 * (n - 1) : 100;

	for (uint64_t s = 0; s < n; s++) {
		uint64_t layers;

		so_far += whole;
		if (n > 1)
			so_far += p->option[UNEVEN] * (n - 1) - p->option[UNEVEN] * 2 * s;
		layers = p->option[LAYERS] * so_far / (whole * n);
		p->stages[s].layers = layers - done;
		done = layers;
	}
}

static void pipeline_forward(struct frag_gen *g, struct pipeline *p, uint64_t s, uint64_t m)
{
	struct frag_model_shape shape = pipeline_shape_of(p, m);
	struct cell *c = &p->cells[s * p->option[MICRO_BATCHES] + m];

	c->input = frag_gen_alloc(g, s ? frag_shape_rows(&shape)
				  : shape.batch * shape.length * 8, s ? "received" : "words");
	for (uint64_t l = 0; l < p->stages[s].layers; l++)
		frag_model_forward(g, &shape, &c->kept);
	p->stages[s].forwards++;
}

/* A stage's gradients of weights come with its first backward pass and add up. */
static void weight_gradients(struct frag_gen *g, struct pipeline *p, struct stage *stage)
{
	struct frag_model_shape shape = pipeline_shape_of(p, 0);

	for (uint64_t l = 0; !stage->backwards && l < stage->layers; l++)
		frag_model_weights(g, &shape, "weight gradient", &stage->gradients);
}

static void pipeline_backward(struct frag_gen *g, struct pipeline *p, uint64_t s, uint64_t m)
{
	struct frag_model_shape shape = pipeline_shape_of(p, m);
	struct cell *c = &p->cells[s * p->option[MICRO_BATCHES] + m];
	struct stage *stage = &p->stages[s];
	uint64_t gradient;

	gradient = s + 1 == p->option[STAGES]
		? frag_model_loss(g, &shape, p->option[VOCAB])
		: frag_gen_alloc(g, frag_shape_rows(&shape), "received gradient");
	for (uint64_t l = 0; l < stage->layers; l++)
		gradient = frag_model_backward(g, &shape, gradient, &c->kept);
	weight_gradients(g, p, stage);
	frag_gen_free(g, gradient);
	frag_gen_free(g, c->input);
	stage->backwards++;
}

/* The next of the stage's passes, if what it needs is there. */
static bool pipeline_advance(struct frag_gen *g, struct pipeline *p, uint64_t s)
{
	uint64_t n = p->option[STAGES], all = p->option[MICRO_BATCHES];
	struct stage *stage = &p->stages[s];
	uint64_t ahead = n - s < all ? n - s : all;

	g->device = (uint32_t)s;
	if (stage->forwards < all && stage->forwards - stage->backwards < ahead) {
		if (s && p->stages[s - 1].forwards <= stage->forwards)
			return false;
		pipeline_forward(g, p, s, stage->forwards);
		return true;
	}
	if (stage->backwards == all
	    || (s + 1 < n && p->stages[s + 1].backwards <= stage->backwards))
		return false;
	pipeline_backward(g, p, s, stage->backwards);
	return true;
}

static void update(struct frag_gen *g, struct pipeline *p)
{
	struct frag_model_shape shape = pipeline_shape_of(p, 0);

	for (uint64_t s = 0; s < p->option[STAGES]; s++) {
		struct stage *stage = &p->stages[s];

		g->device = (uint32_t)s;
		for (uint64_t l = 0; l < stage->layers && frag_gen_going(g); l++)
			frag_model_update(g, &shape);
		frag_gen_free_all(g, &stage->gradients);
		stage->forwards = stage->backwards = 0;
	}
}

static void pipeline_iteration(struct frag_gen *g, struct pipeline *p)
{
	const uint64_t *o = p->option;
	bool moved = true;

	for (uint64_t m = 0; m < o[MICRO_BATCHES]; m++)
		p->lengths[m] = frag_model_length(&p->rng, o[LENGTH], o[JITTER]);
	while (moved && frag_gen_going(g)) {
		moved = false;
		for (uint64_t s = 0; s < o[STAGES]; s++)
			moved |= pipeline_advance(g, p, s);
	}
	update(g, p);
}

/* Weights and optimiser states, which stay. */
static void place_model(struct frag_gen *g, const struct pipeline *p)
{
	struct frag_gen_ids stays = { .ids = NULL };
	struct frag_model_shape shape = pipeline_shape_of(p, 0);

	for (uint64_t s = 0; s < p->option[STAGES]; s++) {
		g->device = (uint32_t)s;
		for (uint64_t l = 0; l < p->stages[s].layers && frag_gen_going(g); l++) {
			frag_model_weights(g, &shape, "weight", &stays);
			frag_model_weights(g, &shape, "optimiser state", &stays);
			frag_model_weights(g, &shape, "optimiser state", &stays);
		}
	}
	free(stays.ids);
}

/*
 * Stages and cells are released here even where memory ran short in the middle:
 * all lists of ids begin as NULL.
 */
static void pipeline_emit(struct frag_gen *g)
{
	const uint64_t *o = g->option;
	uint64_t cells = o[STAGES] * o[MICRO_BATCHES];
	struct pipeline p = {
		.option = o, .stages = calloc(o[STAGES], sizeof(*p.stages)),
		.cells = calloc(cells, sizeof(*p.cells)),
		.lengths = calloc(o[MICRO_BATCHES], sizeof(*p.lengths)), .rng.state = o[SEED],
	};

	if (!p.stages || !p.cells || !p.lengths) {
		g->no_memory = true;
		goto out;
	}
	share_out(&p);
	place_model(g, &p);
	for (uint64_t i = 0; i < o[ITERATIONS] && frag_gen_going(g); i++) {
		frag_gen_mark(g, "iteration", i);
		pipeline_iteration(g, &p);
	}
	for (uint64_t i = 0; i < cells; i++)
		free(p.cells[i].kept.ids);
	for (uint64_t s = 0; s < o[STAGES]; s++)
		free(p.stages[s].gradients.ids);
out:
	free(p.stages);
	free(p.cells);
	free(p.lengths);
}

#define OPTIONS(stages, layers, uneven, micro, iterations, jitter, batch, length, hidden, heads)   \
	{                                                                                          \
		{ "stages", FRAG_GEN_COUNT, stages, 1, 64, "devices, a stage on each", NULL },     \
		{ "layers", FRAG_GEN_COUNT, layers, 1, 10000, "layers of the model", NULL },       \
		{ "uneven", FRAG_GEN_COUNT, uneven, 0, 100,                                        \
		  "percent that the first stage has above, the last below the mean", NULL },       \
		{ "micro-batches", FRAG_GEN_COUNT, micro, 1, 4096, "micro-batches a step", NULL }, \
		{ "iterations", FRAG_GEN_COUNT, iterations, 1, FRAG_GEN_MAX, "training steps",     \
		  NULL },                                                                          \
		{ "jitter", FRAG_GEN_COUNT, jitter, 0, 99,                                         \
		  "percent by which a micro-batch is shorter or longer", NULL },                   \
		{ "batch", FRAG_GEN_COUNT, batch, 1, FRAG_BATCH_MAX, "sequences a micro-batch",    \
		  NULL },                                                                          \
		{ "length", FRAG_GEN_COUNT, length, 1, FRAG_LENGTH_MAX, "words a sequence",        \
		  NULL },                                                                          \
		{ "hidden", FRAG_GEN_COUNT, hidden, 1, FRAG_HIDDEN_MAX, "hidden size", NULL },     \
		{ "heads", FRAG_GEN_COUNT, heads, 0, FRAG_HEADS_MAX,                               \
		  "attention heads; 0: fused attention", NULL },                                   \
		{ "vocab", FRAG_GEN_COUNT, 32000, 1, FRAG_VOCAB_MAX, "words that there are",       \
		  NULL },                                                                          \
		{ "seed", FRAG_GEN_COUNT, 1, 0, FRAG_GEN_MAX,                                      \
		  "where the random numbers begin", NULL },                                        \
		{ 0 },                                                                             \
	}

static const struct frag_gen_option pipeline_options[] =
	OPTIONS(4, 24, 0, 8, 5, 0, 4, 512, 1024, 16);
static const struct frag_gen_option uneven_pipeline_options[] =
	OPTIONS(4, 24, 60, 16, 3, 40, 4, 1024, 1024, 16);

/* A card sold as 16 GB: 15100 MiB of it are to be had, the context holds 400. */
static const struct frag_device_figures sixteen_gb = {
	.total = UINT64_C(15100) << 20, .context = 400 << 20, .granularity = 2 << 20,
};

const struct frag_scenario frag_scenario_pipeline = {
	.name = "pipeline",
	.summary = "training in stages over several devices",
	.options = pipeline_options,
	.per_device = "stages",
	.emit = pipeline_emit,
};

const struct frag_scenario frag_scenario_uneven_pipeline = {
	.name = "uneven-pipeline",
	.summary = "a pipeline of uneven stages, micro-batches of varying length",
	.options = uneven_pipeline_options,
	.device = &sixteen_gb,
	.per_device = "stages",
	.emit = pipeline_emit,
};
