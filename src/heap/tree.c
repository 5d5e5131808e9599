/* tree.c - B+-trees of free blocks, one for each long list. */
#include "heap/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/inline.h"

struct step {
	uint32_t node;
	uint32_t at;
};

struct path {
	struct step steps[FRAG_TREE_HEIGHT];
	uint32_t depth;
};

bool frag_nodes_widen(struct frag_nodes *pool, uint64_t n)
{
	return frag_grow(&pool->nodes, &pool->capacity, pool->used + n, sizeof(*pool->nodes));
}

bool frag_nodes_reserve(struct frag_nodes *pool)
{
	return frag_nodes_widen(pool, FRAG_SPARE_NODES);
}

bool frag_nodes_init(struct frag_nodes *pool)
{
	*pool = (struct frag_nodes){ .used = 1 };
	return frag_nodes_reserve(pool);
}

void frag_nodes_fini(struct frag_nodes *pool)
{
	free(pool->nodes);
	pool->nodes = NULL;
}

static uint32_t take_node(struct frag_nodes *pool, bool leaf)
{
	uint32_t n = pool->unused;

	if (n) {
		pool->unused = pool->nodes[n].child[0];
	} else {
		pool->reserved = false;
		n = pool->used++;
	}
	FRAG_ASSERT(n < pool->capacity);
	pool->nodes[n].count = 0;
	pool->nodes[n].leaf = leaf;
	return n;
}

static void drop_node(struct frag_nodes *pool, uint32_t n)
{
	FRAG_ASSERT(n && n < pool->used);
	pool->nodes[n].child[0] = pool->unused;
	pool->unused = n;
}

/* How many of the node's entries come before the key. */
static inline uint32_t rank_in(const struct frag_node *n, const struct frag_entry *key,
			       enum frag_order order)
{
	uint32_t i = 0;

	while (i < n->count && frag_entry_before(&n->low[i], key, order))
		i++;
	return i;
}

/*
 * The child in which the key belongs: the last one that does not begin after it. The scan starts
 * at the front, because usually the first of many equal blocks is found and allocated.
 */
static inline uint32_t child_for(const struct frag_node *n, const struct frag_entry *key,
				 enum frag_order order)
{
	uint32_t i = 1;

	while (i < n->count && !frag_entry_before(key, &n->low[i], order))
		i++;
	return i - 1;
}

/* Not by size: the largest size at or below the node's entry i. */
static inline uint64_t tree_size_at(const struct frag_node *n, uint32_t i, enum frag_order order)
{
	return n->leaf && order == FRAG_ORDER_ADDRESS ? n->low[i].size : n->largest[i];
}

static uint64_t largest_in(const struct frag_node *n, enum frag_order order)
{
	uint64_t largest = 0;

	for (uint32_t i = 0; i < n->count; i++) {
		uint64_t size = tree_size_at(n, i, order);

		if (size > largest)
			largest = size;
	}
	return largest;
}

/* Updates the parent's entry `at` from its child. */
FRAG_INLINE void update_parent(struct frag_nodes *pool, struct frag_node *parent, uint32_t at,
		       enum frag_order order)
{
	const struct frag_node *child = &pool->nodes[parent->child[at]];

	parent->low[at] = child->low[0];
	if (order != FRAG_ORDER_SIZE)
		parent->largest[at] = largest_in(child, order);
}

FRAG_INLINE void update_path(struct frag_nodes *pool, const struct path *path,
			     enum frag_order order)
{
	for (uint32_t d = path->depth; d-- > 0;)
		update_parent(pool, &pool->nodes[path->steps[d].node], path->steps[d].at, order);
}

/* Walks down to the leaf for the key; the path holds the inner nodes passed. */
FRAG_INLINE uint32_t descend(const struct frag_nodes *pool, frag_root root,
			     const struct frag_entry *key, enum frag_order order, struct path *path)
{
	uint32_t n = root;

	path->depth = 0;
	while (!pool->nodes[n].leaf) {
		uint32_t at = child_for(&pool->nodes[n], key, order);

		path->steps[path->depth++] = (struct step){ .node = n, .at = at };
		n = pool->nodes[n].child[at];
	}
	return n;
}

/* Does the node use `largest`? Inner nodes always keep it in step with their children. */
static inline bool has_sizes(const struct frag_node *n, enum frag_order order)
{
	return !n->leaf || order == FRAG_ORDER_KEY;
}

