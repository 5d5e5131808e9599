/* transformer.c - a transformer's layers: the bytes of each tensor, and the events of each pass. */
#include "gen/transformer.h"

#include <stdio.h>

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

void frag_gen_write_mark(struct frag_gen *g, const char *word, uint64_t number)
{
	struct frag_record rec = { .members = FRAG_HAS_OP | FRAG_HAS_NAME, .op = FRAG_OP_MARK };
	char name[64];

	rec.text.length = (uint32_t)snprintf(name, sizeof(name), "%s %llu", word,
					     (unsigned long long)number);
	rec.text.text = name;
	frag_gen_write(g, &rec);
}

uint64_t frag_model_row_bytes(const struct frag_model_shape *s)
{
	return s->batch * s->length * s->hidden * ACTIVATION_BYTES;
}

static uint64_t part_bytes(const struct part *part, const struct frag_model_shape *s)
{
	if (part->square)
		return part->times * s->batch * s->heads * s->length * s->length
		       * ACTIVATION_BYTES;
	return part->times * frag_model_row_bytes(s);
}

uint64_t frag_model_weight_bytes(const struct frag_model_shape *s, uint32_t which)
{
	static const uint64_t squares[LAYER_WEIGHTS] = { 3, 1, 4, 4, 0 };

	if (squares[which])
		return squares[which] * s->hidden * s->hidden * WEIGHT_BYTES;
	return 4 * s->hidden * WEIGHT_BYTES;
}

void frag_model_weights(struct frag_gen *g, const struct frag_model_shape *s, const char *tag,
			struct frag_gen_ids *ids)
{
	for (uint32_t i = 0; i < LAYER_WEIGHTS; i++)
		frag_gen_push(g, ids, frag_gen_alloc(g, frag_model_weight_bytes(s, i), tag));
}

void frag_model_update(struct frag_gen *g, const struct frag_model_shape *s)
{
	for (uint32_t i = 0; i < LAYER_WEIGHTS; i++)
		frag_gen_free(g, frag_gen_alloc(g, frag_model_weight_bytes(s, i), "update"));
}

void frag_model_forward(struct frag_gen *g, const struct frag_model_shape *s,
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

uint64_t frag_model_backward(struct frag_gen *g, const struct frag_model_shape *s,
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

uint64_t frag_model_loss(struct frag_gen *g, const struct frag_model_shape *s, uint64_t vocab)
{
	uint64_t bytes = s->batch * s->length * vocab * ACTIVATION_BYTES;
	uint64_t logits = frag_gen_alloc(g, bytes, "logits");
	uint64_t copy = frag_gen_alloc(g, 2 * bytes, "log softmax");
	uint64_t loss = frag_gen_alloc(g, 4, "loss");
	uint64_t gradient = frag_gen_alloc(g, bytes, "gradient"), out;

	frag_gen_free(g, copy);
	frag_gen_free(g, logits);
	out = frag_gen_alloc(g, frag_model_row_bytes(s), "gradient");
	frag_gen_free(g, gradient);
	frag_gen_free(g, loss);
	return out;
}

uint64_t frag_model_length(struct frag_rng *rng, uint64_t length, uint64_t jitter)
{
	uint64_t spread = length * jitter / 100;
	uint64_t min = length - spread;

	return frag_rng_between(rng, min ? min : 1, length + spread);
}
