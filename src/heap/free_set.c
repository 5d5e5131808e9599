/* free_set.c - the large sets of free blocks, and the rare operations. */
#include "heap/free_set.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/array_grow.h"

/*
 * A tree with this number of entries becomes an array again. The number is well below FRAG_FEW,
 * so that a set does not alternate between the two.
 */
#define FEW_AGAIN (FRAG_FEW / 2)

/* Two bunches that become trees take fewer nodes than two insertions into high ones. */
_Static_assert(FRAG_FEW <= FRAG_FANOUT, "a tree of one entry more takes three nodes");

bool frag_bunches_init(struct frag_bunches *all)
{
	*all = (struct frag_bunches){ .used = 1 };
	return frag_nodes_init(&all->nodes);
}

void frag_bunches_fini(struct frag_bunches *all)
{
	free(all->few);
	frag_nodes_fini(&all->nodes);
}

bool frag_bunches_copy(struct frag_bunches *all)
{
	bool good = frag_array_copy(&all->nodes.nodes, all->nodes.used, FRAG_SPARE_NODES,
				    sizeof(*all->nodes.nodes));

	all->nodes.capacity = all->nodes.used + FRAG_SPARE_NODES;
	if (!all->few)
		return good;
	all->capacity = all->used + FRAG_SPARE_FEW;
	return good & frag_array_copy(&all->few, all->used, FRAG_SPARE_FEW, sizeof(*all->few));
}

bool frag_few_widen(struct frag_bunches *all, uint64_t n)
{
	return frag_grow(&all->few, &all->capacity, all->used + n, sizeof(*all->few));
}

static void plant(struct frag_bunches *all, struct frag_free_set *bunch)
{
	const struct frag_free_array *few = &all->few[bunch->at];
	frag_root root = 0;

	FRAG_ASSERT(!(bunch->count & FRAG_BUNCH_TREE) && bunch->count);
	for (uint32_t i = 0; i < bunch->count; i++)
		frag_tree_insert(&all->nodes, &root, FRAG_BY_SIZE, &few->entry[i]);
	frag_few_drop(all, bunch->at);
	bunch->at = root;
	bunch->count |= FRAG_BUNCH_TREE;
}

void frag_bunch_insert_long(struct frag_bunches *all, struct frag_free_set *bunch,
			    const struct frag_entry *e)
{
	if (!(bunch->count & FRAG_BUNCH_TREE))
		plant(all, bunch);
	frag_tree_insert(&all->nodes, &bunch->at, FRAG_BY_SIZE, e);
	bunch->count++;
}

void frag_bunch_remove_long(struct frag_bunches *all, struct frag_free_set *bunch,
			    const struct frag_entry *e)
{
	uint32_t few;

	FRAG_ASSERT(bunch->count & FRAG_BUNCH_TREE && bunch->at);
	frag_tree_remove(&all->nodes, &bunch->at, FRAG_BY_SIZE, e);
	if (--bunch->count > (FRAG_BUNCH_TREE | FEW_AGAIN))
		return;
	few = frag_few_take(all);
	frag_tree_flatten(&all->nodes, bunch->at, all->few[few].entry);
	bunch->at = few;
	bunch->count = FEW_AGAIN;
}

const struct frag_entry *frag_bunch_last(const struct frag_bunches *all,
					 const struct frag_free_set *bunch)
{
	const struct frag_entry *e, *best;

	if (bunch->count > FRAG_FEW)
		return frag_tree_last(&all->nodes, bunch->at);
	if (bunch->count == 0)
		return NULL;
	e = best = all->few[bunch->at].entry;
	for (uint32_t i = 1; i < bunch->count; i++)
		if (frag_before(best, &e[i], FRAG_BY_SIZE))
			best = &e[i];
	return best;
}

const struct frag_entry *frag_bunch_lower_bound(const struct frag_bunches *all,
						const struct frag_free_set *bunch,
						const struct frag_entry *key)
{
	const struct frag_entry *best = NULL, *e;

	if (bunch->count > FRAG_FEW)
		return frag_tree_lower_bound(&all->nodes, bunch->at, FRAG_BY_SIZE, key);
	if (bunch->count == 0)
		return NULL;
	e = all->few[bunch->at].entry;
	for (const struct frag_entry *end = e + bunch->count; e < end; e++)
		if (!frag_before(e, key, FRAG_BY_SIZE)
		    && (!best || frag_before(e, best, FRAG_BY_SIZE)))
			best = e;
	return best;
}

const struct frag_entry *frag_bunch_before(const struct frag_bunches *all,
					   const struct frag_free_set *bunch,
					   const struct frag_entry *key)
{
	const struct frag_entry *best = NULL, *e;

	if (bunch->count > FRAG_FEW)
		return frag_tree_before(&all->nodes, bunch->at, FRAG_BY_SIZE, key);
	if (bunch->count == 0)
		return NULL;
	e = all->few[bunch->at].entry;
	for (const struct frag_entry *end = e + bunch->count; e < end; e++)
		if (frag_before(e, key, FRAG_BY_SIZE)
		    && (!best || frag_before(best, e, FRAG_BY_SIZE)))
			best = e;
	return best;
}
