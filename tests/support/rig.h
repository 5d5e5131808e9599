/* rig.h - a heap on a device of its own, for tests of the verbs. */
#pragma once

#include "fragsim/device.h"
#include "fragsim/heap.h"
#include "support/unit.h"

/* More than any handle that a test makes. */
#define NO_SUCH 1000000

struct rig {
	struct frag_device dev;
	struct frag_heap *heap;
	frag_list list;         /* of pool 0, which 0 */
};

/* The faulty device, which keeps a table, with this capacity and granularity. */
void rig_begin(struct rig *r, uint64_t total, uint64_t granularity,
	       enum frag_order order);

/* Deletes the heap, closes the device; everything must have been given back. */
void rig_end(struct rig *r);

/* Setup and teardown of a test: *state is a rig without a capacity, its lists by size. */
int rig_setup(void **state);
int rig_teardown(void **state);

/* All invariants hold. */
void rig_check(const struct rig *r);

/* Each of these must succeed, and leaves a heap that rig_check() finds right. */
frag_block rig_grow(struct rig *r, uint64_t bytes);
frag_block rig_take(struct rig *r, frag_block b, uint64_t requested, uint64_t keep);
frag_block rig_give(struct rig *r, frag_block b);

/* rc must be -FRAG_EPOLICY, with a reason, and the heap unharmed. */
void rig_refuses(const struct rig *r, int rc);

/* The block's place, size and state are just these. */
void rig_expect(const struct rig *r, frag_block b, uint64_t offset, uint64_t bytes,
		enum frag_state state);
