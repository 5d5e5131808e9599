/* index.c - the free lists of a heap, the bins of long ones, and the largest free block of all. */
#include "heap/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "fragsim/heap.h"

_Static_assert(FRAG_SPREAD_ABOVE <= FRAG_FREE_ARRAY_MAX, "what spreads is no tree");

/* The last bin before `bin` that is not empty; FRAG_NO_BIN if none. */
static uint32_t last_full(const struct frag_bins *bins, uint32_t bin)
{
	uint32_t word = bin / 64, at = word / 64;
	uint64_t rest = bins->full[word] & ((UINT64_C(1) << bin % 64) - 1);

	FRAG_ASSERT(bin <= FRAG_BINS);
	if (rest)
		return word * 64 + frag_highest_bit(rest);
	rest = bins->summary[at] & ((UINT64_C(1) << word % 64) - 1);
	while (!rest) {
		if (at-- == 0)
			return FRAG_NO_BIN;
		rest = bins->summary[at];
	}
	word = at * 64 + frag_highest_bit(rest);
	return word * 64 + frag_highest_bit(bins->full[word]);
}

bool frag_index_init(struct frag_index *x, enum frag_order order)
{
	*x = (struct frag_index){ .order = order, .leaves = 1 };
	x->top = calloc(2, sizeof(*x->top));
	return frag_map_init(&x->list_map, 0) && frag_free_set_storage_init(&x->storage) && x->top;
}

void frag_index_fini(struct frag_index *x)
{
	FRAG_ASSERT(!x->lists || x->count <= x->capacity);
	for (uint32_t i = 0; i < x->count; i++)
		free(x->lists[i].bins);
	free(x->lists);
	free(x->top);
	frag_map_fini(&x->list_map);
	frag_free_set_storage_fini(&x->storage);
}

bool frag_index_copy(struct frag_index *x, const struct frag_index *from)
{
	bool good;

	*x = (struct frag_index){
		.order = from->order, .lists = from->lists, .list_map = from->list_map,
		.recent = from->recent, .top = from->top, .leaves = from->leaves,
	};
	good = frag_free_set_storage_copy(&x->storage, &from->storage);
	good &= frag_array_copy(&x->list_map.entries, (uint64_t)x->list_map.mask + 1, 0,
				sizeof(*x->list_map.entries));
	good &= frag_array_copy(&x->top, (uint64_t)x->leaves * 2, 0, sizeof(*x->top));
	good &= frag_array_copy(&x->lists, from->count, 0, sizeof(*x->lists));
	x->capacity = x->count = x->lists ? from->count : 0;
	for (uint32_t i = 0; i < x->count; i++)
		if (x->lists[i].bins)
			good &= frag_array_copy(&x->lists[i].bins, 1, 0, sizeof(*x->lists[i].bins));
	return good;
}

/* Doubles the tournament until it has a leaf for each of `count` lists. */
static bool index_widen(struct frag_index *x, uint32_t count)
{
	uint32_t leaves = x->leaves;
	uint64_t *top;

	if (count <= leaves)
		return true;
	leaves *= 2;
	top = calloc((size_t)leaves * 2, sizeof(*top));
	if (!top)
		return false;
	for (uint32_t i = 0; i < x->count; i++)
		top[leaves + i] = x->lists[i].largest;
	for (uint32_t i = leaves - 1; i > 0; i--)
		top[i] = top[2 * i] > top[2 * i + 1] ? top[2 * i] : top[2 * i + 1];
	free(x->top);
	x->top = top;
	x->leaves = leaves;
	return true;
}

bool frag_index_reserve_now(struct frag_index *x)
{
	return x->storage.nodes.reserved = x->order == FRAG_ORDER_SIZE
		? frag_free_set_storage_reserve(&x->storage) : frag_nodes_reserve(&x->storage.nodes);
}

bool frag_index_reserve_lists(struct frag_index *x, uint32_t n)
{
	const uint64_t count = (uint64_t)x->count + n;

	if (!frag_grow(&x->lists, &x->capacity, count, sizeof(*x->lists))
	    || !frag_map_reserve(&x->list_map, n))
		return false;
	while (x->leaves < count)
		if (!index_widen(x, x->leaves + 1))
			return false;
	return true;
}

uint32_t frag_index_list_of(struct frag_index *x, uint32_t pool, uint32_t which)
{
	const uint64_t key = (uint64_t)pool << 32 | which;
	const uint32_t list = frag_index_find_list(x, pool, which);

	if (list != FRAG_MAP_NONE)
		return x->recent = list;
	if (!FRAG_GROW(x->lists, x->capacity, x->count)
	    || !index_widen(x, x->count + 1) || !frag_map_add(&x->list_map, key, x->count))
		return UINT32_MAX;
	x->lists[x->count] = (struct frag_free_list){
		.pool = pool, .which = which, .spread_above = FRAG_SPREAD_ABOVE,
	};
	return x->count++;
}

void frag_index_set_largest(struct frag_index *x, uint32_t list, uint64_t largest)
{
	uint32_t i = x->leaves + list;

	FRAG_ASSERT(list < x->count);
	x->lists[list].largest = largest;
	x->top[i] = largest;
	while (i > 1) {
		uint64_t rival = x->top[i ^ 1];
		uint64_t winner = x->top[i] > rival ? x->top[i] : rival;

		i /= 2;
		if (x->top[i] == winner)
			break;
		x->top[i] = winner;
	}
}

