/*
 * model.h - the tensors of a transformer, as a training step allocates them.
 *
 * Weights, gradients and optimiser states are float32; activations take 2 bytes
 * an element. A layer of hidden size H over batch B and length L has the weights
 * 3HH, HH, 4HH, 4HH and 4H (norms), and in its forward pass the parts of the
 * table in model.c: multiples of BLH, and of B*heads*LL for the attention
 * scores, which fused attention (heads 0) does not have.
 */
#ifndef GEN_MODEL_H
#define GEN_MODEL_H

#include "gen/gen.h"

#define FRAG_LAYER_WEIGHTS 5
#define FRAG_WEIGHT_BYTES 4     /* of one number: weights, gradients, optimiser states */
#define FRAG_ACTIVATION_BYTES 2

/* Bounds that keep every size below 2^53. */
#define FRAG_LENGTH_MAX 32768
#define FRAG_BATCH_MAX 1024
#define FRAG_HEADS_MAX 128
#define FRAG_HIDDEN_MAX 65536
#define FRAG_VOCAB_MAX 1048576

struct frag_model_shape {
	uint64_t hidden, heads, batch, length;
};

/* Bytes of one BLH activation. */
uint64_t frag_shape_rows(const struct frag_model_shape *s);

/* The five weights of a layer, or whatever is shaped like them (gradients). */
void frag_model_weights(struct frag_gen *g, const struct frag_model_shape *s, const char *tag,
			struct frag_gen_ids *ids);

/* Allocates and frees one buffer of the size of each weight, in turn. */
void frag_model_update(struct frag_gen *g, const struct frag_model_shape *s);

/* A layer forward; what backward needs is pushed on kept, the layer's output last. */
void frag_model_forward(struct frag_gen *g, const struct frag_model_shape *s,
			struct frag_gen_ids *kept);

/*
 * A layer backward: pops and frees what forward kept, and the gradient that
 * comes in; gives the gradient that goes out.
 */
uint64_t frag_model_backward(struct frag_gen *g, const struct frag_model_shape *s,
			     uint64_t gradient, struct frag_gen_ids *kept);

/*
 * The logits of vocab words, their float32 copy and the loss, forward and
 * backward; gives the gradient of the last layer's output.
 */
uint64_t frag_model_loss(struct frag_gen *g, const struct frag_model_shape *s, uint64_t vocab);

/* A length that is up to `jitter` percent shorter or longer, at least 1. */
uint64_t frag_model_length(struct frag_rng *rng, uint64_t length, uint64_t jitter);

#endif
