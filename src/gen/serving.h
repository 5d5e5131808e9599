/*
 * serving.h - text generation: each call generates one word of one sequence.
 *
 * Each sequence has a cache of keys and one of values a layer. A cache that is
 * full is copied into a larger one, which exists before the old one goes.
 */
#pragma once

#include "gen/transformer.h"

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

/* The weights, which stay, and the table of sequences. */
void frag_serving_begin(struct frag_gen *g, struct frag_serving *s);

/* One word of the sequence whose turn it is; false where all requests are done. */
bool frag_serving_step(struct frag_gen *g, struct frag_serving *s);

void frag_serving_fini(struct frag_serving *s);