static void open_gap(struct frag_node *n, uint32_t at, enum frag_order order)
{
	uint32_t rest = n->count - at;

	FRAG_ASSERT(at <= n->count && n->count < FRAG_FANOUT);
	memmove(&n->low[at + 1], &n->low[at], rest * sizeof(n->low[0]));
	if (has_sizes(n, order))
		memmove(&n->largest[at + 1], &n->largest[at], rest * sizeof(n->largest[0]));
	if (!n->leaf)
		memmove(&n->child[at + 1], &n->child[at], rest * sizeof(n->child[0]));
	n->count++;
}

static void close_gap(struct frag_node *n, uint32_t at, enum frag_order order)
{
	uint32_t rest = --n->count - at;

	FRAG_ASSERT(at <= n->count);
	memmove(&n->low[at], &n->low[at + 1], rest * sizeof(n->low[0]));
	if (has_sizes(n, order))
		memmove(&n->largest[at], &n->largest[at + 1], rest * sizeof(n->largest[0]));
	if (!n->leaf)
		memmove(&n->child[at], &n->child[at + 1], rest * sizeof(n->child[0]));
}

/* Moves count entries of a node to the end of another. */
static void tree_append(struct frag_node *to, const struct frag_node *from, uint32_t at,
			uint32_t count, enum frag_order order)
{
	FRAG_ASSERT(to->leaf == from->leaf && to->count + count <= FRAG_FANOUT);
	memcpy(&to->low[to->count], &from->low[at], count * sizeof(to->low[0]));
	if (has_sizes(to, order))
		memcpy(&to->largest[to->count], &from->largest[at],
		       count * sizeof(to->largest[0]));
	if (!to->leaf)
		memcpy(&to->child[to->count], &from->child[at], count * sizeof(to->child[0]));
	to->count += count;
}

/* Splits a full node in two; the upper half is returned. */
static uint32_t split_node(struct frag_nodes *pool, uint32_t n, enum frag_order order)
{
	uint32_t upper = take_node(pool, pool->nodes[n].leaf);

	tree_append(&pool->nodes[upper], &pool->nodes[n], FRAG_FANOUT / 2, FRAG_FANOUT / 2, order);
	pool->nodes[n].count = FRAG_FANOUT / 2;
	return upper;
}

/* Inserts `upper` to the right of the child that the path's last step leads to. */
static void add_child(struct frag_nodes *pool, frag_root *root, enum frag_order order,
		      struct path *path, uint32_t lower, uint32_t upper)
{
	while (upper) {
		struct step *s;
		uint32_t above = 0;

		if (path->depth == 0) {
			*root = take_node(pool, false);
			pool->nodes[*root].count = 2;
			pool->nodes[*root].child[0] = lower;
			pool->nodes[*root].child[1] = upper;
			update_parent(pool, &pool->nodes[*root], 0, order);
			update_parent(pool, &pool->nodes[*root], 1, order);
			return;
		}
		s = &path->steps[--path->depth];
		update_parent(pool, &pool->nodes[s->node], s->at, order);
		if (pool->nodes[s->node].count == FRAG_FANOUT) {
			above = split_node(pool, s->node, order);
			lower = s->node;
			if (s->at >= FRAG_FANOUT / 2) {
				s->node = above;
				s->at -= FRAG_FANOUT / 2;
			}
		}
		open_gap(&pool->nodes[s->node], s->at + 1, order);
		pool->nodes[s->node].child[s->at + 1] = upper;
		update_parent(pool, &pool->nodes[s->node], s->at + 1, order);
		upper = above;
	}
}

/* Inserts an entry into a leaf that is not full, in order. Returns its index. */
FRAG_INLINE uint32_t insert_in_leaf(struct frag_node *leaf, enum frag_order order,
			    const struct frag_entry *e, uint64_t bytes)
{
	const uint32_t at = rank_in(leaf, e, order);

	open_gap(leaf, at, order);
	leaf->low[at] = *e;
	if (order == FRAG_ORDER_KEY)
		leaf->largest[at] = bytes;
	return at;
}

/* The same where the leaf at the path's end is full: it is split. */
__attribute__((noinline))
static void insert_splitting(struct frag_nodes *pool, frag_root *root, enum frag_order order,
			     struct path *path, uint32_t leaf, const struct frag_entry *e,
			     uint64_t bytes)
{
	const uint32_t upper = split_node(pool, leaf, order);
	const bool below = frag_entry_before(e, &pool->nodes[upper].low[0], order);

	insert_in_leaf(&pool->nodes[below ? leaf : upper], order, e, bytes);
	add_child(pool, root, order, path, leaf, upper);
	update_path(pool, path, order);
}

