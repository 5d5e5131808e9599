/*
 * transformer.c - a transformer in training, in stages over several devices, and generating text.
 *
 * Weights, gradients and optimiser states are float32; activations take 2 bytes
 * an element. A layer of hidden size H over batch B and length L has the weights
 * 3HH, HH, 4HH, 4HH and 4H (norms), and in its forward pass the parts of the
 * table below: multiples of BLH, and of B*heads*LL for the attention
 * scores, which fused attention (heads 0) does not have.
 */
#include "gen/gen.h"

#include <stdio.h>
#include <stdlib.h>

#define LAYER_WEIGHTS 5
#define WEIGHT_BYTES 4     /* of one number: weights, gradients, optimiser states */
#define ACTIVATION_BYTES 2

/* Bounds that keep every size below 2^53. */
#define LENGTH_MAX 32768
#define BATCH_MAX 1024
#define HEADS_MAX 128
#define HIDDEN_MAX 65536
#define VOCAB_MAX 1048576

struct model_shape {
	uint64_t hidden, heads, batch, length;
};

struct part {
	const char *tag;
	uint8_t times;          /* of BLH, or of B*heads*LL */
	bool square, kept;      /* kept for the backward pass */
};

static const struct part parts[] = {
	{ "norm1", 1, false, true },
	{ "qkv", 3, false, true },
	{ "scores", 1, true, false },
	{ "probabilities", 1, true, true },
	{ "context", 1, false, true },
	{ "attention out", 1, false, false },
	{ "residual", 1, false, true },
	{ "norm2", 1, false, true },
	{ "up", 4, false, true },
	{ "gelu", 4, false, true },
	{ "down", 1, false, false },
	{ "output", 1, false, true },
};

#define PARTS (sizeof(parts) / sizeof(parts[0]))

/* "iteration 3" */
static void write_mark(struct frag_gen *g, const char *word, uint64_t number)
{
	struct frag_record rec = { .members = FRAG_HAS_OP | FRAG_HAS_NAME, .op = FRAG_OP_MARK };
	char name[64];

	rec.text.length = (uint32_t)snprintf(name, sizeof(name), "%s %llu", word,
					     (unsigned long long)number);
	rec.text.text = name;
	frag_gen_write(g, &rec);
}

/* Bytes of one BLH activation. */
static uint64_t shape_rows(const struct model_shape *s)
{
	return s->batch * s->length * s->hidden * ACTIVATION_BYTES;
}

static uint64_t part_bytes(const struct part *part, const struct model_shape *s)
{
	if (part->square)
		return part->times * s->batch * s->heads * s->length * s->length
		       * ACTIVATION_BYTES;
	return part->times * shape_rows(s);
}

static uint64_t weight_bytes(const struct model_shape *s, uint32_t which)
{
	static const uint64_t squares[LAYER_WEIGHTS] = { 3, 1, 4, 4, 0 };

	if (squares[which])
		return squares[which] * s->hidden * s->hidden * WEIGHT_BYTES;
	return 4 * s->hidden * WEIGHT_BYTES;
}

/* The five weights of a layer, or whatever is shaped like them (gradients). */
static void model_weights(struct frag_gen *g, const struct model_shape *s, const char *tag,
			struct frag_gen_ids *ids)
{
	for (uint32_t i = 0; i < LAYER_WEIGHTS; i++)
		frag_gen_push(g, ids, frag_gen_alloc(g, weight_bytes(s, i), tag));
}

/* Allocates and frees one buffer of the size of each weight, in turn. */
static void model_update(struct frag_gen *g, const struct model_shape *s)
{
	for (uint32_t i = 0; i < LAYER_WEIGHTS; i++)
		frag_gen_free(g, frag_gen_alloc(g, weight_bytes(s, i), "update"));
}

/* A layer forward; what backward needs is pushed on kept, the layer's output last. */
static void model_forward(struct frag_gen *g, const struct model_shape *s,
			struct frag_gen_ids *kept)
{
	uint64_t passing = 0;   /* needed until the next part is there */

	for (uint32_t i = 0; i < PARTS; i++) {
		uint64_t id;

		if (parts[i].square && !s->heads)
			continue;
		id = frag_gen_alloc(g, part_bytes(&parts[i], s), parts[i].tag);
		if (passing)
			frag_gen_free(g, passing);
		passing = parts[i].kept ? 0 : id;
		if (parts[i].kept)
			frag_gen_push(g, kept, id);
	}
}

