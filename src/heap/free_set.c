/* free_set.c - sets of free blocks: an array while they are few, a tree from then on. */
#include "heap/free_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"

/*
 * A tree with this number of entries becomes an array again. The number is well below
 * FRAG_FREE_ARRAY_MAX, so that a set does not alternate between the two.
 */
#define ARRAY_AGAIN (FRAG_FREE_ARRAY_MAX / 2)

/* Two arrays that become trees take fewer nodes than two insertions into the tallest trees. */
_Static_assert(FRAG_FREE_ARRAY_MAX <= FRAG_FANOUT, "a tree of one entry more takes three nodes");

bool frag_free_set_storage_init(struct frag_free_set_storage *all)
{
	*all = (struct frag_free_set_storage){ .used = 1 };
	return frag_nodes_init(&all->nodes);
}

void frag_free_set_storage_fini(struct frag_free_set_storage *all)
{
	free(all->arrays);
	frag_nodes_fini(&all->nodes);
}

bool frag_free_set_storage_copy(struct frag_free_set_storage *all,
				const struct frag_free_set_storage *from)
{
	bool good;

	*all = (struct frag_free_set_storage){
		.nodes = {
			.nodes = from->nodes.nodes, .used = from->nodes.used,
			.capacity = from->nodes.used + FRAG_SPARE_NODES,
			.unused = from->nodes.unused, .reserved = from->nodes.reserved,
		},
		.arrays = from->arrays, .used = from->used, .unused = from->unused,
		.capacity = from->arrays ? from->used + FRAG_SPARE_ARRAYS : 0,
	};
	good = frag_array_copy(&all->nodes.nodes, all->nodes.used, FRAG_SPARE_NODES,
			       sizeof(*all->nodes.nodes));
	if (all->arrays)
		good &= frag_array_copy(&all->arrays, all->used, FRAG_SPARE_ARRAYS,
					sizeof(*all->arrays));
	return good;
}

bool frag_free_arrays_widen(struct frag_free_set_storage *all, uint64_t n)
{
	return frag_grow(&all->arrays, &all->capacity, all->used + n, sizeof(*all->arrays));
}

bool frag_free_set_storage_reserve(struct frag_free_set_storage *all)
{
	return frag_nodes_reserve(&all->nodes) && frag_free_arrays_widen(all, FRAG_SPARE_ARRAYS);
}

/* Makes a full array a tree, so that the set can grow. */
static void array_to_tree(struct frag_free_set_storage *all, struct frag_free_set *set)
{
	const struct frag_free_array *array = &all->arrays[set->at];
	frag_root root = 0;

	FRAG_ASSERT(!(set->count & FRAG_FREE_SET_TREE) && set->count);
	for (uint32_t i = 0; i < set->count; i++)
		frag_tree_insert(&all->nodes, &root, FRAG_ORDER_SIZE, &array->entry[i], 0);
	frag_free_array_drop(all, set->at);
	set->at = root;
	set->count |= FRAG_FREE_SET_TREE;
}

void frag_free_set_insert_long(struct frag_free_set_storage *all, struct frag_free_set *set,
			       const struct frag_entry *e)
{
	if (!(set->count & FRAG_FREE_SET_TREE))
		array_to_tree(all, set);
	frag_tree_insert(&all->nodes, &set->at, FRAG_ORDER_SIZE, e, 0);
	set->count++;
}

void frag_free_set_remove_long(struct frag_free_set_storage *all, struct frag_free_set *set,
			       const struct frag_entry *e)
{
	uint32_t array;

	FRAG_ASSERT(set->count & FRAG_FREE_SET_TREE && set->at);
	frag_tree_remove(&all->nodes, &set->at, FRAG_ORDER_SIZE, e);
	if (--set->count > (FRAG_FREE_SET_TREE | ARRAY_AGAIN))
		return;
	array = frag_free_array_take(all);
	frag_tree_flatten(&all->nodes, set->at, all->arrays[array].entry);
	set->at = array;
	set->count = ARRAY_AGAIN;
}

const struct frag_entry *frag_free_set_near(const struct frag_free_set_storage *all,
					    const struct frag_free_set *set,
					    const struct frag_entry *key, bool before)
{
	const struct frag_entry *best = NULL, *e, *end;

	if (set->count > FRAG_FREE_ARRAY_MAX)
		return frag_tree_near(&all->nodes, set->at, FRAG_ORDER_SIZE, key, before);
	if (set->count == 0)
		return NULL;
	e = all->arrays[set->at].entry;
	for (end = e + set->count; e < end; e++)
		if (frag_entry_before(e, key, FRAG_ORDER_SIZE) == before
		    && (!best || frag_entry_before(e, best, FRAG_ORDER_SIZE) != before))
			best = e;
	return best;
}

const struct frag_entry *frag_free_set_last(const struct frag_free_set_storage *all,
					    const struct frag_free_set *set)
{
	/* after every entry, in any order */
	static const struct frag_entry beyond_all = {
		.size = UINT64_MAX, .offset = UINT64_MAX, .tie = UINT32_MAX,
	};

	return frag_free_set_near(all, set, &beyond_all, true);
}
