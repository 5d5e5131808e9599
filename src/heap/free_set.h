/*
 * free_set.h - a set of free blocks in the order of size, then address, that is mostly small.
 *
 * The entries of a small set are adjacent and unordered: inserting or replacing one does not
 * read the others, and a search reads one or two cache lines. A set that grows long becomes a
 * tree, and an array again when few entries are left: every operation takes O(log n) for any
 * sizes.
 */
#ifndef HEAP_FREE_SET_H
#define HEAP_FREE_SET_H

#include "base/bug.h"
#include "heap/tree.h"

#define FRAG_FEW 16             /* the maximum number of entries of an array */

/* The entries of a small set. The first entry of an unused array links to the next unused one. */
struct frag_free_array {
	struct frag_entry entry[FRAG_FEW];
};

/* What bunches share. */
struct frag_bunches {
	struct frag_nodes nodes;        /* of trees */
	struct frag_free_array *few;           /* number 0 is not used */
	uint32_t used, capacity;
	uint32_t unused;                /* a list of them, 0: none */
};

/* All zeros is an empty one. */
struct frag_free_set {
	uint32_t at;            /* number of its few; or the root of the tree */
	uint32_t count;         /* with FRAG_BUNCH_TREE: it is a tree */
};
#define FRAG_BUNCH_TREE (UINT32_C(1) << 31)

bool frag_bunches_init(struct frag_bunches *all);
void frag_bunches_fini(struct frag_bunches *all);
/* On entry *all is a borrowed copy of another struct; on return it owns its memory. */
bool frag_bunches_copy(struct frag_bunches *all);

/* Of two insertions, and of four removals that leave few of a tree. */
#define FRAG_SPARE_FEW 6

/* Reserves n more arrays. Returns false on out of memory. */
bool frag_few_widen(struct frag_bunches *all, uint64_t n);

/* Makes sure that the next two insertions cannot fail for lack of memory. */
static inline bool frag_bunches_reserve(struct frag_bunches *all)
{
	return frag_nodes_reserve(&all->nodes)
	       && (all->used + FRAG_SPARE_FEW <= all->capacity
		   || frag_few_widen(all, FRAG_SPARE_FEW));
}

static inline uint32_t frag_few_take(struct frag_bunches *all)
{
	const uint32_t n = all->unused;

	if (!n) {
		FRAG_ASSERT(all->used < all->capacity);
		all->nodes.roomy = false;
		return all->used++;
	}
	all->unused = all->few[n].entry[0].block;
	return n;
}

static inline void frag_few_drop(struct frag_bunches *all, uint32_t n)
{
	all->few[n].entry[0].block = all->unused;
	all->unused = n;
}

/* Where the bunch is as long as it may be, or a tree. */
void frag_bunch_insert_long(struct frag_bunches *all, struct frag_free_set *bunch,
			    const struct frag_entry *e);
void frag_bunch_remove_long(struct frag_bunches *all, struct frag_free_set *bunch,
			    const struct frag_entry *e);

/* The caller has reserved memory, so insertion cannot fail. */
__attribute__((always_inline))
static inline void frag_bunch_insert(struct frag_bunches *all, struct frag_free_set *bunch,
				     const struct frag_entry *e)
{
	if (bunch->count >= FRAG_FEW) {
		frag_bunch_insert_long(all, bunch, e);
		return;
	}
	if (bunch->count == 0)
		bunch->at = frag_few_take(all);
	all->few[bunch->at].entry[bunch->count++] = *e;
}

/* Where the entry of a block is; it must be there. */
static inline struct frag_entry *frag_few_find(struct frag_bunches *all,
					       const struct frag_free_set *bunch, uint32_t block)
{
	struct frag_entry *e = all->few[bunch->at].entry;

	while (e->block != block)
		e++;
	FRAG_ASSERT(e < all->few[bunch->at].entry + bunch->count);
	return e;
}

/* The entry must be there. */
__attribute__((always_inline))
static inline void frag_bunch_remove(struct frag_bunches *all, struct frag_free_set *bunch,
				     const struct frag_entry *e)
{
	struct frag_entry *hole;

	if (bunch->count > FRAG_FEW) {
		frag_bunch_remove_long(all, bunch, e);
		return;
	}
	hole = frag_few_find(all, bunch, e->block);
	*hole = all->few[bunch->at].entry[--bunch->count];
	if (bunch->count == 0)
		frag_few_drop(all, bunch->at);
}

/* One entry goes, another comes. */
__attribute__((always_inline))
static inline void frag_bunch_replace(struct frag_bunches *all, struct frag_free_set *bunch,
				      const struct frag_entry *old, const struct frag_entry *now)
{
	if (bunch->count > FRAG_FEW) {
		frag_bunch_remove_long(all, bunch, old);
		frag_bunch_insert(all, bunch, now);
		return;
	}
	*frag_few_find(all, bunch, old->block) = *now;
}

/*
 * Returns the first entry with at least `bytes` bytes, or NULL. The subtraction wraps around for
 * smaller sizes, whose differences are then the largest, so one comparison is enough.
 */
static inline const struct frag_entry *frag_bunch_fit(const struct frag_bunches *all,
						      const struct frag_free_set *bunch,
						      uint64_t bytes)
{
	const struct frag_entry *e, *best, *end;
	uint64_t least;

	if (bunch->count > FRAG_FEW) {
		const struct frag_entry key = { .size = bytes };

		return frag_tree_lower_bound(&all->nodes, bunch->at, FRAG_BY_SIZE, &key);
	}
	if (bunch->count == 0)
		return NULL;
	e = best = all->few[bunch->at].entry;
	end = e + bunch->count;
	least = e->size - bytes;
	while (++e < end) {
		const uint64_t rest = e->size - bytes;

		if (rest < least || (rest == least && frag_before(e, best, FRAG_BY_ADDRESS))) {
			least = rest;
			best = e;
		}
	}
	return best->size >= bytes ? best : NULL;
}

/* The first entry of all, the last of all; NULL if none. */
static inline const struct frag_entry *frag_bunch_first(const struct frag_bunches *all,
							const struct frag_free_set *bunch)
{
	return frag_bunch_fit(all, bunch, 0);
}

const struct frag_entry *frag_bunch_last(const struct frag_bunches *all,
					 const struct frag_free_set *bunch);

/* The first entry at or after the key, the last before it; NULL if none. */
const struct frag_entry *frag_bunch_lower_bound(const struct frag_bunches *all,
						const struct frag_free_set *bunch,
						const struct frag_entry *key);
const struct frag_entry *frag_bunch_before(const struct frag_bunches *all,
					   const struct frag_free_set *bunch,
					   const struct frag_entry *key);

#endif
