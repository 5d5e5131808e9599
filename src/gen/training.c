/* training.c - training steps of a transformer: training, checkpointing. */

#include <stdlib.h>

#include "gen/scenarios.h"

struct step {
	struct frag_training *t;
	struct frag_model_shape shape;        /* of this iteration */
	struct frag_gen_ids kept;       /* what backward needs, a stack */
	struct frag_gen_ids inputs;     /* of the checkpointed groups of layers, a stack */
	struct frag_gen_ids gradients;  /* of the weights */
};

/* The weights of the embedding, or whatever is shaped like them. */
static uint64_t embedding_bytes(const struct frag_training *t)
{
	return t->vocab * t->shape.hidden * FRAG_WEIGHT_BYTES;
}

static void pause(struct frag_gen *g, const struct frag_training *t)
{
	if (t->pause)
		t->pause(g, t->ctx);
}

/* Forward without keeping: each layer's inner tensors go, its output stays for the next. */
static void forward_stretch(struct frag_gen *g, struct step *s, uint64_t layers)
{
	struct frag_gen_ids inner = { .ids = NULL };
	uint64_t input = 0;     /* of the layer; the input of the group is in s->inputs */

	for (uint64_t i = 0; i < layers; i++) {
		uint64_t output;

		frag_model_forward(g, &s->shape, &inner);
		output = frag_gen_pop(&inner);
		frag_gen_free_all(g, &inner);
		if (input)
			frag_gen_free(g, input);
		input = output;
		pause(g, s->t);
	}
	frag_gen_push(g, &s->inputs, input);
}

static void training_forward(struct frag_gen *g, struct step *s)
{
	const struct frag_training *t = s->t;

	frag_gen_push(g, &s->inputs, frag_gen_alloc(g, frag_shape_rows(&s->shape), "embedded"));
	for (uint64_t l = 0; l < t->layers && frag_gen_going(g);) {
		uint64_t stretch = t->checkpoint < t->layers - l ? t->checkpoint : t->layers - l;

		if (t->checkpoint) {
			forward_stretch(g, s, stretch);
			l += stretch;
		} else {
			frag_model_forward(g, &s->shape, &s->kept);
			pause(g, t);
			l++;
		}
	}
}

static uint64_t backward_layers(struct frag_gen *g, struct step *s, uint64_t gradient,
				uint64_t layers)
{
	for (uint64_t i = 0; i < layers; i++) {
		gradient = frag_model_backward(g, &s->shape, gradient, &s->kept);
		frag_model_weights(g, &s->shape, "weight gradient", &s->gradients);
		pause(g, s->t);
	}
	return gradient;
}

/*
 * With checkpoints only the inputs of each group of layers are kept: each group runs forward again
 * before it runs backward, so only the activations of one group are live.
 */
static void training_backward(struct frag_gen *g, struct step *s)
{
	const struct frag_training *t = s->t;
	uint64_t gradient = frag_model_loss(g, &s->shape, t->vocab);

	if (!t->checkpoint)
		gradient = backward_layers(g, s, gradient, t->layers);
	else
		frag_gen_free(g, frag_gen_pop(&s->inputs));     /* the last output */
	for (uint64_t left = t->checkpoint ? t->layers : 0; left && frag_gen_going(g);) {
		uint64_t stretch = left % t->checkpoint ? left % t->checkpoint : t->checkpoint;

		for (uint64_t i = 0; i < stretch; i++)
			frag_model_forward(g, &s->shape, &s->kept);
		gradient = backward_layers(g, s, gradient, stretch);
		frag_gen_free(g, frag_gen_pop(&s->inputs));
		left -= stretch;
	}
	if (!t->checkpoint)
		frag_gen_free(g, frag_gen_pop(&s->inputs));
	frag_gen_push(g, &s->gradients,
		      frag_gen_alloc(g, embedding_bytes(t), "weight gradient"));
	frag_gen_free(g, gradient);
}

static void optimise(struct frag_gen *g, const struct frag_training *t, struct frag_gen_ids *states)
{
	for (uint64_t l = 0; l < t->layers && frag_gen_going(g); l++) {
		if (states) {
			frag_model_weights(g, &t->shape, "optimiser state", states);
			frag_model_weights(g, &t->shape, "optimiser state", states);
		}
		frag_model_update(g, &t->shape);
	}
	for (uint32_t i = 0; states && i < 2; i++)
		frag_gen_push(g, states, frag_gen_alloc(g, embedding_bytes(t),
							"optimiser state"));
}

