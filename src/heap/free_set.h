/*
 * free_set.h - a set of free blocks, most often a small one, ordered by size, then address.
 *
 * The entries of a small set are adjacent and unordered: inserting or replacing one does not
 * read the others, and a search reads one or two cache lines. A set that grows long becomes a
 * tree, and an array again when few entries are left: every operation takes O(log n) for any
 * sizes.
 */
#pragma once

#include "base/bug.h"
#include "base/inline.h"
#include "heap/tree.h"

#define FRAG_FREE_ARRAY_MAX 16             /* the maximum number of entries of an array */

/* The entries of a small set. The first entry of an unused array links to the next unused one. */
struct frag_free_array {
	struct frag_entry entry[FRAG_FREE_ARRAY_MAX];
};

/* The storage that all sets share. */
struct frag_free_set_storage {
	struct frag_nodes nodes;        /* of trees */
	struct frag_free_array *arrays; /* number 0 is not used */
	uint32_t used, capacity;
	uint32_t unused;                /* a list of them, 0: none */
};

/* All zeros is an empty one. */
struct frag_free_set {
	uint32_t at;            /* number of its array, or the root of its tree */
	uint32_t count;         /* with FRAG_FREE_SET_TREE: it is a tree */
};
#define FRAG_FREE_SET_TREE (UINT32_C(1) << 31)

bool frag_free_set_storage_init(struct frag_free_set_storage *all);
void frag_free_set_storage_fini(struct frag_free_set_storage *all);
/* Makes *all a separate copy; to be released also where this fails. False: out of memory. */
bool frag_free_set_storage_copy(struct frag_free_set_storage *all,
				const struct frag_free_set_storage *from);

/* Arrays for two insertions, and for four removals that make a tree an array again. */
#define FRAG_SPARE_ARRAYS 6

/* Makes sure that the next two insertions cannot fail for lack of memory. */
bool frag_free_set_storage_reserve(struct frag_free_set_storage *all);
/* The same for n more arrays. */
bool frag_free_arrays_widen(struct frag_free_set_storage *all, uint64_t n);

static inline uint32_t frag_free_array_take(struct frag_free_set_storage *all)
{
	const uint32_t n = all->unused;

	if (!n) {
		FRAG_ASSERT(all->used < all->capacity);
		all->nodes.reserved = false;
		return all->used++;
	}
	all->unused = all->arrays[n].entry[0].block;
	return n;
}

static inline void frag_free_array_drop(struct frag_free_set_storage *all, uint32_t n)
{
	all->arrays[n].entry[0].block = all->unused;
	all->unused = n;
}

/* For a set that is a tree, or a full array. */
void frag_free_set_insert_long(struct frag_free_set_storage *all, struct frag_free_set *set,
			    const struct frag_entry *e);
void frag_free_set_remove_long(struct frag_free_set_storage *all, struct frag_free_set *set,
			    const struct frag_entry *e);

/* The caller has reserved memory, so insertion cannot fail. */
FRAG_INLINE void frag_free_set_insert(struct frag_free_set_storage *all,
					struct frag_free_set *set, const struct frag_entry *e)
{
	if (set->count >= FRAG_FREE_ARRAY_MAX) {
		frag_free_set_insert_long(all, set, e);
		return;
	}
	if (set->count == 0)
		set->at = frag_free_array_take(all);
	all->arrays[set->at].entry[set->count++] = *e;
}

/* Where the entry of a block is; it must be there. */
static inline struct frag_entry *frag_free_array_find(struct frag_free_set_storage *all,
					       const struct frag_free_set *set, uint32_t block)
{
	struct frag_entry *e = all->arrays[set->at].entry;

	while (e->block != block)
		e++;
	FRAG_ASSERT(e < all->arrays[set->at].entry + set->count);
	return e;
}

/* The entry must be there. */
FRAG_INLINE void frag_free_set_remove(struct frag_free_set_storage *all,
					struct frag_free_set *set, const struct frag_entry *e)
{
	struct frag_entry *hole;

	if (set->count > FRAG_FREE_ARRAY_MAX) {
		frag_free_set_remove_long(all, set, e);
		return;
	}
	hole = frag_free_array_find(all, set, e->block);
	*hole = all->arrays[set->at].entry[--set->count];
	if (set->count == 0)
		frag_free_array_drop(all, set->at);
}

/* Replaces an entry, which must be there, by another. */
FRAG_INLINE void frag_free_set_replace(struct frag_free_set_storage *all,
					 struct frag_free_set *set,
					 const struct frag_entry *old,
					 const struct frag_entry *now)
{
	if (set->count > FRAG_FREE_ARRAY_MAX) {
		frag_free_set_remove_long(all, set, old);
		frag_free_set_insert(all, set, now);
		return;
	}
	*frag_free_array_find(all, set, old->block) = *now;
}

/*
 * Returns the first entry with at least `bytes` bytes, or NULL. The subtraction wraps around for
 * smaller sizes, whose differences are then the largest, so one comparison is enough.
 */
static inline const struct frag_entry *frag_free_set_fit(const struct frag_free_set_storage *all,
						      const struct frag_free_set *set,
						      uint64_t bytes)
{
	const struct frag_entry *e, *best, *end;
	uint64_t least;

	if (set->count > FRAG_FREE_ARRAY_MAX) {
		const struct frag_entry key = { .size = bytes };

		return frag_tree_near(&all->nodes, set->at, FRAG_ORDER_SIZE, &key, false);
	}
	if (set->count == 0)
		return NULL;
	e = best = all->arrays[set->at].entry;
	end = e + set->count;
	least = e->size - bytes;
	while (++e < end) {
		const uint64_t rest = e->size - bytes;

		if (rest < least || (rest == least && frag_entry_before(e, best, FRAG_ORDER_ADDRESS))) {
			least = rest;
			best = e;
		}
	}
	return best->size >= bytes ? best : NULL;
}

/* The first entry at or after the key, or the last before it; NULL if none. */
const struct frag_entry *frag_free_set_near(const struct frag_free_set_storage *all,
					    const struct frag_free_set *set,
					    const struct frag_entry *key, bool before);

/* The last entry; NULL where there is none. */
const struct frag_entry *frag_free_set_last(const struct frag_free_set_storage *all,
					    const struct frag_free_set *set);