/* By size: the last entry of a list; NULL if none. */
static const struct frag_entry *last_of(const struct frag_index *x, const struct frag_free_list *l)
{
	const uint32_t bin = l->bins ? last_full(l->bins, FRAG_BINS) : FRAG_NO_BIN;

	if (l->bins && bin == FRAG_NO_BIN)
		return NULL;
	return frag_free_set_last(&x->storage, l->bins ? &l->bins->set[bin] : &l->set);
}

void frag_index_measure_largest(struct frag_index *x, uint32_t list)
{
	const struct frag_entry *last = last_of(x, &x->lists[list]);

	frag_index_set_largest(x, list, last ? last->size : 0);
}

/*
 * The reservation covers the worst case, so the spread cannot fail half way: each entry may need
 * its own array, and a tree that ends needs one more; new trees, without removals, fill half of
 * their nodes.
 */
static struct frag_bins *new_bins(struct frag_index *x, uint32_t count)
{
	return frag_free_arrays_widen(&x->storage, UINT64_C(2) * count + FRAG_SPARE_ARRAYS)
	       && frag_nodes_widen(&x->storage.nodes, count / 4 + FRAG_SPARE_NODES)
		? calloc(1, sizeof(struct frag_bins)) : NULL;
}

void frag_index_spread(struct frag_index *x, struct frag_free_list *l)
{
	struct frag_bins *bins = new_bins(x, l->count);

	FRAG_ASSERT(!l->bins);
	l->spread_above = bins ? UINT32_MAX : 2 * l->spread_above;
	if (!bins)
		return;
	while (l->set.count) {
		const struct frag_entry e = *frag_free_set_fit(&x->storage, &l->set, 0);

		frag_free_set_remove(&x->storage, &l->set, &e);
		frag_bins_insert(&x->storage, bins, frag_bin_of(e.size), &e);
	}
	l->bins = bins;
}

/* By address and by key: the list has changed. */
static void renew_largest(struct frag_index *x, uint32_t list)
{
	const uint64_t largest =
		frag_tree_largest(&x->storage.nodes, x->lists[list].root, x->order);

	FRAG_ASSERT(x->order != FRAG_ORDER_SIZE);
	if (largest != x->lists[list].largest)
		frag_index_set_largest(x, list, largest);
}

void frag_index_insert_in_tree(struct frag_index *x, uint32_t list, const struct frag_entry *e,
			       uint64_t bytes)
{
	struct frag_free_list *l;

	FRAG_ASSERT(list < x->count && x->order != FRAG_ORDER_SIZE && bytes > 0);
	l = &x->lists[list];
	frag_tree_insert(&x->storage.nodes, &l->root, x->order, e, bytes);
	l->count++;
	if (bytes > l->largest)
		frag_index_set_largest(x, list, bytes);
}

void frag_index_remove_in_tree(struct frag_index *x, uint32_t list, const struct frag_entry *e,
			       uint64_t bytes)
{
	struct frag_free_list *l;

	FRAG_ASSERT(list < x->count);
	l = &x->lists[list];
	FRAG_ASSERT(l->count > 0 && bytes <= l->largest);
	frag_tree_remove(&x->storage.nodes, &l->root, x->order, e);
	l->count--;
	if (bytes == l->largest)
		renew_largest(x, list);
}

void frag_index_replace_by_address(struct frag_index *x, uint32_t list,
				   const struct frag_entry *old, const struct frag_entry *now)
{
	FRAG_ASSERT(list < x->count);
	frag_tree_replace(&x->storage.nodes, x->lists[list].root, old, now);
	renew_largest(x, list);
}

const struct frag_entry *frag_index_find_last(const struct frag_index *x, uint32_t list,
					      uint64_t bytes)
{
	const struct frag_free_list *l;

	FRAG_ASSERT(list < x->count);
	l = &x->lists[list];
	if (bytes > l->largest)
		return NULL;
	if (x->order != FRAG_ORDER_SIZE)
		return frag_tree_fit_last(&x->storage.nodes, l->root, x->order, bytes);
	return last_of(x, l);
}

const struct frag_entry *frag_index_near(const struct frag_index *x, uint32_t list,
					 const struct frag_entry *key, bool before)
{
	const struct frag_free_list *l;
	const struct frag_entry *found;
	uint32_t bin;

	FRAG_ASSERT(list < x->count);
	l = &x->lists[list];
	if (x->order != FRAG_ORDER_SIZE)
		return frag_tree_near(&x->storage.nodes, l->root, x->order, key, before);
	if (!l->bins)
		return frag_free_set_near(&x->storage, &l->set, key, before);
	bin = frag_bin_of(key->size);
	found = frag_free_set_near(&x->storage, &l->bins->set[bin], key, before);
	if (found)
		return found;
	bin = before ? last_full(l->bins, bin) : frag_next_full(l->bins, bin);
	return bin == FRAG_NO_BIN ? NULL
	       : frag_free_set_near(&x->storage, &l->bins->set[bin], key, before);
}

const struct frag_entry *frag_index_find_from(const struct frag_index *x, uint32_t list,
					      uint64_t bytes, const struct frag_entry *from)
{
	static const struct frag_entry first = { .size = 0 };
	const struct frag_free_list *l;

	FRAG_ASSERT(list < x->count && x->order != FRAG_ORDER_SIZE);
	l = &x->lists[list];
	if (bytes > l->largest)
		return NULL;
	return frag_tree_fit(&x->storage.nodes, l->root, x->order, from ? from : &first, bytes);
}

