/*
 * tree.h - an ordered set of free blocks: a B-tree over a shared pool of nodes.
 *
 * Three orders: by size, then address; by address; and by a key, then address. In the last two
 * each inner node also stores the size of the largest block below each child, so that one
 * descent finds the first block of at least n bytes. All operations are O(log n).
 *
 * By key, an entry stores the key in the place of the size, and the leaf stores the size
 * separately: no order pays for members that it does not need.
 */
#ifndef HEAP_TREE_H
#define HEAP_TREE_H

#include <stdbool.h>
#include <stdint.h>

/* A free block as the index sees it. (ordinal, offset) is its address. */
struct frag_entry {
	uint64_t size;          /* FRAG_BY_KEY: the key */
	uint64_t offset;
	uint32_t ordinal;
	uint32_t block;
};

enum frag_order { FRAG_BY_SIZE, FRAG_BY_ADDRESS, FRAG_BY_KEY };

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
#define FRAG_TREE_HEIGHT 16     /* nodes stay a quarter full: 4^16 entries */
#define FRAG_SPARE_NODES (2 * (FRAG_TREE_HEIGHT + 1))

/* Reserves n more nodes. Returns false on out of memory. */
bool frag_nodes_widen(struct frag_nodes *pool, uint64_t n);

/*
 * Makes sure that the next two insertions will find the nodes that they need, so
 * that insertion itself cannot fail.
 */
static inline bool frag_nodes_reserve(struct frag_nodes *pool)
{
	return pool->used + FRAG_SPARE_NODES <= pool->capacity
	       || frag_nodes_widen(pool, FRAG_SPARE_NODES);
}

uint32_t frag_nodes_take(struct frag_nodes *pool, bool leaf);
void frag_nodes_drop(struct frag_nodes *pool, uint32_t n);

static inline bool frag_before(const struct frag_entry *a, const struct frag_entry *b,
			       enum frag_order order)
{
	if (order != FRAG_BY_ADDRESS && a->size != b->size)
		return a->size < b->size;
	if (a->ordinal != b->ordinal)
		return a->ordinal < b->ordinal;
	return a->offset < b->offset;
}

/* How many of the node's entries come before the key. */
static inline uint32_t frag_node_rank(const struct frag_node *n, const struct frag_entry *key,
				      enum frag_order order)
{
	uint32_t i = 0;

	while (i < n->count && frag_before(&n->low[i], key, order))
		i++;
	return i;
}

/* For a tree that is more than one leaf, or whose leaf is full. */
void frag_tree_insert_below(struct frag_nodes *pool, frag_root *root, enum frag_order order,
			    const struct frag_entry *e);
void frag_tree_remove_below(struct frag_nodes *pool, frag_root *root, enum frag_order order,
			    const struct frag_entry *e);

/* By key; the entry has this size. Its removal is frag_tree_remove_below(). */
void frag_tree_insert_keyed(struct frag_nodes *pool, frag_root *root, const struct frag_entry *e,
			    uint64_t bytes);

/*
 * By size and by address. Most trees are one leaf, and most changes are done with it
 * here, without a call.
 */
static inline void frag_tree_insert(struct frag_nodes *pool, frag_root *root,
				    enum frag_order order, const struct frag_entry *e)
{
	struct frag_node *top;
	uint32_t i;

	if (!*root)
		*root = frag_nodes_take(pool, true);
	top = &pool->nodes[*root];
	if (!top->leaf || top->count == FRAG_FANOUT) {
		frag_tree_insert_below(pool, root, order, e);
		return;
	}
	for (i = top->count++; i > 0 && frag_before(e, &top->low[i - 1], order); i--)
		top->low[i] = top->low[i - 1];
	top->low[i] = *e;
}

/* By size and by address. The entry must be there. */
static inline void frag_tree_remove(struct frag_nodes *pool, frag_root *root,
				    enum frag_order order, const struct frag_entry *e)
{
	struct frag_node *top = &pool->nodes[*root];
	uint32_t i;

	if (!top->leaf) {
		frag_tree_remove_below(pool, root, order, e);
		return;
	}
	if (top->count == 1) {
		frag_nodes_drop(pool, *root);
		*root = 0;
		return;
	}
	i = frag_node_rank(top, e, order);
	for (top->count--; i < top->count; i++)
		top->low[i] = top->low[i + 1];
}

/* By size: ends a tree; its entries, in their order, go to *out. Returns what is after them. */
struct frag_entry *frag_tree_flatten(struct frag_nodes *pool, frag_root root,
				     struct frag_entry *out);

/*
 * By address: the block has another size now, and maybe another address, with no
 * third block between the two.
 */
void frag_tree_resize(struct frag_nodes *pool, frag_root root, const struct frag_entry *old,
		      const struct frag_entry *now);

/* The first entry at or after the key, in the tree's order; NULL if none. */
const struct frag_entry *frag_tree_lower_bound(const struct frag_nodes *pool, frag_root root,
					       enum frag_order order, const struct frag_entry *key);

/* The last entry before the key, in the tree's order; NULL if none. */
const struct frag_entry *frag_tree_before(const struct frag_nodes *pool, frag_root root,
					  enum frag_order order, const struct frag_entry *key);

const struct frag_entry *frag_tree_first(const struct frag_nodes *pool, frag_root root);
const struct frag_entry *frag_tree_last(const struct frag_nodes *pool, frag_root root);

/* By address or key: the first at or after `from` with size >= bytes. */
const struct frag_entry *frag_tree_fit(const struct frag_nodes *pool, frag_root root,
				       enum frag_order order, const struct frag_entry *from,
				       uint64_t bytes);

/* By address or key: the last one with size >= bytes. */
const struct frag_entry *frag_tree_fit_last(const struct frag_nodes *pool, frag_root root,
					    enum frag_order order, uint64_t bytes);

/* By address or key: the largest size in the tree, 0 if empty. */
uint64_t frag_tree_largest(const struct frag_nodes *pool, frag_root root, enum frag_order order);

#endif
