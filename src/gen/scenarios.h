/* scenarios.h - the tables of all scenarios, by name. */
#ifndef GEN_SCENARIOS_H
#define GEN_SCENARIOS_H

#include "gen/gen.h"
#include "gen/model.h"

extern const struct frag_scenario frag_scenario_alternating;
extern const struct frag_scenario frag_scenario_append_leak;
extern const struct frag_scenario frag_scenario_checkpointing;
extern const struct frag_scenario frag_scenario_grow;
extern const struct frag_scenario frag_scenario_inference;
extern const struct frag_scenario frag_scenario_mib_plus_one;
extern const struct frag_scenario frag_scenario_min_block;
extern const struct frag_scenario frag_scenario_multitask;
extern const struct frag_scenario frag_scenario_one_float;
extern const struct frag_scenario frag_scenario_one_tensor;
extern const struct frag_scenario frag_scenario_pipeline;
extern const struct frag_scenario frag_scenario_qkv;
extern const struct frag_scenario frag_scenario_random;
extern const struct frag_scenario frag_scenario_rebind;
extern const struct frag_scenario frag_scenario_six_tensors;
extern const struct frag_scenario frag_scenario_small_after_large;
extern const struct frag_scenario frag_scenario_tiny;
extern const struct frag_scenario frag_scenario_training;
extern const struct frag_scenario frag_scenario_two_mib;
extern const struct frag_scenario frag_scenario_uneven_pipeline;

/* Training steps of a transformer, alone or concurrently with another task. */
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

/* Text generation whose caches grow, alone or concurrently with another task. */
struct frag_sequence {
	uint64_t length, room;          /* words so far; words that its caches hold */
	uint64_t left;                  /* words yet to come; 0: none is active */
	struct frag_gen_ids caches;     /* keys and values of each layer */
};

struct frag_serving {
	uint64_t layers, hidden;
	uint64_t requests;              /* yet to come */
	uint64_t concurrent;            /* at once */
	uint64_t prompt, words;         /* the longest prompt and answer */
	uint64_t grow;                  /* words by which a cache grows */
	struct frag_rng rng;
	struct frag_sequence *active;   /* concurrent */
	uint64_t turn;                  /* whose turn it is */
};

/* The weights, which stay. */
void frag_serving_begin(struct frag_gen *g, struct frag_serving *s);

/* One word of one sequence, or the prompt of a new one. False: all is answered. */
bool frag_serving_step(struct frag_gen *g, struct frag_serving *s);

void frag_serving_fini(struct frag_serving *s);

#endif
