/*
 * workload.h - made-up programs, as a stream of allocations and frees.
 *
 * The same seed makes the same stream, so a file, a replay and a check each walk
 * through it anew and nothing of it need be kept.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum bench_shape {
	BENCH_RANDOM,           /* log-uniform sizes of 512 B to 64 MiB, random frees */
	BENCH_TRAINING,         /* persistent, forward, backward in reverse, temporaries */
	BENCH_ONE_SIZE,         /* one size only: twice as many blocks, every other one freed,
				 * then by turns an alloc and a free in the gaps */
	BENCH_HOLES,            /* the same with sizes of 512 B to 8 MiB, each its own */
};

struct bench_spec {
	enum bench_shape shape;
	uint32_t live;          /* most blocks at a time; of the last two: free ones */
	uint64_t events;
};

struct bench_op {
	uint64_t bytes;         /* 0: a free */
	uint32_t id;
	uint32_t t;             /* microseconds */
	uint32_t tag;           /* for bench_tag(); 0: none */
};

struct bench_held {
	uint64_t bytes;
	uint32_t id;
};

struct bench_workload {
	struct bench_spec spec;
	uint64_t made;          /* events so far */
	uint64_t allocs;        /* of them */
	uint64_t requested, peak;       /* bytes, live now and at most */
	uint64_t random;        /* state of the generator of random numbers */
	struct bench_held *held;        /* what is live and may be freed */
	uint32_t held_count;
	struct bench_held temporary;
	uint32_t hole;          /* place in held that is empty; UINT32_MAX: none */
	uint64_t turn;          /* training: since the persistent blocks are made */
};

/* False where memory is short. */
bool bench_workload_init(struct bench_workload *w, const struct bench_spec *spec);
void bench_workload_fini(struct bench_workload *w);

/* False at the end. */
bool bench_workload_next(struct bench_workload *w, struct bench_op *op);

/* Events that only lead up to what is to be measured: none of the first two. */
uint64_t bench_prelude(const struct bench_spec *spec);

/* Writes the text of a tag and returns the place after it. */
#define BENCH_TAG_ROOM 64
char *bench_tag(char *p, uint32_t tag);
