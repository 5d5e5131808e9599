/*
 * index.h - the free lists: each an ordered set of free blocks.
 *
 * A list in size order that grows long spreads over bins, 32 to an octave, each
 * with a small tree of its own under a bitmap: a search then touches one or two
 * nodes instead of a tall tree. A bin of many equal sizes is still a tree.
 */
#ifndef HEAP_INDEX_H
#define HEAP_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "heap/tree.h"

struct frag_index_ops {
	const char *name;
	enum frag_order order;
};

struct frag_bins;

struct frag_free_list {
	uint32_t pool, which;
	uint32_t count;
	frag_root root;         /* of all entries, while there are no bins */
	struct frag_bins *bins;
	uint64_t largest;       /* size of the largest entry, 0 if empty */
	uint64_t user;          /* the policy's own */
};

struct frag_index {
	enum frag_order order;
	struct frag_nodes nodes;
	struct frag_free_list *lists;
	uint32_t count, capacity;
	struct frag_map by_key; /* (pool, which) -> list */
	uint32_t recent;        /* the list that was looked up last: mostly the next one too */
	uint64_t *top;          /* a tournament over `largest` of all lists; [1] is the winner */
	uint32_t leaves;        /* of the tournament: a power of two */
};

bool frag_index_init(struct frag_index *x, enum frag_order order);
void frag_index_fini(struct frag_index *x);
/* *x is a borrowed copy of another one's struct, and becomes an index of its own. */
bool frag_index_copy(struct frag_index *x);

/* The list's number, made when new; UINT32_MAX where memory is short. */
uint32_t frag_index_list(struct frag_index *x, uint32_t pool, uint32_t which);

/* Makes sure that the next two insertions cannot fail for lack of memory. */
static inline bool frag_index_reserve(struct frag_index *x)
{
	return frag_nodes_reserve(&x->nodes);
}

/* The same for n lists that are new. */
bool frag_index_reserve_lists(struct frag_index *x, uint32_t n);

/* insert, remove and replace: by size and by address. */
void frag_index_insert(struct frag_index *x, uint32_t list, const struct frag_entry *e);
void frag_index_remove(struct frag_index *x, uint32_t list, const struct frag_entry *e);
/* An entry becomes another one, with no third between the two in the order of address. */
void frag_index_replace(struct frag_index *x, uint32_t list, const struct frag_entry *old,
			const struct frag_entry *now);
/* By key; the entry has this size. */
void frag_index_insert_keyed(struct frag_index *x, uint32_t list, const struct frag_entry *e,
			     uint64_t bytes);
void frag_index_remove_keyed(struct frag_index *x, uint32_t list, const struct frag_entry *e);

/* In the list's order, the first and the last that hold bytes. */
const struct frag_entry *frag_index_find(const struct frag_index *x, uint32_t list, uint64_t bytes);
const struct frag_entry *frag_index_find_last(const struct frag_index *x, uint32_t list,
					      uint64_t bytes);

/* In the list's order: the first at or after the key, the last before it. */
const struct frag_entry *frag_index_lower_bound(const struct frag_index *x, uint32_t list,
						const struct frag_entry *key);
const struct frag_entry *frag_index_before(const struct frag_index *x, uint32_t list,
					   const struct frag_entry *key);

/* By address or key: the first at or after `from` that holds bytes. */
const struct frag_entry *frag_index_find_from(const struct frag_index *x, uint32_t list,
					      uint64_t bytes, const struct frag_entry *from);

static inline uint64_t frag_index_largest(const struct frag_index *x)
{
	return x->top[1];
}

#endif
