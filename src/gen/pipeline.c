/*
 * pipeline.c - a model in stages, one a device: the scenarios pipeline and uneven-pipeline.
 *
 * The schedule is "one forward, one backward" (PipeDream-Flush): a stage first
 * runs as many micro-batches forward as there are stages after it, then one
 * forward and one backward in turn, and holds the activations of all that are
 * in progress. The stages take turns; a stage that waits for another stage does nothing.
 */
#include "gen/scenario_options.h"
#include "gen/transformer.h"

#include <stdlib.h>

enum {
	P_STAGES, P_LAYERS, P_UNEVEN, P_MICRO_BATCHES, P_ITERATIONS, P_JITTER, P_BATCH,
	P_LENGTH, P_HIDDEN, P_HEADS, P_VOCAB, P_SEED,
};

struct stage {
	uint64_t layers;
	uint64_t forwards, backwards;   /* micro-batches done in this iteration */
	struct frag_gen_ids gradients;
};

/* Micro-batch m in stage s. */
struct cell {
	uint64_t input;                 /* received */
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
		.hidden = o[P_HIDDEN], .heads = o[P_HEADS], .batch = o[P_BATCH], .length = p->lengths[m],
	};
}

/*
 * Stage s of n has a share of 100 + uneven * (n - 1 - 2s) / (n - 1): the first
 * has uneven percent more than the mean, the last as many less. What all stages
 * up to s have together is rounded down.
 */
static void share_out(struct pipeline *p)
{
	uint64_t n = p->option[P_STAGES], so_far = 0, done = 0;
	uint64_t whole = n > 1 ? 100 * (n - 1) : 100;

	for (uint64_t s = 0; s < n; s++) {
		uint64_t layers;

		so_far += whole;
		if (n > 1)
			so_far += p->option[P_UNEVEN] * (n - 1) - p->option[P_UNEVEN] * 2 * s;
		layers = p->option[P_LAYERS] * so_far / (whole * n);
		p->stages[s].layers = layers - done;
		done = layers;
	}
}

static void pipeline_forward(struct frag_gen *g, struct pipeline *p, uint64_t s, uint64_t m)
{
	struct frag_model_shape shape = pipeline_shape_of(p, m);
	struct cell *c = &p->cells[s * p->option[P_MICRO_BATCHES] + m];

	c->input = frag_gen_alloc(g, s ? frag_model_row_bytes(&shape)
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
	struct cell *c = &p->cells[s * p->option[P_MICRO_BATCHES] + m];
	struct stage *stage = &p->stages[s];
	uint64_t gradient;

	gradient = s + 1 == p->option[P_STAGES]
		? frag_model_loss(g, &shape, p->option[P_VOCAB])
		: frag_gen_alloc(g, frag_model_row_bytes(&shape), "received gradient");
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
	uint64_t n = p->option[P_STAGES], all = p->option[P_MICRO_BATCHES];
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

	for (uint64_t s = 0; s < p->option[P_STAGES]; s++) {
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

	for (uint64_t m = 0; m < o[P_MICRO_BATCHES]; m++)
		p->lengths[m] = frag_model_length(&p->rng, o[P_LENGTH], o[P_JITTER]);
	while (moved && frag_gen_going(g)) {
		moved = false;
		for (uint64_t s = 0; s < o[P_STAGES]; s++)
			moved |= pipeline_advance(g, p, s);
	}
	update(g, p);
}

/* Weights and optimiser states, which stay. */
static void place_model(struct frag_gen *g, const struct pipeline *p)
{
	struct frag_gen_ids stays = { .ids = NULL };
	struct frag_model_shape shape = pipeline_shape_of(p, 0);

	for (uint64_t s = 0; s < p->option[P_STAGES]; s++) {
		g->device = (uint32_t)s;
		for (uint64_t l = 0; l < p->stages[s].layers && frag_gen_going(g); l++)
			for (uint32_t i = 0; i < 3; i++)
				frag_model_weights(g, &shape, i ? "optimiser state" : "weight", &stays);
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
	uint64_t cells = o[P_STAGES] * o[P_MICRO_BATCHES];
	struct pipeline p = {
		.option = o, .stages = calloc(o[P_STAGES], sizeof(*p.stages)),
		.cells = calloc(cells, sizeof(*p.cells)),
		.lengths = calloc(o[P_MICRO_BATCHES], sizeof(*p.lengths)), .rng.state = o[P_SEED],
	};

	if (!p.stages || !p.cells || !p.lengths) {
		g->no_memory = true;
		goto out;
	}
	share_out(&p);
	place_model(g, &p);
	for (uint64_t i = 0; i < o[P_ITERATIONS] && frag_gen_going(g); i++) {
		frag_gen_write_mark(g, "iteration", i);
		pipeline_iteration(g, &p);
	}
	for (uint64_t i = 0; i < cells; i++)
		free(p.cells[i].kept.ids);
	for (uint64_t s = 0; s < o[P_STAGES]; s++)
		free(p.stages[s].gradients.ids);
out:
	free(p.stages);
	free(p.cells);
	free(p.lengths);
}

#define PIPELINE(uneven, micro, iterations, jitter, length)                                \
	{                                                                                   \
		COUNT("stages", 4, 1, 64, "devices, a stage on each"), LAYERS(24),          \
		COUNT("uneven", uneven, 0, 100,                                             \
		      "percent that the first stage has above, the last below the mean"),   \
		COUNT("micro-batches", micro, 1, 4096, "micro-batches a step"),             \
		ITERATIONS(iterations), JITTER(jitter, "micro-batch"),                      \
		BATCH(4, "micro-batch"), WORDS_OF(length), HIDDEN(1024), HEADS(16), VOCAB,  \
		SEED, { 0 },                                                                \
	}

static const struct frag_gen_option pipeline_options[] = PIPELINE(0, 8, 5, 0, 512);
static const struct frag_gen_option uneven_pipeline_options[] = PIPELINE(60, 16, 3, 40, 1024);

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
	.device = DEVICE(15100, 400, 0),        /* of a card sold as 16 GB */
	.per_device = "stages",
	.emit = pipeline_emit,
};
