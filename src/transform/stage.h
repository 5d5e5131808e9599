/*
 * stage.h - the changes of a trace behind one another: each takes records, and gives others to
 * the next.
 *
 * Ids may be used again, so blocks have numbers here, which are not. A block that a change adds
 * has a new id too: numbers from 2^53 - 1 downwards that the trace does not use.
 */
#pragma once

#include "base/hash.h"
#include "transform/changed_trace.h"
#include "transform/record_buffer.h"

struct frag_chain;
struct frag_stage;

/* Items emitted by put() borrow their texts until the next read from the chain. */
struct frag_stage_ops {
	size_t state_size;
	bool (*init)(struct frag_stage *s);     /* optional. False: out of memory */
	int  (*put)(struct frag_stage *s, const struct frag_item *item, struct frag_error *err);
	/*
	 * optional: emits about `max` of the buffered items. 1: call it again for more. Called
	 * between puts too; after `ended` is set, put() is not called again.
	 */
	int  (*drain)(struct frag_stage *s, uint32_t max, struct frag_error *err);
	void (*fini)(struct frag_stage *s);     /* optional */
};

struct frag_stage {
	const struct frag_stage_ops *ops;
	const struct frag_program_change *change;
	struct frag_chain *chain;
	const char *path;               /* what messages call the trace */
	struct frag_stage *next;        /* NULL: what it gives comes out of the chain */
	bool ended;
	bool fits;                      /* the glob fits a block's tag, the mark is there */
	bool at_mark;                   /* one of the marks, or iterations, is there */
	bool changes;                   /* anything at all */
	void *state;
};

extern const struct frag_stage_ops frag_stage_lives, frag_stage_sizes, frag_stage_isolate,
	frag_stage_warmup, frag_stage_preallocate, frag_stage_prime_pool, frag_stage_operation,
	frag_stage_park;

/* Gives an item to the stage behind. */
int frag_stage_emit(struct frag_stage *s, const struct frag_item *item, struct frag_error *err);

/* Does it refer to a block that is there already? */
static inline bool frag_item_refers(const struct frag_item *item)
{
	return item->rec.op == FRAG_OP_FREE || item->rec.op == FRAG_OP_COMPLETE
	       || item->rec.op == FRAG_OP_RECORD_STREAM;
}

/* The conditions of the change; notes whether its glob fits a tag. */
bool frag_stage_fits(struct frag_stage *s, const struct frag_item *item);

/*
 * Stores a number for a new block, and an unused id. -FRAG_ENOMEM, -FRAG_ETRACE
 * after 2^32 - 2 blocks.
 */
int frag_chain_block(struct frag_chain *chain, uint32_t *block, struct frag_error *err);
int frag_chain_id(struct frag_chain *chain, uint32_t block, struct frag_error *err);
/* Gives the item its block's new id, where it has one. */
void frag_chain_name(const struct frag_chain *chain, struct frag_item *item);
