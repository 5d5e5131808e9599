/* training.h - training steps of a transformer, alone or beside another task. */
#ifndef GEN_TRAINING_H
#define GEN_TRAINING_H

#include "gen/model.h"

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

void frag_training_emit(struct frag_gen *g, struct frag_training *t);

#endif
