/*
 * index.h - the free lists: each an ordered set of free blocks.
 *
 * A list in size order that grows long spreads over bins, 32 to an octave, each a chain of its own
 * under a bitmap: a search then looks at a block or two. A bin of many equal sizes is a tree. What
 * most events do is inline. The other orders are trees.
 */
#ifndef HEAP_INDEX_H
#define HEAP_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bug.h"
#include "base/hash.h"
#include "heap/chain.h"

struct frag_index_ops {
	const char *name;
	enum frag_order order;
};

#define FRAG_OCTAVE_BITS 5
#define FRAG_OCTAVE (1U << FRAG_OCTAVE_BITS)
#define FRAG_BINS ((64 - FRAG_OCTAVE_BITS + 1) * FRAG_OCTAVE)
#define FRAG_BIN_WORDS ((FRAG_BINS + 63) / 64)
#define FRAG_SPREAD_ABOVE 16    /* entries: a list this long gets bins */

struct frag_bins {
	uint64_t summary;                       /* words of `full` that are not 0 */
	uint64_t full[FRAG_BIN_WORDS];          /* bins that are not empty */
	struct frag_chain chain[FRAG_BINS];
};

struct frag_free_list {
	uint32_t pool, which;
	uint32_t count;
	frag_root root;         /* by address and by key: of all entries */
	struct frag_chain chain;        /* by size: of all entries, while there are no bins */
	struct frag_bins *bins;
	uint64_t largest;       /* size of the largest entry, 0 if empty */
	uint64_t user;          /* the policy's own */
};

