/* training.c - training steps of a transformer: the scenarios training and checkpointing. */
#include "gen/training.h"

#include <stdlib.h>

#include "gen/scenario_options.h"

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
	return t->vocab * t->shape.hidden * WEIGHT_BYTES;
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
		if (s->t->pause)
			s->t->pause(g, s->t->ctx);
	}
	frag_gen_push(g, &s->inputs, input);
}

static void training_forward(struct frag_gen *g, struct step *s)
{
	const struct frag_training *t = s->t;

	frag_gen_push(g, &s->inputs, frag_gen_alloc(g, frag_model_row_bytes(&s->shape), "embedded"));
	for (uint64_t l = 0, stretch = 1; l < t->layers && frag_gen_going(g); l += stretch) {
		if (t->checkpoint) {
			stretch = t->checkpoint < t->layers - l ? t->checkpoint : t->layers - l;
			forward_stretch(g, s, stretch);
		} else {
			frag_model_forward(g, &s->shape, &s->kept);
			if (t->pause)
				t->pause(g, t->ctx);
		}
	}
}

static uint64_t backward_layers(struct frag_gen *g, struct step *s, uint64_t gradient,
				uint64_t layers)
{
	for (uint64_t i = 0; i < layers; i++) {
		gradient = frag_model_backward(g, &s->shape, gradient, &s->kept);
		frag_model_weights(g, &s->shape, "weight gradient", &s->gradients);
		if (s->t->pause)
			s->t->pause(g, s->t->ctx);
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
		for (uint32_t i = 0; states && i < 2; i++)
			frag_model_weights(g, &t->shape, "optimiser state", states);
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
		frag_gen_write_mark(g, "iteration", i);
		training_iteration(g, t, i ? NULL : &stays);
	}
	free(stays.ids);
}

enum {
	T_LAYERS, T_ITERATIONS, T_CHECKPOINT, T_JITTER, T_BATCH, T_LENGTH, T_HIDDEN, T_HEADS,
	T_VOCAB, T_SEED,
};

#define TRAINING(layers, iterations, checkpoint, jitter, batch, length, hidden, heads)      \
	{                                                                                   \
		LAYERS(layers), ITERATIONS(iterations),                                     \
		COUNT("checkpoint", checkpoint, 0, 10000,                                   \
		      "keep only the input of every N-th layer; 0: keep all"),              \
		JITTER(jitter, "batch"), BATCH(batch, "batch"), WORDS_OF(length),           \
		HIDDEN(hidden), HEADS(heads), VOCAB, SEED, { 0 },                           \
	}

static const struct frag_gen_option training_options[] =
	TRAINING(12, 10, 0, 0, 8, 512, 768, 12);
static const struct frag_gen_option checkpointing_options[] =
	TRAINING(24, 8, 1, 30, 8, 1024, 1024, 16);

static void training_emit(struct frag_gen *g)
{
	const uint64_t *o = g->option;
	struct frag_training t = {
		.layers = o[T_LAYERS], .iterations = o[T_ITERATIONS], .checkpoint = o[T_CHECKPOINT],
		.jitter = o[T_JITTER], .vocab = o[T_VOCAB], .rng.state = o[T_SEED],
		.shape = { .hidden = o[T_HIDDEN], .heads = o[T_HEADS], .batch = o[T_BATCH],
			   .length = o[T_LENGTH] },
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
	.device = DEVICE(8192, 512, 512),       /* the context and a desktop hold 512 each */
	.emit = training_emit,
};