/* bytes: by key, the size of the entry. */
FRAG_INLINE void insert(struct frag_nodes *pool, frag_root *root, enum frag_order order,
		const struct frag_entry *e, uint64_t bytes)
{
	struct path path;
	const uint32_t leaf = descend(pool, *root, e, order, &path);

	if (pool->nodes[leaf].count == FRAG_FANOUT)
		insert_splitting(pool, root, order, &path, leaf, e, bytes);
	else if (insert_in_leaf(&pool->nodes[leaf], order, e, bytes) == 0 || order != FRAG_ORDER_SIZE)
		update_path(pool, &path, order);
}

/* Each order has its own copy of the code. */
void frag_tree_insert(struct frag_nodes *pool, frag_root *root, enum frag_order order,
		      const struct frag_entry *e, uint64_t bytes)
{
	if (!*root)
		*root = take_node(pool, true);
	switch (order) {
	case FRAG_ORDER_SIZE:
		insert(pool, root, FRAG_ORDER_SIZE, e, bytes);
		break;
	case FRAG_ORDER_ADDRESS:
		insert(pool, root, FRAG_ORDER_ADDRESS, e, bytes);
		break;
	case FRAG_ORDER_KEY:
		insert(pool, root, FRAG_ORDER_KEY, e, bytes);
		break;
	}
}

/* Merges child `at` of a node with a sibling where both fit well into one. */
static void merge_child(struct frag_nodes *pool, uint32_t n, uint32_t at, enum frag_order order)
{
	struct frag_node *parent = &pool->nodes[n];
	uint32_t left, right;

	if (parent->count < 2)
		return;
	left = at + 1 < parent->count ? at : at - 1;
	right = left + 1;
	if (pool->nodes[parent->child[left]].count + pool->nodes[parent->child[right]].count
	    > FRAG_FANOUT * 3 / 4)
		return;
	tree_append(&pool->nodes[parent->child[left]], &pool->nodes[parent->child[right]], 0,
		    pool->nodes[parent->child[right]].count, order);
	drop_node(pool, parent->child[right]);
	close_gap(parent, right, order);
	update_parent(pool, parent, left, order);
}

/* After a removal from node n: merges nodes that are nearly empty, upwards, and lowers the root. */
__attribute__((noinline)) static void rebalance(struct frag_nodes *pool, frag_root *root,
						enum frag_order order, struct path *path,
						uint32_t n, bool renew)
{
	while (path->depth > 0 && (renew || pool->nodes[n].count <= FRAG_FANOUT / 4)) {
		struct step s = path->steps[--path->depth];

		if (pool->nodes[n].count == 0) {
			drop_node(pool, n);
			close_gap(&pool->nodes[s.node], s.at, order);
			renew = true;
		} else {
			update_parent(pool, &pool->nodes[s.node], s.at, order);
			if (pool->nodes[n].count <= FRAG_FANOUT / 4)
				merge_child(pool, s.node, s.at, order);
		}
		n = s.node;
	}
	while (*root && pool->nodes[*root].count <= !pool->nodes[*root].leaf) {
		uint32_t old = *root;

		*root = pool->nodes[old].leaf || !pool->nodes[old].count
			? 0 : pool->nodes[old].child[0];
		drop_node(pool, old);
	}
}

FRAG_INLINE void remove_from(struct frag_nodes *pool, frag_root *root, enum frag_order order,
		     const struct frag_entry *e)
{
	struct path path;
	const uint32_t n = descend(pool, *root, e, order, &path);
	struct frag_node *leaf = &pool->nodes[n];
	uint32_t at = 0;

	FRAG_ASSERT(leaf->count);
	/* the entry exists, so its block number identifies it, at less cost than its key */
	while (leaf->low[at].block != e->block) {
		at++;
		FRAG_ASSERT(at < leaf->count);
	}
	close_gap(leaf, at, order);
	if (order != FRAG_ORDER_SIZE || at == 0 || leaf->count <= FRAG_FANOUT / 4)
		rebalance(pool, root, order, &path, n, order != FRAG_ORDER_SIZE || at == 0);
}

