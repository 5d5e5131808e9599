/*
 * tree.h - an ordered set of free blocks: a B-tree over a shared pool of nodes.
 *
 * Two orders: by size, then address; and by address, where each inner node also
 * knows the largest block below each child, so that the lowest block of at
 * least n bytes is found on one way down. All operations are O(log n).
 */
#ifndef HEAP_TREE_H
#define HEAP_TREE_H

#include <stdbool.h>
#include <stdint.h>

/* A free block as the index sees it. (ordinal, offset) is its address. */
struct frag_entry {
	uint64_t size;
	uint64_t offset;
	uint32_t ordinal;
	uint32_t block;
};

enum frag_order { FRAG_BY_SIZE, FRAG_BY_ADDRESS };

#define FRAG_FANOUT 16

struct frag_node {
	uint32_t count;
	bool leaf;
	struct frag_entry low[FRAG_FANOUT];     /* entries; of an inner node, each child's lowest */
	uint64_t largest[FRAG_FANOUT];          /* inner, by address: largest size below */
	uint32_t child[FRAG_FANOUT];            /* inner; of an unused node [0] is the next unused */
};

struct frag_nodes {
	struct frag_node *nodes;
	uint32_t used, capacity;
	uint32_t unused;        /* a list of them, 0: none. Node 0 is nobody's */
};

typedef uint32_t frag_root;     /* 0: an empty tree */

bool frag_nodes_init(struct frag_nodes *pool);
void frag_nodes_fini(struct frag_nodes *pool);

/*
 * Makes sure that the next two insertions will find the nodes that they need, so
 * that insertion itself cannot fail.
 */
bool frag_nodes_reserve(struct frag_nodes *pool);

void frag_tree_insert(struct frag_nodes *pool, frag_root *root, enum frag_order order,
		      const struct frag_entry *e);
/* The entry must be there. */
void frag_tree_remove(struct frag_nodes *pool, frag_root *root, enum frag_order order,
		      const struct frag_entry *e);

/*
 * By address: the block has another size now, and maybe another address, with no
 * third block between the two.
 */
void frag_tree_resize(struct frag_nodes *pool, frag_root root, const struct frag_entry *old,
		      const struct frag_entry *now);

/* The first entry at or after the key, in the tree's order; NULL if none. */
const struct frag_entry *frag_tree_at_least(const struct frag_nodes *pool, frag_root root,
					    enum frag_order order, const struct frag_entry *key);

/* The last entry before the key, in the tree's order; NULL if none. */
const struct frag_entry *frag_tree_before(const struct frag_nodes *pool, frag_root root,
					  enum frag_order order, const struct frag_entry *key);

const struct frag_entry *frag_tree_first(const struct frag_nodes *pool, frag_root root);
const struct frag_entry *frag_tree_last(const struct frag_nodes *pool, frag_root root);

/* By address: the first at or after `from` (by its address) with size >= bytes. */
const struct frag_entry *frag_tree_fit(const struct frag_nodes *pool, frag_root root,
				       const struct frag_entry *from, uint64_t bytes);

/* By address: the largest size in the tree, 0 if empty. */
uint64_t frag_tree_largest(const struct frag_nodes *pool, frag_root root);

#endif