/*
 * A layer backward: pops and frees what forward kept, and the gradient that
 * comes in; gives the gradient that goes out.
 */
static uint64_t model_backward(struct frag_gen *g, const struct model_shape *s,
			     uint64_t gradient, struct frag_gen_ids *kept)
{
	for (uint32_t i = PARTS; i-- > 0;) {
		uint64_t id;

		if (!parts[i].kept || (parts[i].square && !s->heads))
			continue;
		id = frag_gen_alloc(g, part_bytes(&parts[i], s), "gradient");
		frag_gen_free(g, gradient);
		frag_gen_free(g, frag_gen_pop(kept));
		gradient = id;
	}
	return gradient;
}

/*
 * The logits of vocab words, their float32 copy and the loss, forward and
 * backward; gives the gradient of the last layer's output.
 */
static uint64_t model_loss(struct frag_gen *g, const struct model_shape *s, uint64_t vocab)
{
	uint64_t bytes = s->batch * s->length * vocab * ACTIVATION_BYTES;
	uint64_t logits = frag_gen_alloc(g, bytes, "logits");
	uint64_t copy = frag_gen_alloc(g, 2 * bytes, "log softmax");
	uint64_t loss = frag_gen_alloc(g, 4, "loss");
	uint64_t gradient = frag_gen_alloc(g, bytes, "gradient"), out;

	frag_gen_free(g, copy);
	frag_gen_free(g, logits);
	out = frag_gen_alloc(g, shape_rows(s), "gradient");
	frag_gen_free(g, gradient);
	frag_gen_free(g, loss);
	return out;
}

/* A length that is up to `jitter` percent shorter or longer, at least 1. */
static uint64_t model_length(struct frag_rng *rng, uint64_t length, uint64_t jitter)
{
	uint64_t spread = length * jitter / 100;
	uint64_t min = length - spread;

	return frag_rng_between(rng, min ? min : 1, length + spread);
}

/* Options that several scenarios have, with the value of each. */
#define COUNT(name, ...) { name, FRAG_GEN_COUNT, __VA_ARGS__, NULL }
#define LAYERS(value) COUNT("layers", value, 1, 10000, "layers of the model")
#define ITERATIONS(value) COUNT("iterations", value, 1, FRAG_GEN_MAX, "training steps")
#define JITTER(value, of) \
	COUNT("jitter", value, 0, 99, "percent by which a " of " is shorter or longer")
#define BATCH(value, of) COUNT("batch", value, 1, BATCH_MAX, "sequences a " of)
#define WORDS_OF(value) COUNT("length", value, 1, LENGTH_MAX, "words a sequence")
#define HIDDEN(value) COUNT("hidden", value, 1, HIDDEN_MAX, "hidden size")
#define HEADS(value) COUNT("heads", value, 0, HEADS_MAX, "attention heads; 0: fused attention")
#define VOCAB COUNT("vocab", 32000, 1, VOCAB_MAX, "words that there are")
#define CONCURRENT COUNT("concurrent", 8, 1, 65536, "concurrent sequences")
#define SERVING(prompt, words, grow)                                                        \
	COUNT("prompt", prompt, 1, 1048576, "words of the longest prompt"),                 \
	COUNT("words", words, 1, 1048576, "words of the longest answer"),                   \
	COUNT("grow", grow, 1, 1048576, "words by which a full cache grows")
#define SEED COUNT("seed", 1, 0, FRAG_GEN_MAX, "where the random numbers begin")

/* MiB of a device, of its context, and of other processes. */
#define DEVICE(mib, context_mib, other_mib)                                                 \
	&(const struct frag_device_figures){                                                \
	  .total = UINT64_C(mib) << 20, .context = UINT64_C(context_mib) << 20,             \
	  .other = UINT64_C(other_mib) << 20, .granularity = 2 << 20 }

/* Training steps, alone or concurrently with another task: training, checkpointing. */
struct training {
	uint64_t layers, iterations;
	uint64_t checkpoint;    /* layers between kept inputs; 0: all is kept */
	uint64_t jitter;        /* percent of the length */
	uint64_t vocab;
	struct model_shape shape;
	struct frag_rng rng;
	/* optional: after each layer, forward or backward */
	void (*pause)(struct frag_gen *g, void *ctx);
	void *ctx;
};

