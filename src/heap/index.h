/*
 * index.h - the free lists: each an ordered set of free blocks.
 *
 * A list in size order that grows long spreads over bins, 256 to an octave, each a separate free
 * set under a bitmap: a search then reads a few blocks. The operations of most events are
 * inline. The other orders are trees.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bug.h"
#include "base/hash.h"
#include "base/inline.h"
#include "heap/free_set.h"

/*
 * Bins: below one octave each size has its own bin; above, each octave has 1 << FRAG_OCTAVE_BITS
 * bins.
 */
#define FRAG_OCTAVE_BITS 8
#define FRAG_BINS ((64 - FRAG_OCTAVE_BITS + 1) << FRAG_OCTAVE_BITS)
#define FRAG_BIN_WORDS ((FRAG_BINS + 63) / 64)
#define FRAG_SUMMARIES ((FRAG_BIN_WORDS + 63) / 64)
#define FRAG_NO_BIN UINT32_MAX

/* Entries: a list longer than that gets bins. */
#define FRAG_SPREAD_ABOVE FRAG_FREE_ARRAY_MAX

struct frag_bins {
	uint64_t summary[FRAG_SUMMARIES];       /* words of `full` that are not 0 */
	uint64_t full[FRAG_BIN_WORDS + 1];      /* bins that are not empty; the last word is 0 */
	struct frag_free_set set[FRAG_BINS];
};

struct frag_free_list {
	uint32_t pool, which;
	uint32_t count;
	uint32_t spread_above;  /* by size: at this count it gets bins; UINT32_MAX: it has them */
	frag_root root;         /* by address and by key: of all entries */
	struct frag_free_set set;        /* by size: of all entries, while there are no bins */
	struct frag_bins *bins;
	uint64_t largest;       /* size of the largest entry, 0 if empty */
	uint64_t user;          /* set and read by the policy */
	bool done;              /* the program has released the pool */
};

struct frag_index {
	enum frag_order order;
	struct frag_free_set_storage storage; /* by address and by key: their nodes alone */
	struct frag_free_list *lists;
	uint32_t count, capacity;
	struct frag_map list_map; /* (pool, which) -> list */
	uint32_t recent;        /* the list of the last lookup: a cache of one */
	uint64_t *top;          /* a tournament over `largest` of all lists; [1] is the winner */
	uint32_t leaves;        /* of the tournament: a power of two */
};

bool frag_index_init(struct frag_index *x, enum frag_order order);
void frag_index_fini(struct frag_index *x);
/* Makes *x a separate copy; to be released also where this fails. False: out of memory. */
bool frag_index_copy(struct frag_index *x, const struct frag_index *from);

/* The list's number; UINT32_MAX: none was made. */
static inline uint32_t frag_index_find_list(const struct frag_index *x, uint32_t pool,
					    uint32_t which)
{
	return frag_map_get(&x->list_map, (uint64_t)pool << 32 | which);
}

/* The same, made when new; UINT32_MAX where the host is out of memory. */
uint32_t frag_index_list_of(struct frag_index *x, uint32_t pool, uint32_t which);

/* The same, first compared with the list of the last lookup. */
static inline uint32_t frag_index_list(struct frag_index *x, uint32_t pool, uint32_t which)
{
	const uint32_t list = x->recent;

	if (list < x->count && x->lists[list].pool == pool && x->lists[list].which == which)
		return list;
	return frag_index_list_of(x, pool, which);
}

/* Makes sure that the next two insertions cannot fail for lack of memory. */
bool frag_index_reserve_now(struct frag_index *x);
static inline bool frag_index_reserve(struct frag_index *x)
{
	return x->storage.nodes.reserved || frag_index_reserve_now(x);
}

/* The same for n lists that are new. */
bool frag_index_reserve_lists(struct frag_index *x, uint32_t n);

/* By address and by key; the entry has this size. */
void frag_index_insert_in_tree(struct frag_index *x, uint32_t list, const struct frag_entry *e,
			       uint64_t bytes);
void frag_index_remove_in_tree(struct frag_index *x, uint32_t list, const struct frag_entry *e,
			       uint64_t bytes);
