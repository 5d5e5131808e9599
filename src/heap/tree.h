/*
 * tree.h - an ordered set of free blocks: a B+-tree over a shared pool of nodes.
 *
 * Three orders: by size, then address; by address; and by a key, then address. In the last two
 * each inner node also stores the size of the largest block below each child, so that one
 * descent finds the first block of at least n bytes. All operations are O(height).
 *
 * By key, an entry stores the key in the place of the size, and the leaf stores the size
 * separately: no order pays for members that it does not need.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/heap.h"

/* A free block as the index sees it. By address it compares as (tie, offset): see tie_break.h. */
struct frag_entry {
	uint64_t size;          /* FRAG_ORDER_KEY: the key */
	uint64_t offset;
	uint32_t tie;
	uint32_t block;
};

#define FRAG_FANOUT 16

struct frag_node {
	uint32_t count;
	bool leaf;
	struct frag_entry low[FRAG_FANOUT];     /* entries; of an inner node, each child's lowest */
	uint64_t largest[FRAG_FANOUT];          /* inner, not by size: largest size below;
						 * leaf by key: the entry's own */
	uint32_t child[FRAG_FANOUT]; /* inner; of an unused node [0] is the next unused */
};

struct frag_nodes {
	struct frag_node *nodes;
	uint32_t used, capacity;
	uint32_t unused;        /* a list of them, 0: none. Node 0 is not used */
	bool reserved;          /* memory for two insertions is reserved; cleared when a node is
				 * taken that was never used */
};

typedef uint32_t frag_root;     /* 0: an empty tree */

bool frag_nodes_init(struct frag_nodes *pool);
void frag_nodes_fini(struct frag_nodes *pool);

/* Of two insertions into trees as high as they can be. */
#define FRAG_TREE_HEIGHT 16     /* a level more takes eight times the insertions: 8^15 of them */
#define FRAG_SPARE_NODES (2 * (FRAG_TREE_HEIGHT + 1))

/*
 * Makes sure that the next two insertions will find the nodes that they need, so
 * that insertion itself cannot fail. False: out of memory.
 */
bool frag_nodes_reserve(struct frag_nodes *pool);
/* The same for n more nodes. */
bool frag_nodes_widen(struct frag_nodes *pool, uint64_t n);

static inline bool frag_entry_before(const struct frag_entry *a, const struct frag_entry *b,
			       enum frag_order order)
{
	if (order != FRAG_ORDER_ADDRESS && a->size != b->size)
		return a->size < b->size;
	if (a->tie != b->tie)
		return a->tie < b->tie;
	return a->offset < b->offset;
}

/* bytes: by key, the size of the entry. */
void frag_tree_insert(struct frag_nodes *pool, frag_root *root, enum frag_order order,
		      const struct frag_entry *e, uint64_t bytes);
/* The entry must be there. */
void frag_tree_remove(struct frag_nodes *pool, frag_root *root, enum frag_order order,
		      const struct frag_entry *e);

/*
 * By address: the block has another size now, and maybe another address, with no third block
 * between the two.
 */
void frag_tree_replace(struct frag_nodes *pool, frag_root root, const struct frag_entry *old,
		       const struct frag_entry *now);
/* By size: ends a tree; its entries, in their order, go to *out. Returns what is after them. */
struct frag_entry *frag_tree_flatten(struct frag_nodes *pool, frag_root root,
				     struct frag_entry *out);

/* In the tree's order the first entry at or after the key, or the last before it; NULL if none. */
const struct frag_entry *frag_tree_near(const struct frag_nodes *pool, frag_root root,
					enum frag_order order, const struct frag_entry *key,
					bool before);

/* By address or key: the first at or after `from` with size >= bytes. */
const struct frag_entry *frag_tree_fit(const struct frag_nodes *pool, frag_root root,
				       enum frag_order order, const struct frag_entry *from,
				       uint64_t bytes);

/* By address or key: the last one with size >= bytes. */
const struct frag_entry *frag_tree_fit_last(const struct frag_nodes *pool, frag_root root,
					    enum frag_order order, uint64_t bytes);

/* By address or key: the largest size in the tree, 0 if empty. */
uint64_t frag_tree_largest(const struct frag_nodes *pool, frag_root root, enum frag_order order);
