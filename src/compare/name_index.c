/* name_index.c - which of many things has a name, found by halving a sorted list. */
#include "compare/name_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"

static int name_order(const struct frag_name *a, const struct frag_name *b)
{
	int order = (a->device > b->device) - (a->device < b->device);

	order = order ? order : strcmp(a->text, b->text);
	return order ? order : strcmp(a->more, b->more);
}

static int by_name(const void *a, const void *b)
{
	const struct frag_name *x = a, *y = b;
	const int order = name_order(x, y);

	return order ? order : (x->index > y->index) - (x->index < y->index);
}

bool frag_lookup_init(struct frag_lookup *l, uint32_t max)
{
	l->count = 0;
	l->name = malloc(((size_t)max + 1) * sizeof(*l->name));
	return l->name != NULL;
}

void frag_lookup_fini(struct frag_lookup *l)
{
	free(l->name);
}

void frag_lookup_sort(struct frag_lookup *l)
{
	FRAG_SORT(l->name, l->count, by_name);
}

/* Where the name is, with its index, or would be. */
static uint32_t name_index_place_of(const struct frag_lookup *l, const struct frag_name *name,
				    uint32_t index)
{
	struct frag_name wanted = *name;
	uint32_t low;

	wanted.index = index;
	FRAG_COUNT_WHILE(low, l->count, by_name(&l->name[low], &wanted) < 0);
	return low;
}

uint32_t frag_lookup_find(const struct frag_lookup *l, const struct frag_name *name, bool *alone)
{
	const uint32_t at = name_index_place_of(l, name, 0);

	if (at == l->count || name_order(&l->name[at], name) != 0)
		return UINT32_MAX;
	if (alone)
		*alone = at + 1 == l->count || name_order(&l->name[at + 1], name) != 0;
	return l->name[at].index;
}

uint32_t frag_lookup_rank(const struct frag_lookup *l, const struct frag_name *name)
{
	return name_index_place_of(l, name, name->index) - name_index_place_of(l, name, 0);
}

uint32_t frag_lookup_ranked(const struct frag_lookup *l, const struct frag_name *name,
			    uint32_t rank)
{
	const uint32_t first = name_index_place_of(l, name, 0),
		       end = name_index_place_of(l, name, UINT32_MAX);

	if (first == end)
		return UINT32_MAX;
	return l->name[rank < end - first ? first + rank : end - 1].index;
}