/* By address. An entry becomes another one, with no third between the two. */
void frag_index_replace_by_address(struct frag_index *x, uint32_t list,
				   const struct frag_entry *old, const struct frag_entry *now);

/* Entries that are returned are borrowed until the next insertion, removal or reservation. */

/* In the list's order, the last that holds bytes. */
const struct frag_entry *frag_index_find_last(const struct frag_index *x, uint32_t list,
					      uint64_t bytes);

/* In the list's order: the first at or after the key, or the last before it. */
const struct frag_entry *frag_index_near(const struct frag_index *x, uint32_t list,
					 const struct frag_entry *key, bool before);

/* By address or key: the first that holds bytes, of those at or after `from`; NULL: of all. */
const struct frag_entry *frag_index_find_from(const struct frag_index *x, uint32_t list,
					      uint64_t bytes, const struct frag_entry *from);

static inline uint64_t frag_index_largest(const struct frag_index *x)
{
	return x->top[1];
}

/* By size: moves the entries of a list to bins; on out of memory the list is unchanged. */
void frag_index_spread(struct frag_index *x, struct frag_free_list *l);
/* The size of the list's largest entry is another one now. */
void frag_index_set_largest(struct frag_index *x, uint32_t list, uint64_t largest);
/* By size: the same, found as the size of its last entry. */
void frag_index_measure_largest(struct frag_index *x, uint32_t list);

static inline uint32_t frag_highest_bit(uint64_t x)
{
	return 63 - (uint32_t)__builtin_clzll(x);
}

static inline uint32_t frag_bin_of(uint64_t size)
{
	const uint32_t octave = frag_highest_bit(size | UINT64_C(1) << FRAG_OCTAVE_BITS)
				- FRAG_OCTAVE_BITS;

	return (octave << FRAG_OCTAVE_BITS) + (uint32_t)(size >> octave);
}

/* The first bin after `bin` that is not empty; FRAG_NO_BIN if none. */
static inline uint32_t frag_next_full(const struct frag_bins *bins, uint32_t bin)
{
	uint32_t word = bin / 64, at = word / 64;
	/* two shifts, as one by 64 is none */
	uint64_t rest = bins->full[word] >> bin % 64 >> 1;

	if (rest)
		return bin + 1 + (uint32_t)__builtin_ctzll(rest);
	rest = bins->summary[at] & ~UINT64_C(1) << word % 64;
	while (!rest) {
		if (++at == FRAG_SUMMARIES)
			return FRAG_NO_BIN;
		rest = bins->summary[at];
	}
	word = at * 64 + (uint32_t)__builtin_ctzll(rest);
	return word * 64 + (uint32_t)__builtin_ctzll(bins->full[word]);
}

FRAG_INLINE void frag_bins_insert(struct frag_free_set_storage *all, struct frag_bins *bins,
				    uint32_t bin, const struct frag_entry *e)
{
	if (bins->set[bin].count == 0) {
		bins->full[bin / 64] |= UINT64_C(1) << bin % 64;
		bins->summary[bin / 64 / 64] |= UINT64_C(1) << bin / 64 % 64;
	}
	frag_free_set_insert(all, &bins->set[bin], e);
}

FRAG_INLINE void frag_bins_remove(struct frag_free_set_storage *all, struct frag_bins *bins,
				    uint32_t bin, const struct frag_entry *e)
{
	frag_free_set_remove(all, &bins->set[bin], e);
	if (bins->set[bin].count)
		return;
	bins->full[bin / 64] &= ~(UINT64_C(1) << bin % 64);
	if (!bins->full[bin / 64])
		bins->summary[bin / 64 / 64] &= ~(UINT64_C(1) << bin / 64 % 64);
}

/*
 * In the order of size. The caller has reserved memory for an inserted entry; a removed entry
 * must exist.
 */
FRAG_INLINE void frag_index_insert_by_size(struct frag_index *x, uint32_t list,
					     const struct frag_entry *e)
{
	struct frag_free_list *l = &x->lists[list];

	FRAG_ASSERT(e->size > 0);
	if (l->count == l->spread_above)
		frag_index_spread(x, l);
	l->count++;
	if (l->bins)
		frag_bins_insert(&x->storage, l->bins, frag_bin_of(e->size), e);
	else
		frag_free_set_insert(&x->storage, &l->set, e);
	if (e->size > l->largest)
		frag_index_set_largest(x, list, e->size);
}

