/* workload.c - made-up programs, as a stream of allocations and frees. */
#include "crossing/bench/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"

#define NO_HOLE UINT32_MAX
#define CHURNED 1000            /* one size: blocks that come and go */
#define ONE_BYTES 4096
#define HOLE_DOUBLINGS 14       /* from 512 B on */
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Below n. */
static uint32_t pick(struct bench_workload *w, uint32_t n)
{
	return (uint32_t)((splitmix64(&w->random) >> 32) * n >> 32);
}

bool bench_workload_init(struct bench_workload *w, const struct bench_spec *spec)
{
	*w = (struct bench_workload){ .spec = *spec, .random = 1, .hole = NO_HOLE };
	w->held = calloc(spec->live > CHURNED ? spec->live : CHURNED, sizeof(*w->held));
	return w->held != NULL;
}

void bench_workload_fini(struct bench_workload *w)
{
	free(w->held);
	w->held = NULL;
}

static void alloc(struct bench_workload *w, struct bench_op *op, uint64_t bytes,
		  struct bench_held *held)
{
	op->bytes = bytes;
	op->id = (uint32_t)w->allocs++;
	*held = (struct bench_held){ .bytes = bytes, .id = op->id };
	w->requested += bytes;
	if (w->requested > w->peak)
		w->peak = w->requested;
}

static void release(struct bench_workload *w, struct bench_op *op, const struct bench_held *held)
{
	op->bytes = 0;
	op->id = held->id;
	w->requested -= held->bytes;
}

static uint64_t log_uniform(uint64_t *random, double doublings)
{
	double u = (double)(splitmix64(random) >> 11) / 9007199254740992.0;

	return (uint64_t)(512 * exp2(u * doublings));
}

/* Of a block between whose like the holes are: its id tells, so nobody need remember. */
static uint64_t hole_bytes(const struct bench_workload *w, uint64_t id)
{
	uint64_t random = id;

	return w->spec.shape == BENCH_ONE_SIZE ? ONE_BYTES : log_uniform(&random, HOLE_DOUBLINGS);
}

/* Up to n blocks, then by turns a random one goes and another one comes. */
static void churn(struct bench_workload *w, struct bench_op *op, uint32_t n)
{
	struct bench_held *held;

	if (w->held_count == n && w->hole == NO_HOLE) {
		w->hole = pick(w, n);
		release(w, op, &w->held[w->hole]);
		return;
	}
	held = w->held_count < n ? &w->held[w->held_count++] : &w->held[w->hole];
	w->hole = NO_HOLE;
	alloc(w, op, w->spec.shape == BENCH_RANDOM ? log_uniform(&w->random, 17)
						   : hole_bytes(w, w->allocs), held);
}

/* The sizes of a small transformer's layer: batch 8, 512 tokens, width 768. */
static const uint64_t weights[] = { 7077888, 9216, 2359296, 3072, 9437184, 12288 };
static const uint64_t activations[] = {
	12582912, 16384, 16384, 37748736, 12582912, 196608, 12582912, 50331648, 50331648, 1048576,
};
static const uint64_t temporaries[] = { 12582912, 512, 50331648, 25165824, 4096 };

static uint32_t tag_of(uint64_t iteration, bool backward, uint64_t layer)
{
	return (uint32_t)(iteration << 5 | (uint64_t)backward << 4 | (1 + layer % 15));
}

/*
 * A forward step makes a temporary, then an activation that stays, and frees the
 * temporary; a backward step frees the activation in the middle. Three events
 * each; backward goes through them in reverse.
 */
static void training_step(struct bench_workload *w, struct bench_op *op, uint32_t layers)
{
	uint64_t step = w->turn / 3, at = step % layers;
	bool backward = step / layers % 2 != 0;
	uint32_t layer = (uint32_t)(backward ? layers - 1 - at : at);

	op->tag = tag_of(step / layers / 2, backward, layer);
	switch (w->turn++ % 3) {
	case 0:
		alloc(w, op, temporaries[layer % LENGTH(temporaries)], &w->temporary);
		break;
	case 1:
		if (backward)
			release(w, op, &w->held[layer]);
		else
			alloc(w, op, activations[layer % LENGTH(activations)], &w->held[layer]);
		break;
	default:
		release(w, op, &w->temporary);
		break;
	}
}

static void training(struct bench_workload *w, struct bench_op *op)
{
	uint32_t persistent = w->spec.live / 5;
	struct bench_held stays;

	if (w->made >= persistent) {
		training_step(w, op, w->spec.live - persistent - 1);
		return;
	}
	op->tag = tag_of(0, false, 14);
	alloc(w, op, weights[w->made % LENGTH(weights)], &stays);
}

/* Ids count up from 0 with the allocs, so every other block is every odd id. */
static void holes(struct bench_workload *w, struct bench_op *op)
{
	uint64_t all = 2 * (uint64_t)w->spec.live;
	struct bench_held held;

	if (w->made < all) {
		alloc(w, op, hole_bytes(w, w->allocs), &held);
	} else if (w->made < bench_prelude(&w->spec)) {
		held.id = (uint32_t)(2 * (w->made - all) + 1);
		held.bytes = hole_bytes(w, held.id);
		release(w, op, &held);
	} else {
		churn(w, op, CHURNED);
	}
}

bool bench_workload_next(struct bench_workload *w, struct bench_op *op)
{
	if (w->made == w->spec.events)
		return false;
	*op = (struct bench_op){ .t = (uint32_t)w->made * 7 };
	switch (w->spec.shape) {
	case BENCH_RANDOM:
		churn(w, op, w->spec.live);
		break;
	case BENCH_TRAINING:
		training(w, op);
		break;
	case BENCH_ONE_SIZE:
	case BENCH_HOLES:
		holes(w, op);
		break;
	}
	w->made++;
	return true;
}

uint64_t bench_prelude(const struct bench_spec *spec)
{
	return spec->shape == BENCH_ONE_SIZE || spec->shape == BENCH_HOLES
	       ? 3 * (uint64_t)spec->live : 0;
}

char *bench_tag(char *p, uint32_t tag)
{
	static const char *const names[] = {
		"aten.addmm.default", "aten.native_layer_norm.default", "aten.bmm.default",
		"aten._softmax.default", "aten.gelu.default", "aten.add.Tensor",
		"aten.embedding.default", "aten.mul.Tensor", "aten.native_dropout.default",
		"aten.clone.default", "aten.sum.dim_IntList", "aten.mm.default",
		"aten._log_softmax.default", "aten.empty.memory_format", "aten.div.Tensor",
	};
	const char *name = names[(tag & 15) - 1];
	size_t length = strlen(name);

	memcpy(p, name, length);
	p += length;
	memcpy(p, " | step", 7);
	p = frag_put_u64(p + 7, tag >> 5);
	memcpy(p, tag & 16 ? " bwd" : " fwd", 4);
	return p + 4;
}