static void training_iteration(struct frag_gen *g, struct frag_training *t,
			       struct frag_gen_ids *states)
{
	struct step s = { .t = t, .shape = t->shape };
	uint64_t words;

	s.shape.length = frag_model_length(&t->rng, t->shape.length, t->jitter);
	words = frag_gen_alloc(g, s.shape.batch * s.shape.length * 8, "words");
	training_forward(g, &s);
	training_backward(g, &s);
	optimise(g, t, states);
	frag_gen_free_all(g, &s.gradients);
	frag_gen_free(g, words);
	free(s.kept.ids);
	free(s.inputs.ids);
}

void frag_training_emit(struct frag_gen *g, struct frag_training *t)
{
	struct frag_gen_ids stays = { .ids = NULL };

	frag_gen_push(g, &stays, frag_gen_alloc(g, embedding_bytes(t), "weight"));
	for (uint64_t l = 0; l < t->layers && frag_gen_going(g); l++)
		frag_model_weights(g, &t->shape, "weight", &stays);
	for (uint64_t i = 0; i < t->iterations && frag_gen_going(g); i++) {
		frag_gen_mark(g, "iteration", i);
		training_iteration(g, t, i ? NULL : &stays);
	}
	free(stays.ids);
}

enum {
	LAYERS, ITERATIONS, CHECKPOINT, JITTER, BATCH, LENGTH, HIDDEN, HEADS, VOCAB, SEED,
};

#define OPTIONS(layers, iterations, checkpoint, jitter, batch, length, hidden, heads, vocab)       \
	{                                                                                          \
		{ "layers", FRAG_GEN_COUNT, layers, 1, 10000, "layers of the model", NULL },       \
		{ "iterations", FRAG_GEN_COUNT, iterations, 1, FRAG_GEN_MAX, "training steps",     \
		  NULL },                                                                          \
		{ "checkpoint", FRAG_GEN_COUNT, checkpoint, 0, 10000,                              \
		  "keep only the input of every N-th layer; 0: keep all", NULL },              \
		{ "jitter", FRAG_GEN_COUNT, jitter, 0, 99,                                         \
		  "percent by which a batch is shorter or longer", NULL },                         \
		{ "batch", FRAG_GEN_COUNT, batch, 1, FRAG_BATCH_MAX, "sequences a batch", NULL },  \
		{ "length", FRAG_GEN_COUNT, length, 1, FRAG_LENGTH_MAX, "words a sequence",        \
		  NULL },                                                                          \
		{ "hidden", FRAG_GEN_COUNT, hidden, 1, FRAG_HIDDEN_MAX, "hidden size", NULL },     \
		{ "heads", FRAG_GEN_COUNT, heads, 0, FRAG_HEADS_MAX,                               \
		  "attention heads; 0: fused attention", NULL },                                   \
		{ "vocab", FRAG_GEN_COUNT, vocab, 1, FRAG_VOCAB_MAX, "words that there are",       \
		  NULL },                                                                          \
		{ "seed", FRAG_GEN_COUNT, 1, 0, FRAG_GEN_MAX,                                      \
		  "where the random numbers begin", NULL },                                        \
		{ 0 },                                                                             \
	}

static const struct frag_gen_option training_options[] =
	OPTIONS(12, 10, 0, 0, 8, 512, 768, 12, 32000);
static const struct frag_gen_option checkpointing_options[] =
	OPTIONS(24, 8, 1, 30, 8, 1024, 1024, 16, 32000);

/* Of 8 GiB the context and a desktop hold 512 MiB each. */
static const struct frag_device_figures eight_gib = {
	.total = UINT64_C(8) << 30, .context = 512 << 20, .other = 512 << 20,
	.granularity = 2 << 20,
};

static void training_emit(struct frag_gen *g)
{
	const uint64_t *o = g->option;
	struct frag_training t = {
		.layers = o[LAYERS], .iterations = o[ITERATIONS], .checkpoint = o[CHECKPOINT],
		.jitter = o[JITTER], .vocab = o[VOCAB], .rng.state = o[SEED],
		.shape = { .hidden = o[HIDDEN], .heads = o[HEADS], .batch = o[BATCH],
			   .length = o[LENGTH] },
	};

	frag_training_emit(g, &t);
}

const struct frag_scenario frag_scenario_training = {
	.name = "training",
	.summary = "training steps of a transformer",
	.options = training_options,
	.emit = training_emit,
};

const struct frag_scenario frag_scenario_checkpointing = {
	.name = "checkpointing",
	.summary = "training with activation checkpointing, batches of varying length",
	.options = checkpointing_options,
	.device = &eight_gib,
	.emit = training_emit,
};
