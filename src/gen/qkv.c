/*
 * qkv.c - large tensors that pass and small ones that stay, interleaved.
 *
 * A batch makes queries, keys and values in every layer, large, and of each
 * layer keeps a compressed part of the keys and values, small, for the batches
 * to come. Where a batch is shorter than those before it, its large tensors sit
 * in larger blocks and the small ones in what is left of these, so that every
 * segment ends up pinned by a small tensor, and a longer batch fits nowhere.
 */
#include "gen/model.h"
#include "gen/scenarios.h"

enum { BATCHES, LAYERS, BATCH, LENGTH, JITTER, HIDDEN, COMPRESS, SEED };

static const struct frag_device_figures four_gib = {
	.total = UINT64_C(4) << 30, .granularity = 2 << 20,
};

static const struct frag_gen_option qkv_options[] = {
	{ "batches", FRAG_GEN_COUNT, 60, 1, FRAG_GEN_MAX, "how many batches", NULL },
	{ "layers", FRAG_GEN_COUNT, 12, 1, 10000, "layers of the model", NULL },
	{ "batch", FRAG_GEN_COUNT, 8, 1, FRAG_BATCH_MAX, "sequences a batch", NULL },
	{ "length", FRAG_GEN_COUNT, 1024, 1, FRAG_LENGTH_MAX, "words a sequence", NULL },
	{ "jitter", FRAG_GEN_COUNT, 40, 0, 99, "percent by which a batch is shorter or longer",
	  NULL },
	{ "hidden", FRAG_GEN_COUNT, 2048, 1, FRAG_HIDDEN_MAX, "hidden size", NULL },
	{ "compress", FRAG_GEN_COUNT, 64, 1, FRAG_LENGTH_MAX,
	  "words that become one in what is kept", NULL },
	{ "seed", FRAG_GEN_COUNT, 1, 0, FRAG_GEN_MAX, "where the random numbers begin", NULL },
	{ 0 },
};

static void batch(struct frag_gen *g, uint64_t length)
{
	const uint64_t *o = g->option;
	uint64_t word = o[BATCH] * o[HIDDEN] * FRAG_ACTIVATION_BYTES;
	uint64_t kept = (length + o[COMPRESS] - 1) / o[COMPRESS];
	struct frag_gen_ids pass = { .ids = NULL };

	for (uint64_t l = 0; l < o[LAYERS] && frag_gen_going(g); l++) {
		frag_gen_push(g, &pass, frag_gen_alloc(g, 3 * word * length, "qkv"));
		frag_gen_alloc(g, 2 * word * kept, "kept keys and values");
	}
	frag_gen_free_all(g, &pass);
}

static void qkv_emit(struct frag_gen *g)
{
	const uint64_t *o = g->option;
	struct frag_rng rng = { .state = o[SEED] };

	for (uint64_t i = 0; i < o[BATCHES] && frag_gen_going(g); i++) {
		frag_gen_mark(g, "batch", i);
		batch(g, frag_model_length(&rng, o[LENGTH], o[JITTER]));
	}
}

const struct frag_scenario frag_scenario_qkv = {
	.name = "qkv",
	.summary = "large tensors that pass and small ones that stay, interleaved",
	.options = qkv_options,
	.device = &four_gib,
	.emit = qkv_emit,
};