void frag_tree_remove(struct frag_nodes *pool, frag_root *root, enum frag_order order,
		      const struct frag_entry *e)
{
	if (order == FRAG_ORDER_SIZE)
		remove_from(pool, root, FRAG_ORDER_SIZE, e);
	else
		remove_from(pool, root, order, e);
}

struct frag_entry *frag_tree_flatten(struct frag_nodes *pool, frag_root root,
				     struct frag_entry *out)
{
	const struct frag_node *n = &pool->nodes[root];

	FRAG_ASSERT(root);
	if (n->leaf) {
		memcpy(out, n->low, n->count * sizeof(n->low[0]));
		out += n->count;
	} else {
		for (uint32_t i = 0; i < n->count; i++)
			out = frag_tree_flatten(pool, n->child[i], out);
	}
	drop_node(pool, root);
	return out;
}

void frag_tree_replace(struct frag_nodes *pool, frag_root root, const struct frag_entry *old,
		       const struct frag_entry *now)
{
	struct path path;
	uint32_t leaf;

	FRAG_ASSERT(root);
	leaf = descend(pool, root, old, FRAG_ORDER_ADDRESS, &path);
	pool->nodes[leaf].low[rank_in(&pool->nodes[leaf], old, FRAG_ORDER_ADDRESS)] = *now;
	update_path(pool, &path, FRAG_ORDER_ADDRESS);
}

/* While it descends, `next` is the first entry that the subtree taken does not hold. */
const struct frag_entry *frag_tree_near(const struct frag_nodes *pool, frag_root root,
					enum frag_order order, const struct frag_entry *key,
					bool before)
{
	const struct frag_entry *next = NULL;
	const struct frag_node *n;
	uint32_t at;

	if (!root)
		return NULL;
	for (n = &pool->nodes[root]; !n->leaf; n = &pool->nodes[n->child[at]]) {
		at = rank_in(n, key, order);
		if (at < n->count)
			next = &n->low[at];
		at = at ? at - 1 : 0;
	}
	at = rank_in(n, key, order);
	if (before)
		return at ? &n->low[at - 1] : NULL;
	return at < n->count ? &n->low[at] : next;
}

/* The first entry below n, from child or entry `at` on, that is large enough. */
FRAG_INLINE const struct frag_entry *fit_below(const struct frag_nodes *pool,
					       const struct frag_node *n, enum frag_order order,
					       uint32_t at, uint64_t bytes)
{
	for (;;) {
		while (at < n->count && tree_size_at(n, at, order) < bytes)
			at++;
		if (at == n->count)
			return NULL;
		if (n->leaf)
			return &n->low[at];
		n = &pool->nodes[n->child[at]];
		at = 0;
	}
}

FRAG_INLINE const struct frag_entry *tree_fit(const struct frag_nodes *pool, frag_root root,
				      enum frag_order order, const struct frag_entry *from,
				      uint64_t bytes)
{
	const struct frag_entry *found;
	struct path path;
	uint32_t leaf;

	if (!root)
		return NULL;
	leaf = descend(pool, root, from, order, &path);
	found = fit_below(pool, &pool->nodes[leaf], order,
			  rank_in(&pool->nodes[leaf], from, order), bytes);
	while (!found && path.depth > 0) {
		const struct step *s = &path.steps[--path.depth];

		found = fit_below(pool, &pool->nodes[s->node], order, s->at + 1, bytes);
	}
	return found;
}

const struct frag_entry *frag_tree_fit(const struct frag_nodes *pool, frag_root root,
				       enum frag_order order, const struct frag_entry *from,
				       uint64_t bytes)
{
	return order == FRAG_ORDER_KEY ? tree_fit(pool, root, FRAG_ORDER_KEY, from, bytes)
				    : tree_fit(pool, root, FRAG_ORDER_ADDRESS, from, bytes);
}

const struct frag_entry *frag_tree_fit_last(const struct frag_nodes *pool, frag_root root,
					    enum frag_order order, uint64_t bytes)
{
	const struct frag_node *n = root ? &pool->nodes[root] : NULL;

	while (n) {
		uint32_t at = n->count;

		while (at > 0 && tree_size_at(n, at - 1, order) < bytes)
			at--;
		if (at == 0)
			return NULL;
		if (n->leaf)
			return &n->low[at - 1];
		n = &pool->nodes[n->child[at - 1]];
	}
	return NULL;
}

uint64_t frag_tree_largest(const struct frag_nodes *pool, frag_root root, enum frag_order order)
{
	return root ? largest_in(&pool->nodes[root], order) : 0;
}
