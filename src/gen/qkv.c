/*
 * qkv.c - large tensors that pass and small ones that stay: the scenario qkv.
 *
 * A batch makes queries, keys and values in every layer, large, and of each
 * layer keeps a compressed part of the keys and values, small, for the batches
 * to come. Where a batch is shorter than those before it, its large tensors sit
 * in larger blocks and the small ones in what is left of these, so that every
 * segment ends up pinned by a small tensor, and a longer batch fits nowhere.
 */
#include "gen/scenario_options.h"
#include "gen/transformer.h"

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
		frag_gen_write_mark(g, "batch", i);
		qkv_batch(g, frag_model_length(&rng, o[Q_LENGTH], o[Q_JITTER]));
	}
}

const struct frag_scenario frag_scenario_qkv = {
	.name = "qkv",
	.summary = "large tensors that pass and small ones that stay, interleaved",
	.options = qkv_options,
	.device = DEVICE(4096, 0, 0),
	.emit = qkv_emit,
};
