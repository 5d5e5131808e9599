/* serving.h - text generation whose caches grow, alone or beside another task. */
#ifndef GEN_SERVING_H
#define GEN_SERVING_H

#include "gen/model.h"

struct frag_sequence {
	uint64_t length, room;          /* words so far; words that its caches hold */
	uint64_t left;                  /* words yet to come; 0: none is active */
	struct frag_gen_ids caches;     /* keys and values of each layer */
};

struct frag_serving {
	uint64_t layers, hidden;
	uint64_t requests;              /* yet to come */
	uint64_t concurrent;            /* at a time */
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
