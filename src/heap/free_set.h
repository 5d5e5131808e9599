/*
 * free_set.h - a set of free blocks in the order of size, then address, that is mostly small.
 *
 * While it is small its entries are side by side, in no order: one is put in or replaced without
 * a look at the others, and found by a walk over a line or two of the cache. A bunch that would
 * grow long becomes a tree, and is few again where little of it is left: so whatever the sizes
 * are, nothing takes more than a logarithm.
 */
#ifndef HEAP_FREE_SET_H
#define HEAP_FREE_SET_H

#include "base/bug.h"
#include "heap/tree.h"

#define FRAG_FEW 16             /* entries: so many one walk may pass */

/* The entries of a bunch that is small; of an unused one the first says which is the next. */
struct frag_free_array {
	struct frag_entry entry[FRAG_FEW];
};

/* What bunches share. */
struct frag_bunches {
	struct frag_nodes nodes;        /* of trees */
	struct frag_free_array *few;           /* number 0 is nobody's */
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
/* *all is a borrowed copy of another one's struct, and becomes one of its own. */
bool frag_bunches_copy(struct frag_bunches *all);

/* Of two insertions, and of four removals that leave few of a tree. */
#define FRAG_SPARE_FEW 6

/* Makes room for so many more few. False: out of memory. */
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

/* Room is reserved: nothing can fail. */
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
 * The first entry with at least so many bytes; NULL if none. Sizes that are too small wrap around
 * and are the most of all, so that one comparison does.
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
