/* serving.c - text generation: the scenario inference. */
#include "gen/serving.h"

#include <stdlib.h>

#include "gen/scenario_options.h"

/* The weights, which stay. */
void frag_serving_begin(struct frag_gen *g, struct frag_serving *s)
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
static void pass_layer(struct frag_gen *g, const struct frag_serving *s, uint64_t words)
{
	uint64_t rows = words * s->hidden * ACTIVATION_BYTES;
	uint64_t qkv = frag_gen_alloc(g, 3 * rows, "qkv");
	uint64_t context = frag_gen_alloc(g, rows, "context"), up;

	frag_gen_free(g, qkv);
	up = frag_gen_alloc(g, 4 * rows, "up");
	frag_gen_free(g, context);
	frag_gen_free(g, up);
}

static void inference_start(struct frag_gen *g, struct frag_serving *s, struct frag_sequence *q)
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

static void grow_cache(struct frag_gen *g, const struct frag_serving *s, struct frag_sequence *q,
		       uint64_t which)
{
	uint64_t id = frag_gen_alloc(g, q->room * s->hidden * ACTIVATION_BYTES,
				     which % 2 ? "values" : "keys");

	frag_gen_free(g, q->caches.ids[which]);
	q->caches.ids[which] = id;
}

static void next_word(struct frag_gen *g, const struct frag_serving *s, struct frag_sequence *q)
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
bool frag_serving_step(struct frag_gen *g, struct frag_serving *s)
{
	for (uint64_t tried = 0; tried < s->concurrent && frag_gen_going(g); tried++) {
		struct frag_sequence *q = &s->active[s->turn];

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

void frag_serving_fini(struct frag_serving *s)
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
	struct frag_serving s = {
		.layers = o[S_LAYERS], .hidden = o[S_HIDDEN], .requests = o[S_REQUESTS],
		.concurrent = o[S_CONCURRENT], .prompt = o[S_PROMPT], .words = o[S_WORDS],
		.grow = o[S_GROW], .rng.state = o[S_SEED],
	};

	frag_serving_begin(g, &s);
	while (frag_serving_step(g, &s))
		;
	frag_serving_fini(&s);
}

const struct frag_scenario frag_scenario_inference = {
	.name = "inference",
	.summary = "text generation: prompts of varying length, growing caches",
	.options = inference_options,
	.emit = inference_emit,
};