struct frag_index {
	enum frag_order order;
	struct frag_links links;        /* links by size alone */
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
uint32_t frag_index_list_of(struct frag_index *x, uint32_t pool, uint32_t which);

/* The same, which is mostly the list that was asked for last. */
static inline uint32_t frag_index_list(struct frag_index *x, uint32_t pool, uint32_t which)
{
	const uint32_t list = x->recent;

	if (list < x->count && x->lists[list].pool == pool && x->lists[list].which == which)
		return list;
	return frag_index_list_of(x, pool, which);
}

/*
 * Makes sure that the next two insertions, of blocks below `blocks`, cannot fail for lack of
 * memory.
 */
static inline bool frag_index_reserve(struct frag_index *x, uint64_t blocks)
{
	return frag_nodes_reserve(&x->links.nodes)
	       && (blocks <= x->links.capacity || x->order != FRAG_BY_SIZE
		   || frag_links_widen(&x->links, blocks));
}

/* The same for n lists that are new. */
bool frag_index_reserve_lists(struct frag_index *x, uint32_t n);

/* By address. An entry becomes another one, with no third between the two. */
void frag_index_insert_by_address(struct frag_index *x, uint32_t list, const struct frag_entry *e);
void frag_index_remove_by_address(struct frag_index *x, uint32_t list, const struct frag_entry *e);
void frag_index_replace_by_address(struct frag_index *x, uint32_t list,
				   const struct frag_entry *old, const struct frag_entry *now);
/* By key; the entry has this size. */
void frag_index_insert_keyed(struct frag_index *x, uint32_t list, const struct frag_entry *e,
			     uint64_t bytes);
void frag_index_remove_keyed(struct frag_index *x, uint32_t list, const struct frag_entry *e);

/* In the list's order, the last that holds bytes. */
const struct frag_entry *frag_index_find_last(const struct frag_index *x, uint32_t list,
					      uint64_t bytes);

/* In the list's order: the first at or after the key, the last before it. */
const struct frag_entry *frag_index_lower_bound(const struct frag_index *x, uint32_t list,
						const struct frag_entry *key);
const struct frag_entry *frag_index_before(const struct frag_index *x, uint32_t list,
					   const struct frag_entry *key);

/* By address or key: the first that holds bytes; likewise at or after `from`. */
const struct frag_entry *frag_index_find_in_tree(const struct frag_index *x, uint32_t list,
						 uint64_t bytes);
const struct frag_entry *frag_index_find_from(const struct frag_index *x, uint32_t list,
					      uint64_t bytes, const struct frag_entry *from);

static inline uint64_t frag_index_largest(const struct frag_index *x)
{
	return x->top[1];
}

/* By size: moves a list's entries from one chain to bins; without memory it stays one. */
void frag_index_spread(struct frag_index *x, struct frag_free_list *l);
/* The size of the list's largest entry is another one now. */
void frag_index_set_largest(struct frag_index *x, uint32_t list, uint64_t largest);
/* By size: what the largest entry of a list is, which is the last. */
uint64_t frag_index_measure_largest(const struct frag_index *x, const struct frag_free_list *l);

static inline uint32_t frag_highest_bit(uint64_t x)
{
	return 63 - (uint32_t)__builtin_clzll(x);
}

/* Sizes below one octave have a bin each; then so many bins to an octave. */
static inline uint32_t frag_bin_of(uint64_t size)
{
	uint32_t octave;

	if (size < FRAG_OCTAVE)
		return (uint32_t)size;
	octave = frag_highest_bit(size) - FRAG_OCTAVE_BITS;
	return octave * FRAG_OCTAVE + (uint32_t)(size >> octave);
}

/* The first bin at or after `bin` that is not empty; FRAG_BINS if none. */
static inline uint32_t frag_next_full(const struct frag_bins *bins, uint32_t bin)
{
	uint32_t word = bin / 64;
	uint64_t rest;

	if (bin >= FRAG_BINS)
		return FRAG_BINS;
	rest = bins->full[word] >> bin % 64;
	if (rest)
		return bin + (uint32_t)__builtin_ctzll(rest);
	rest = word + 1 < 64 ? bins->summary >> (word + 1) : 0;
	if (!rest)
		return FRAG_BINS;
	word += 1 + (uint32_t)__builtin_ctzll(rest);
	return word * 64 + (uint32_t)__builtin_ctzll(bins->full[word]);
}

static inline void frag_bins_insert(struct frag_links *links, struct frag_bins *bins,
				    const struct frag_entry *e)
{
	const uint32_t bin = frag_bin_of(e->size);

	bins->full[bin / 64] |= UINT64_C(1) << bin % 64;
	bins->summary |= UINT64_C(1) << bin / 64;
	frag_chain_insert(links, &bins->chain[bin], e);
}

static inline void frag_bins_remove(struct frag_links *links, struct frag_bins *bins,
				    const struct frag_entry *e)
{
	const uint32_t bin = frag_bin_of(e->size);

	frag_chain_remove(links, &bins->chain[bin], e);
	if (bins->chain[bin].count)
		return;
	bins->full[bin / 64] &= ~(UINT64_C(1) << bin % 64);
	if (!bins->full[bin / 64])
		bins->summary &= ~(UINT64_C(1) << bin / 64);
}

static inline void frag_index_insert_by_size(struct frag_index *x, uint32_t list,
					     const struct frag_entry *e)
{
	struct frag_free_list *l = &x->lists[list];

	FRAG_ASSERT(list < x->count && e->size > 0 && e->block < x->links.capacity);
	if (l->bins)
		frag_bins_insert(&x->links, l->bins, e);
	else
		frag_chain_insert(&x->links, &l->chain, e);
	if (e->size > l->largest)
		frag_index_set_largest(x, list, e->size);
	if (++l->count > FRAG_SPREAD_ABOVE && !l->bins)
		frag_index_spread(x, l);
}

static inline void frag_index_remove_by_size(struct frag_index *x, uint32_t list,
					     const struct frag_entry *e)
{
	struct frag_free_list *l = &x->lists[list];

	FRAG_ASSERT(list < x->count && l->count > 0 && e->size <= l->largest);
	if (l->bins)
		frag_bins_remove(&x->links, l->bins, e);
	else
		frag_chain_remove(&x->links, &l->chain, e);
	l->count--;
	if (e->size == l->largest)
		frag_index_set_largest(x, list, frag_index_measure_largest(x, l));
}

/* insert and remove: by size and by address. */
static inline void frag_index_insert(struct frag_index *x, uint32_t list,
				     const struct frag_entry *e)
{
	if (x->order == FRAG_BY_SIZE)
		frag_index_insert_by_size(x, list, e);
	else
		frag_index_insert_by_address(x, list, e);
}

static inline void frag_index_remove(struct frag_index *x, uint32_t list,
				     const struct frag_entry *e)
{
	if (x->order == FRAG_BY_SIZE)
		frag_index_remove_by_size(x, list, e);
	else
		frag_index_remove_by_address(x, list, e);
}

/* Likewise: an entry becomes another one, with no third between the two in the order of address. */
static inline void frag_index_replace(struct frag_index *x, uint32_t list,
				      const struct frag_entry *old, const struct frag_entry *now)
{
	if (x->order == FRAG_BY_SIZE) {
		frag_index_remove_by_size(x, list, old);
		frag_index_insert_by_size(x, list, now);
	} else {
		frag_index_replace_by_address(x, list, old, now);
	}
}

/* By size: the first that holds bytes. */
static inline const struct frag_entry *frag_index_find_by_size(const struct frag_index *x,
							       uint32_t list, uint64_t bytes)
{
	const struct frag_free_list *l = &x->lists[list];
	const struct frag_entry key = { .size = bytes };
	const struct frag_entry *found;
	uint32_t bin;

	if (bytes > l->largest)
		return NULL;
	if (!l->bins)
		return frag_chain_lower_bound(&x->links, &l->chain, &key);
	bin = frag_bin_of(bytes);
	found = frag_chain_lower_bound(&x->links, &l->bins->chain[bin], &key);
	if (found)
		return found;
	bin = frag_next_full(l->bins, bin + 1);
	return bin < FRAG_BINS ? frag_chain_first(&x->links, &l->bins->chain[bin]) : NULL;
}

/* In the list's order: the first that holds bytes. */
static inline const struct frag_entry *frag_index_find(const struct frag_index *x, uint32_t list,
						       uint64_t bytes)
{
	return x->order == FRAG_BY_SIZE ? frag_index_find_by_size(x, list, bytes)
					: frag_index_find_in_tree(x, list, bytes);
}

#endif
