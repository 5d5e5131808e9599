/*
 * block_classes.h - classifies the blocks of a memory state: their ids, free steps and classes.
 *
 * The categories of a memory timeline, where all tags are of them, are the classes. In a recording
 * with stacks the stacks decide (block_makers.h). Otherwise marks and lifetimes do:
 *
 * Where marks repeat, except digits in their names, each with the name of the first of those
 * begins an iteration. A block is a *weight*, or another long-lived one, if it is allocated
 * before the first iteration and is freed after the beginning of the second, or never. It is
 * *long-lived* if it is allocated later and outlives two beginnings, or one and is never freed.
 * The *optimizer* state is the long-lived blocks that are allocated in an optimizer step. That
 * lasts from a mark with the word "opt", or one that begins with "optim", to the next mark. In a
 * trace without such marks it is the blocks of a weight's size that one iteration allocates, the
 * one with most such bytes, if they total at least half of the weights. A block is *temporary*
 * where it is freed within a hundredth of an iteration's steps, or eight; and an *activation*
 * else. Without marks that repeat the trace counts as one iteration: then a block is a weight if
 * it is allocated for half of the steps, or is allocated in the first tenth and never freed. A
 * block that a recording begins with is older than all others, and no temporary.
 */
#pragma once

#include "compaction/memory_state.h"
#include "fragsim/engine.h"

enum frag_life_class {
	FRAG_LIFE_WEIGHTS, FRAG_LIFE_GRADIENTS, FRAG_LIFE_OPTIMIZER, FRAG_LIFE_LONG,
	FRAG_LIFE_ACTIVATIONS, FRAG_LIFE_TEMPORARIES, FRAG_LIFE_WORKSPACES, FRAG_LIFE_INPUTS, FRAG_LIFE_KV,
	FRAG_LIFE_OTHER,
	FRAG_LIFE_UNKNOWN,
	FRAG_LIFE_CLASSES
};

/* The workspace that PyTorch gives each handle of cuBLAS, of :4096:2:16:8. */
#define FRAG_CUBLAS_WORKSPACE ((2 * 4096 + 8 * 16) << 10)

/* What a class is based on. */
enum frag_class_evidence {
	FRAG_EVIDENCE_NONE,             /* the class is unknown */
	FRAG_EVIDENCE_CATEGORIES,       /* the file states it: the categories of a memory timeline */
	FRAG_EVIDENCE_POOL,             /* its private pool: lifetimes there show nothing */
	FRAG_EVIDENCE_STACK,            /* the frames of the block's stack */
	FRAG_EVIDENCE_MARKS,            /* marks of iterations and of the optimizer */
	FRAG_EVIDENCE_SIZES,            /* sizes that repeat */
	FRAG_EVIDENCE_LIFETIME,         /* the block's lifetime alone */
};
extern const char *const frag_class_evidence_names[];   /* NULL for NONE, "stack", ..., NULL */
extern const char *const frag_life_class_names[];       /* "weights", ..., ended by NULL */

struct frag_lifetime {
	char *id;               /* as JSON; NULL: none */
	uint64_t freed;         /* step; UINT64_MAX: never in this trace */
	enum frag_life_class life;
	enum frag_class_evidence evidence;
	uint8_t purpose;        /* enum frag_purpose */
	uint8_t maker;          /* enum frag_maker, or FRAG_MAKER_BEFORE of block_makers.h */
	bool workspace;         /* a library requested it for its kernels */
	bool initial;           /* allocated before the first step; its allocation step is
				 * unknown */
};

/* One for each block of the memory state. */
struct frag_lifetimes {
	struct frag_lifetime *of;
	uint32_t count;
};

/* Step at which block i was allocated; 0: before the first. */
static inline uint64_t frag_birth(const struct frag_lifetimes *lifetimes,
				  const struct frag_memory_state *memory, uint32_t i)
{
	return lifetimes->of[i].initial ? 0 : memory->blocks[i].birth;
}

/*
 * Reads the tape once. every: the blocks are not those of a moment, but all that the tape allocates,
 * in their order. Free what it fills in, each id too, also where it fails. -FRAG_ENOMEM
 */
int frag_lifetimes_find(struct frag_lifetimes *lifetimes, const struct frag_memory_state *memory,
			bool every, const struct frag_tape *tape, struct frag_error *err);
