/* training.h - training steps of a transformer, alone or concurrently with another task. */
#pragma once

#include "gen/transformer.h"

struct frag_training {
	uint64_t layers, iterations;
	uint64_t checkpoint;    /* layers between kept inputs; 0: all is kept */
	uint64_t jitter;        /* percent of the length */
	uint64_t vocab;
	struct frag_model_shape shape;
	struct frag_rng rng;
	/* optional: after each layer, forward or backward */
	void (*pause)(struct frag_gen *g, void *ctx);
	void *ctx;
};

/* The weights, then all iterations. */
void frag_training_emit(struct frag_gen *g, struct frag_training *t);