FRAG_INLINE void frag_index_remove_by_size(struct frag_index *x, uint32_t list,
					     const struct frag_entry *e)
{
	struct frag_free_list *l = &x->lists[list];

	FRAG_ASSERT(e->size <= l->largest);
	l->count--;
	if (l->bins)
		frag_bins_remove(&x->storage, l->bins, frag_bin_of(e->size), e);
	else
		frag_free_set_remove(&x->storage, &l->set, e);
	if (e->size == l->largest)
		frag_index_measure_largest(x, list);
}

/* Puts `now` in the place of `old`, often in the same bin or set, and keeps `largest` true. */
FRAG_INLINE void frag_index_replace_by_size(struct frag_index *x, uint32_t list,
					      const struct frag_entry *old,
					      const struct frag_entry *now)
{
	struct frag_free_list *l = &x->lists[list];

	FRAG_ASSERT(old->size <= l->largest);
	if (l->bins) {
		const uint32_t from = frag_bin_of(old->size);
		const uint32_t to = frag_bin_of(now->size);

		if (from == to) {
			frag_free_set_replace(&x->storage, &l->bins->set[to], old, now);
		} else {
			frag_bins_remove(&x->storage, l->bins, from, old);
			frag_bins_insert(&x->storage, l->bins, to, now);
		}
	} else {
		frag_free_set_replace(&x->storage, &l->set, old, now);
	}
	if (now->size > l->largest)
		frag_index_set_largest(x, list, now->size);
	else if (old->size == l->largest && now->size < old->size)
		frag_index_measure_largest(x, list);
}

/* bytes: by key, the size of the entry; else e->size. */
FRAG_INLINE void frag_index_insert(struct frag_index *x, uint32_t list,
				     const struct frag_entry *e, uint64_t bytes)
{
	if (x->order == FRAG_ORDER_SIZE)
		frag_index_insert_by_size(x, list, e);
	else
		frag_index_insert_in_tree(x, list, e, bytes);
}

FRAG_INLINE void frag_index_remove(struct frag_index *x, uint32_t list,
				     const struct frag_entry *e, uint64_t bytes)
{
	if (x->order == FRAG_ORDER_SIZE)
		frag_index_remove_by_size(x, list, e);
	else
		frag_index_remove_in_tree(x, list, e, bytes);
}

/* By size or address: an entry becomes another one, with no third between them by address. */
FRAG_INLINE void frag_index_replace(struct frag_index *x, uint32_t list,
				      const struct frag_entry *old, const struct frag_entry *now)
{
	if (x->order == FRAG_ORDER_SIZE)
		frag_index_replace_by_size(x, list, old, now);
	else
		frag_index_replace_by_address(x, list, old, now);
}

/* By size: the first that holds bytes. */
static inline const struct frag_entry *frag_index_find_by_size(const struct frag_index *x,
							       uint32_t list, uint64_t bytes)
{
	const struct frag_free_list *l = &x->lists[list];
	const struct frag_entry *found;
	uint32_t bin;

	if (bytes > l->largest)
		return NULL;
	if (!l->bins)
		return frag_free_set_fit(&x->storage, &l->set, bytes);
	bin = frag_bin_of(bytes);
	found = frag_free_set_fit(&x->storage, &l->bins->set[bin], bytes);
	if (found)
		return found;
	bin = frag_next_full(l->bins, bin);
	return bin == FRAG_NO_BIN ? NULL : frag_free_set_fit(&x->storage, &l->bins->set[bin], 0);
}

/* In the list's order: the first that holds bytes. */
static inline const struct frag_entry *frag_index_find(const struct frag_index *x, uint32_t list,
						       uint64_t bytes)
{
	return x->order == FRAG_ORDER_SIZE ? frag_index_find_by_size(x, list, bytes)
					: frag_index_find_from(x, list, bytes, NULL);
}