struct step {
	struct training *t;
	struct model_shape shape;        /* of this iteration */
	struct frag_gen_ids kept;       /* what backward needs, a stack */
	struct frag_gen_ids inputs;     /* of the checkpointed groups of layers, a stack */
	struct frag_gen_ids gradients;  /* of the weights */
};

/* The weights of the embedding, or whatever is shaped like them. */
static uint64_t embedding_bytes(const struct training *t)
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

		model_forward(g, &s->shape, &inner);
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
	const struct training *t = s->t;

	frag_gen_push(g, &s->inputs, frag_gen_alloc(g, shape_rows(&s->shape), "embedded"));
	for (uint64_t l = 0, stretch = 1; l < t->layers && frag_gen_going(g); l += stretch) {
		if (t->checkpoint) {
			stretch = t->checkpoint < t->layers - l ? t->checkpoint : t->layers - l;
			forward_stretch(g, s, stretch);
		} else {
			model_forward(g, &s->shape, &s->kept);
			if (t->pause)
				t->pause(g, t->ctx);
		}
	}
}

static uint64_t backward_layers(struct frag_gen *g, struct step *s, uint64_t gradient,
				uint64_t layers)
{
	for (uint64_t i = 0; i < layers; i++) {
		gradient = model_backward(g, &s->shape, gradient, &s->kept);
		model_weights(g, &s->shape, "weight gradient", &s->gradients);
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
	const struct training *t = s->t;
	uint64_t gradient = model_loss(g, &s->shape, t->vocab);

	if (!t->checkpoint)
		gradient = backward_layers(g, s, gradient, t->layers);
	else
		frag_gen_free(g, frag_gen_pop(&s->inputs));     /* the last output */
	for (uint64_t left = t->checkpoint ? t->layers : 0; left && frag_gen_going(g);) {
		uint64_t stretch = left % t->checkpoint ? left % t->checkpoint : t->checkpoint;

		for (uint64_t i = 0; i < stretch; i++)
			model_forward(g, &s->shape, &s->kept);
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

static void optimise(struct frag_gen *g, const struct training *t, struct frag_gen_ids *states)
{
	for (uint64_t l = 0; l < t->layers && frag_gen_going(g); l++) {
		for (uint32_t i = 0; states && i < 2; i++)
			model_weights(g, &t->shape, "optimiser state", states);
		model_update(g, &t->shape);
	}
	for (uint32_t i = 0; states && i < 2; i++)
		frag_gen_push(g, states, frag_gen_alloc(g, embedding_bytes(t),
							"optimiser state"));
}

static void training_iteration(struct frag_gen *g, struct training *t,
			       struct frag_gen_ids *states)
{
	struct step s = { .t = t, .shape = t->shape };
	uint64_t words;

	s.shape.length = model_length(&t->rng, t->shape.length, t->jitter);
	words = frag_gen_alloc(g, s.shape.batch * s.shape.length * 8, "words");
	training_forward(g, &s);
	training_backward(g, &s);
	optimise(g, t, states);
	frag_gen_free_all(g, &s.gradients);
	frag_gen_free(g, words);
	free(s.kept.ids);
	free(s.inputs.ids);
}

static void training_emit_steps(struct frag_gen *g, struct training *t)
{
	struct frag_gen_ids stays = { .ids = NULL };

	frag_gen_push(g, &stays, frag_gen_alloc(g, embedding_bytes(t), "weight"));
	for (uint64_t l = 0; l < t->layers && frag_gen_going(g); l++)
		model_weights(g, &t->shape, "weight", &stays);
	for (uint64_t i = 0; i < t->iterations && frag_gen_going(g); i++) {
		write_mark(g, "iteration", i);
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
	struct training t = {
		.layers = o[T_LAYERS], .iterations = o[T_ITERATIONS], .checkpoint = o[T_CHECKPOINT],
		.jitter = o[T_JITTER], .vocab = o[T_VOCAB], .rng.state = o[T_SEED],
		.shape = { .hidden = o[T_HIDDEN], .heads = o[T_HEADS], .batch = o[T_BATCH],
			   .length = o[T_LENGTH] },
	};

	training_emit_steps(g, &t);
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

/*
 * Text generation: inference.
 *
 * Each sequence has a cache of keys and one of values a layer. A cache that is
 * full is copied into a larger one, which exists before the old one goes.
 */
struct sequence {
	uint64_t length, room;          /* words so far; words that its caches hold */
	uint64_t left;                  /* words yet to come; 0: none is active */
	struct frag_gen_ids caches;     /* keys and values of each layer */
};

struct serving {
	uint64_t layers, hidden;
	uint64_t requests;              /* yet to come */
	uint64_t concurrent;            /* at once */
	uint64_t prompt, words;         /* the longest prompt and answer */
	uint64_t grow;                  /* words by which a cache grows */
	struct frag_rng rng;
	struct sequence *active;   /* concurrent */
	uint64_t turn;                  /* whose turn it is */
};

/* The weights, which stay. */
static void serving_begin(struct frag_gen *g, struct serving *s)
{
	uint64_t square = s->hidden * s->hidden * ACTIVATION_BYTES;
	static const uint64_t weights[] = { 3, 1, 4, 4 };

	s->active = calloc(s->concurrent, sizeof(*s->active));
	if (!s->active) {
		g->no_memory = true;
		return;
	}
	for (uint64_t l = 0; l < s->layers && frag_gen_going(g); l++)
		for (uint32_t i = 0; i < sizeof(weights) / sizeof(weights[0]); i++)
			frag_gen_alloc(g, weights[i] * square, "weight");
}

/* The tensors of all layers for `words` new words. */
static void pass_layer(struct frag_gen *g, const struct serving *s, uint64_t words)
{
	uint64_t rows = words * s->hidden * ACTIVATION_BYTES;
	uint64_t qkv = frag_gen_alloc(g, 3 * rows, "qkv");
	uint64_t context = frag_gen_alloc(g, rows, "context"), up;

	frag_gen_free(g, qkv);
	up = frag_gen_alloc(g, 4 * rows, "up");
	frag_gen_free(g, context);
	frag_gen_free(g, up);
}

static void inference_start(struct frag_gen *g, struct serving *s, struct sequence *q)
{
	q->length = frag_rng_magnitude(&s->rng, 1, s->prompt);
	q->left = frag_rng_between(&s->rng, 1, s->words);
	q->room = q->length;
	for (uint64_t l = 0; l < s->layers; l++) {
		uint64_t bytes = q->room * s->hidden * ACTIVATION_BYTES;

		frag_gen_push(g, &q->caches, frag_gen_alloc(g, bytes, "keys"));
		frag_gen_push(g, &q->caches, frag_gen_alloc(g, bytes, "values"));
		pass_layer(g, s, q->length);
	}
	s->requests--;
}

static void grow_cache(struct frag_gen *g, const struct serving *s, struct sequence *q,
		       uint64_t which)
{
	uint64_t id = frag_gen_alloc(g, q->room * s->hidden * ACTIVATION_BYTES,
				     which % 2 ? "values" : "keys");

	frag_gen_free(g, q->caches.ids[which]);
	q->caches.ids[which] = id;
}

static void next_word(struct frag_gen *g, const struct serving *s, struct sequence *q)
{
	bool full = q->length == q->room;

	q->length++;
	if (full)
		q->room += s->grow;
	for (uint64_t l = 0; l < s->layers; l++) {
		if (full) {
			grow_cache(g, s, q, 2 * l);
			grow_cache(g, s, q, 2 * l + 1);
		}
		pass_layer(g, s, 1);
	}
	if (--q->left == 0)
		frag_gen_free_all(g, &q->caches);
}

/* One word of one sequence, or the prompt of a new one. False: all is answered. */
static bool serving_step(struct frag_gen *g, struct serving *s)
{
	for (uint64_t tried = 0; tried < s->concurrent && frag_gen_going(g); tried++) {
		struct sequence *q = &s->active[s->turn];

		s->turn = (s->turn + 1) % s->concurrent;
		if (q->left) {
			next_word(g, s, q);
			return true;
		}
		if (s->requests) {
			inference_start(g, s, q);
			return true;
		}
	}
	return false;
}

static void serving_fini(struct serving *s)
{
	for (uint64_t i = 0; s->active && i < s->concurrent; i++)
		free(s->active[i].caches.ids);
	free(s->active);
}

enum {
	S_REQUESTS, S_CONCURRENT, S_LAYERS, S_HIDDEN, S_PROMPT, S_WORDS, S_GROW, S_SEED,
};

static const struct frag_gen_option inference_options[] = {
	COUNT("requests", 50, 1, FRAG_GEN_MAX, "sequences in all"), CONCURRENT, LAYERS(12),
	HIDDEN(768), SERVING(1024, 64, 1), SEED, { 0 },
};

static void inference_emit(struct frag_gen *g)
{
	const uint64_t *o = g->option;
	struct serving s = {
		.layers = o[S_LAYERS], .hidden = o[S_HIDDEN], .requests = o[S_REQUESTS],
		.concurrent = o[S_CONCURRENT], .prompt = o[S_PROMPT], .words = o[S_WORDS],
		.grow = o[S_GROW], .rng.state = o[S_SEED],
	};

	serving_begin(g, &s);
	while (serving_step(g, &s))
		;
	serving_fini(&s);
}

const struct frag_scenario frag_scenario_inference = {
	.name = "inference",
	.summary = "text generation: prompts of varying length, growing caches",
	.options = inference_options,
	.emit = inference_emit,
};

/* A training and a text generation on one device: multitask. */
enum {
	B_ISOLATE, B_ITERATIONS, B_LAYERS, B_HIDDEN, B_BATCH, B_LENGTH, B_JITTER, B_REQUESTS,
	B_CONCURRENT, B_PROMPT, B_WORDS, B_GROW, B_STEPS, B_SEED,
};

enum { TRAINING_POOL = 1, SERVING_POOL = 2 };

struct beside {
	struct serving serving;
	uint64_t steps;         /* of it, for each layer of the training */
};

static void serve(struct frag_gen *g, void *ctx)
{
	struct beside *b = ctx;
	uint64_t pool = g->pool;

	if (g->option[B_ISOLATE])
		g->pool = SERVING_POOL;
	for (uint64_t i = 0; i < b->steps && serving_step(g, &b->serving); i++)
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
	struct training t = {
		.layers = o[B_LAYERS], .iterations = o[B_ITERATIONS], .jitter = o[B_JITTER],
		.vocab = 32000, .rng.state = o[B_SEED], .pause = serve, .ctx = &b,
		.shape = { .hidden = o[B_HIDDEN], .batch = o[B_BATCH], .length = o[B_LENGTH] },
	};

	g->pool = o[B_ISOLATE] ? SERVING_POOL : 0;
	serving_begin(g, &b.serving);
	g->pool = o[B_ISOLATE] ? TRAINING_POOL : 0;
	training_emit_steps(g, &t);
	serving_fini(&b.serving);
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

/*
 * A model in stages, one a device: pipeline, uneven-pipeline.
 *
 * The schedule is "one forward, one backward" (PipeDream-Flush): a stage first
 * runs as many micro-batches forward as there are stages after it, then one
 * forward and one backward in turn, and holds the activations of all that are
 * in progress. The stages take turns; a stage that waits for another stage does nothing.
 */
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

static struct model_shape pipeline_shape_of(const struct pipeline *p, uint64_t m)
{
	const uint64_t *o = p->option;

	return (struct model_shape){
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
	struct model_shape shape = pipeline_shape_of(p, m);
	struct cell *c = &p->cells[s * p->option[P_MICRO_BATCHES] + m];

	c->input = frag_gen_alloc(g, s ? shape_rows(&shape)
				  : shape.batch * shape.length * 8, s ? "received" : "words");
	for (uint64_t l = 0; l < p->stages[s].layers; l++)
		model_forward(g, &shape, &c->kept);
	p->stages[s].forwards++;
}

/* A stage's gradients of weights come with its first backward pass and add up. */
static void weight_gradients(struct frag_gen *g, struct pipeline *p, struct stage *stage)
{
	struct model_shape shape = pipeline_shape_of(p, 0);

	for (uint64_t l = 0; !stage->backwards && l < stage->layers; l++)
		model_weights(g, &shape, "weight gradient", &stage->gradients);
}

static void pipeline_backward(struct frag_gen *g, struct pipeline *p, uint64_t s, uint64_t m)
{
	struct model_shape shape = pipeline_shape_of(p, m);
	struct cell *c = &p->cells[s * p->option[P_MICRO_BATCHES] + m];
	struct stage *stage = &p->stages[s];
	uint64_t gradient;

	gradient = s + 1 == p->option[P_STAGES]
		? model_loss(g, &shape, p->option[P_VOCAB])
		: frag_gen_alloc(g, shape_rows(&shape), "received gradient");
	for (uint64_t l = 0; l < stage->layers; l++)
		gradient = model_backward(g, &shape, gradient, &c->kept);
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
	struct model_shape shape = pipeline_shape_of(p, 0);

	for (uint64_t s = 0; s < p->option[P_STAGES]; s++) {
		struct stage *stage = &p->stages[s];

		g->device = (uint32_t)s;
		for (uint64_t l = 0; l < stage->layers && frag_gen_going(g); l++)
			model_update(g, &shape);
		frag_gen_free_all(g, &stage->gradients);
		stage->forwards = stage->backwards = 0;
	}
}

static void pipeline_iteration(struct frag_gen *g, struct pipeline *p)
{
	const uint64_t *o = p->option;
	bool moved = true;

	for (uint64_t m = 0; m < o[P_MICRO_BATCHES]; m++)
		p->lengths[m] = model_length(&p->rng, o[P_LENGTH], o[P_JITTER]);
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
	struct model_shape shape = pipeline_shape_of(p, 0);

	for (uint64_t s = 0; s < p->option[P_STAGES]; s++) {
		g->device = (uint32_t)s;
		for (uint64_t l = 0; l < p->stages[s].layers && frag_gen_going(g); l++)
			for (uint32_t i = 0; i < 3; i++)
				model_weights(g, &shape, i ? "optimiser state" : "weight", &stays);
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
		write_mark(g, "iteration", i);
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

/*
 * Large tensors that pass and small ones that stay: qkv.
 *
 * A batch makes queries, keys and values in every layer, large, and of each
 * layer keeps a compressed part of the keys and values, small, for the batches
 * to come. Where a batch is shorter than those before it, its large tensors sit
 * in larger blocks and the small ones in what is left of these, so that every
 * segment ends up pinned by a small tensor, and a longer batch fits nowhere.
 */
enum {
	Q_BATCHES, Q_LAYERS, Q_BATCH, Q_LENGTH, Q_JITTER, Q_HIDDEN, Q_COMPRESS, Q_SEED,
};

static const struct frag_gen_option qkv_options[] = {
	COUNT("batches", 60, 1, FRAG_GEN_MAX, "how many batches"), LAYERS(12), BATCH(8, "batch"),
	WORDS_OF(1024), JITTER(40, "batch"), HIDDEN(2048),
	COUNT("compress", 64, 1, LENGTH_MAX, "words that become one in what is kept"), SEED,
	{ 0 },
};

static void qkv_batch(struct frag_gen *g, uint64_t length)
{
	const uint64_t *o = g->option;
	uint64_t word = o[Q_BATCH] * o[Q_HIDDEN] * ACTIVATION_BYTES;
	uint64_t kept = (length + o[Q_COMPRESS] - 1) / o[Q_COMPRESS];
	struct frag_gen_ids pass = { .ids = NULL };

	for (uint64_t l = 0; l < o[Q_LAYERS] && frag_gen_going(g); l++) {
		frag_gen_push(g, &pass, frag_gen_alloc(g, 3 * word * length, "qkv"));
		frag_gen_alloc(g, 2 * word * kept, "kept keys and values");
	}
	frag_gen_free_all(g, &pass);
}

static void qkv_emit(struct frag_gen *g)
{
	const uint64_t *o = g->option;
	struct frag_rng rng = { .state = o[Q_SEED] };

	for (uint64_t i = 0; i < o[Q_BATCHES] && frag_gen_going(g); i++) {
		write_mark(g, "batch", i);
		qkv_batch(g, model_length(&rng, o[Q_LENGTH], o[Q_JITTER]));
	}
}

const struct frag_scenario frag_scenario_qkv = {
	.name = "qkv",
	.summary = "large tensors that pass and small ones that stay, interleaved",
	.options = qkv_options,
	.device = DEVICE(4096, 0, 0),
	.emit = qkv_emit,
};
