/*
 * transformer.h - a transformer's layers: the bytes of each tensor, and the events of each pass.
 *
 * Weights, gradients and optimiser states are float32; activations take 2 bytes
 * an element. A layer of hidden size H over batch B and length L has the weights
 * 3HH, HH, 4HH, 4HH and 4H (norms), and in its forward pass the parts of the
 * table in transformer.c: multiples of BLH, and of B*heads*LL for the attention
 * scores, which fused attention (heads 0) does not have.
 */
#pragma once

#include "gen/gen.h"

#define LAYER_WEIGHTS 5
#define WEIGHT_BYTES 4     /* of one number: weights, gradients, optimiser states */
#define ACTIVATION_BYTES 2

struct frag_model_shape {
	uint64_t hidden, heads, batch, length;
};

/* A mark: "iteration 3". */
void frag_gen_write_mark(struct frag_gen *g, const char *word, uint64_t number);

/* Bytes of one BLH activation. */
uint64_t frag_model_row_bytes(const struct frag_model_shape *s);

/* Bytes of the weight `which`, below LAYER_WEIGHTS. */
uint64_t frag_model_weight_bytes(const struct frag_model_shape *s, uint32_t which);

/* The five weights of a layer, or whatever is shaped like them (gradients). */
void frag_model_weights(struct frag_gen *g, const struct frag_model_shape *s, const char *tag,
		   struct frag_gen_ids *ids);

/* Allocates and frees one buffer of the size of each weight, in turn. */
void frag_model_update(struct frag_gen *g, const struct frag_model_shape *s);

/* A layer forward; what backward needs is pushed on kept, the layer's output last. */
void frag_model_forward(struct frag_gen *g, const struct frag_model_shape *s, struct frag_gen_ids *kept);

/*
 * A layer backward: pops and frees what forward kept, and the gradient that comes in; returns the
 * gradient that goes out.
 */
uint64_t frag_model_backward(struct frag_gen *g, const struct frag_model_shape *s, uint64_t gradient,
			struct frag_gen_ids *kept);

/*
 * The logits of vocab words, their float32 copy and the loss, forward and backward; returns the
 * gradient of the last layer's output.
 */
uint64_t frag_model_loss(struct frag_gen *g, const struct frag_model_shape *s, uint64_t vocab);

/* A length that is up to `jitter` percent shorter or longer, at least 1. */
uint64_t frag_model_length(struct frag_rng *rng, uint64_t length, uint64_t jitter);
