/* index.c - the free lists, and the largest free block over all of them. */
#include "heap/index.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/grow.h"
#include "fragsim/heap.h"

#define BINS_OCTAVE_BITS 5
#define BINS_OCTAVE (1U << BINS_OCTAVE_BITS)
#define BINS ((64 - BINS_OCTAVE_BITS + 1) * BINS_OCTAVE)
#define BINS_WORDS ((BINS + 63) / 64)
#define SPREAD_ABOVE 32         /* entries: a list this long gets bins */

struct frag_bins {
	uint64_t summary;               /* words of `full` that are not 0 */
	uint64_t full[BINS_WORDS];      /* bins that are not empty */
	frag_root root[BINS];
};

_Static_assert(BINS_WORDS <= 64, "one word must summarise the bitmap");

static inline uint32_t highest_bit(uint64_t x)
{
	return 63 - (uint32_t)__builtin_clzll(x);
}

/* Sizes below one octave have a bin each; then 32 bins to an octave. */
static inline uint32_t bin_of(uint64_t size)
{
	uint32_t octave;

	if (size < BINS_OCTAVE)
		return (uint32_t)size;
	octave = highest_bit(size) - BINS_OCTAVE_BITS;
	return octave * BINS_OCTAVE + (uint32_t)(size >> octave);
}

/* The first bin at or after `bin` that is not empty; BINS if none. */
static uint32_t next_full(const struct frag_bins *bins, uint32_t bin)
{
	uint32_t word = bin / 64;
	uint64_t rest;

	if (bin >= BINS)
		return BINS;
	rest = bins->full[word] >> bin % 64;
	if (rest)
		return bin + (uint32_t)__builtin_ctzll(rest);
	rest = word + 1 < 64 ? bins->summary >> (word + 1) : 0;
	if (!rest)
		return BINS;
	word += 1 + (uint32_t)__builtin_ctzll(rest);
	return word * 64 + (uint32_t)__builtin_ctzll(bins->full[word]);
}

/* The last bin before `bin` that is not empty; BINS if none. */
static uint32_t last_full(const struct frag_bins *bins, uint32_t bin)
{
	uint32_t word = bin / 64;
	uint64_t rest = bins->full[word] & ((UINT64_C(1) << bin % 64) - 1);

	if (!rest) {
		rest = bins->summary & ((UINT64_C(1) << word) - 1);
		if (!rest)
			return BINS;
		word = highest_bit(rest);
		rest = bins->full[word];
	}
	return word * 64 + highest_bit(rest);
}

static void bins_insert(struct frag_nodes *nodes, struct frag_bins *bins,
			const struct frag_entry *e)
{
	uint32_t bin = bin_of(e->size);

	frag_tree_insert(nodes, &bins->root[bin], FRAG_BY_SIZE, e);
	bins->full[bin / 64] |= UINT64_C(1) << bin % 64;
	bins->summary |= UINT64_C(1) << bin / 64;
}

static void bins_remove(struct frag_nodes *nodes, struct frag_bins *bins,
			const struct frag_entry *e)
{
	uint32_t bin = bin_of(e->size);

	frag_tree_remove(nodes, &bins->root[bin], FRAG_BY_SIZE, e);
	if (bins->root[bin])
		return;
	bins->full[bin / 64] &= ~(UINT64_C(1) << bin % 64);
	if (!bins->full[bin / 64])
		bins->summary &= ~(UINT64_C(1) << bin / 64);
}

bool frag_index_init(struct frag_index *x, enum frag_order order)
{
	*x = (struct frag_index){ .order = order, .leaves = 1 };
	x->top = calloc(2, sizeof(*x->top));
	return frag_map_init(&x->by_key, 0) && frag_nodes_init(&x->nodes) && x->top;
}

void frag_index_fini(struct frag_index *x)
{
	for (uint32_t i = 0; i < x->count; i++)
		free(x->lists[i].bins);
	free(x->lists);
	free(x->top);
	frag_map_fini(&x->by_key);
	frag_nodes_fini(&x->nodes);
}

bool frag_index_copy(struct frag_index *x)
{
	bool good = frag_array_copy(&x->nodes.nodes, x->nodes.used, FRAG_SPARE_NODES,
				    sizeof(*x->nodes.nodes));

	x->nodes.capacity = x->nodes.used + FRAG_SPARE_NODES;
	good &= frag_map_copy(&x->by_key);
	good &= frag_array_copy(&x->top, (uint64_t)x->leaves * 2, 0, sizeof(*x->top));
	good &= frag_array_copy(&x->lists, x->count, 0, sizeof(*x->lists));
	x->capacity = x->count = x->lists ? x->count : 0;
	for (uint32_t i = 0; i < x->count; i++)
		if (x->lists[i].bins)
			good &= frag_array_copy(&x->lists[i].bins, 1, 0, sizeof(*x->lists[i].bins));
	return good;
}

/* Doubles the tournament until it has a leaf for each of `count` lists. */
static bool widen(struct frag_index *x, uint32_t count)
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

bool frag_index_reserve_lists(struct frag_index *x, uint32_t n)
{
	const uint64_t count = (uint64_t)x->count + n;

	if (!frag_grow(&x->lists, &x->capacity, count, sizeof(*x->lists))
	    || !frag_map_reserve(&x->by_key, n))
		return false;
	while (x->leaves < count)
		if (!widen(x, x->leaves + 1))
			return false;
	return true;
}

uint32_t frag_index_list(struct frag_index *x, uint32_t pool, uint32_t which)
{
	uint64_t key = (uint64_t)pool << 32 | which;
	uint32_t list = x->recent;

	if (list < x->count && x->lists[list].pool == pool && x->lists[list].which == which)
		return list;
	list = frag_map_get(&x->by_key, key);
	if (list != FRAG_MAP_NONE)
		return x->recent = list;
	if (!frag_grow(&x->lists, &x->capacity, (uint64_t)x->count + 1, sizeof(*x->lists))
	    || !widen(x, x->count + 1) || !frag_map_add(&x->by_key, key, x->count))
		return UINT32_MAX;
	x->lists[x->count] = (struct frag_free_list){ .pool = pool, .which = which };
	return x->count++;
}

static void set_largest(struct frag_index *x, uint32_t list, uint64_t largest)
{
	uint32_t i = x->leaves + list;

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
	uint32_t word;

	if (!l->bins)
		return frag_tree_last(&x->nodes, l->root);
	if (!l->bins->summary)
		return NULL;
	word = highest_bit(l->bins->summary);
	return frag_tree_last(&x->nodes,
			      l->bins->root[word * 64 + highest_bit(l->bins->full[word])]);
}

static uint64_t measure_largest(const struct frag_index *x, const struct frag_free_list *l)
{
	const struct frag_entry *last;

	if (x->order != FRAG_BY_SIZE)
		return frag_tree_largest(&x->nodes, l->root, x->order);
	last = last_of(x, l);
	return last ? last->size : 0;
}

/* Moves a list's entries from one tree to bins; without memory it stays a tree. */
static void spread(struct frag_index *x, struct frag_free_list *l)
{
	if (!frag_nodes_reserve(&x->nodes))
		return;
	l->bins = calloc(1, sizeof(*l->bins));
	while (l->bins && l->root) {
		struct frag_entry e;

		if (!frag_nodes_reserve(&x->nodes))
			return; /* cannot be: each round frees before it needs */
		e = *frag_tree_first(&x->nodes, l->root);
		frag_tree_remove(&x->nodes, &l->root, FRAG_BY_SIZE, &e);
		bins_insert(&x->nodes, l->bins, &e);
	}
}

void frag_index_insert(struct frag_index *x, uint32_t list, const struct frag_entry *e)
{
	struct frag_free_list *l = &x->lists[list];

	FRAG_ASSERT(list < x->count && e->size > 0);
	if (l->bins)
		bins_insert(&x->nodes, l->bins, e);
	else if (x->order == FRAG_BY_SIZE)
		frag_tree_insert(&x->nodes, &l->root, FRAG_BY_SIZE, e);
	else
		frag_tree_insert(&x->nodes, &l->root, FRAG_BY_ADDRESS, e);
	l->count++;
	if (e->size > l->largest)
		set_largest(x, list, e->size);
	if (l->count > SPREAD_ABOVE && !l->bins && x->order == FRAG_BY_SIZE)
		spread(x, l);
}

void frag_index_remove(struct frag_index *x, uint32_t list, const struct frag_entry *e)
{
	struct frag_free_list *l = &x->lists[list];

	FRAG_ASSERT(list < x->count && l->count > 0 && e->size <= l->largest);
	if (l->bins)
		bins_remove(&x->nodes, l->bins, e);
	else if (x->order == FRAG_BY_SIZE)
		frag_tree_remove(&x->nodes, &l->root, FRAG_BY_SIZE, e);
	else
		frag_tree_remove(&x->nodes, &l->root, FRAG_BY_ADDRESS, e);
	l->count--;
	if (e->size == l->largest)
		set_largest(x, list, measure_largest(x, l));
}

void frag_index_replace(struct frag_index *x, uint32_t list, const struct frag_entry *old,
			const struct frag_entry *now)
{
	struct frag_free_list *l = &x->lists[list];
	uint64_t largest;

	if (x->order == FRAG_BY_SIZE) {
		frag_index_remove(x, list, old);
		frag_index_insert(x, list, now);
		return;
	}
	frag_tree_resize(&x->nodes, l->root, old, now);
	largest = frag_tree_largest(&x->nodes, l->root, FRAG_BY_ADDRESS);
	if (largest != l->largest)
		set_largest(x, list, largest);
}

void frag_index_insert_keyed(struct frag_index *x, uint32_t list, const struct frag_entry *e,
			     uint64_t bytes)
{
	struct frag_free_list *l = &x->lists[list];

	frag_tree_insert_keyed(&x->nodes, &l->root, e, bytes);
	l->count++;
	if (bytes > l->largest)
		set_largest(x, list, bytes);
}

void frag_index_remove_keyed(struct frag_index *x, uint32_t list, const struct frag_entry *e)
{
	struct frag_free_list *l = &x->lists[list];
	uint64_t largest;

	frag_tree_remove_below(&x->nodes, &l->root, FRAG_BY_KEY, e);
	l->count--;
	largest = measure_largest(x, l);
	if (largest != l->largest)
		set_largest(x, list, largest);
}

const struct frag_entry *frag_index_find(const struct frag_index *x, uint32_t list, uint64_t bytes)
{
	const struct frag_free_list *l = &x->lists[list];
	static const struct frag_entry first = { .size = 0 };
	const struct frag_entry key = { .size = bytes };

	if (bytes > l->largest)
		return NULL;
	if (x->order != FRAG_BY_SIZE)
		return frag_tree_fit(&x->nodes, l->root, x->order, &first, bytes);
	return frag_index_lower_bound(x, list, &key);
}

const struct frag_entry *frag_index_find_last(const struct frag_index *x, uint32_t list,
					      uint64_t bytes)
{
	const struct frag_free_list *l = &x->lists[list];

	if (bytes > l->largest)
		return NULL;
	if (x->order != FRAG_BY_SIZE)
		return frag_tree_fit_last(&x->nodes, l->root, x->order, bytes);
	return last_of(x, l);
}

const struct frag_entry *frag_index_lower_bound(const struct frag_index *x, uint32_t list,
						const struct frag_entry *key)
{
	const struct frag_free_list *l = &x->lists[list];
	const struct frag_entry *found;
	uint32_t bin;

	if (!l->bins)
		return frag_tree_lower_bound(&x->nodes, l->root, x->order, key);
	bin = bin_of(key->size);
	found = frag_tree_lower_bound(&x->nodes, l->bins->root[bin], FRAG_BY_SIZE, key);
	if (found)
		return found;
	bin = next_full(l->bins, bin + 1);
	return bin < BINS ? frag_tree_first(&x->nodes, l->bins->root[bin]) : NULL;
}

const struct frag_entry *frag_index_before(const struct frag_index *x, uint32_t list,
					   const struct frag_entry *key)
{
	const struct frag_free_list *l = &x->lists[list];
	const struct frag_entry *found;
	uint32_t bin;

	if (!l->bins)
		return frag_tree_before(&x->nodes, l->root, x->order, key);
	bin = bin_of(key->size);
	found = frag_tree_before(&x->nodes, l->bins->root[bin], FRAG_BY_SIZE, key);
	if (found)
		return found;
	bin = last_full(l->bins, bin);
	return bin < BINS ? frag_tree_last(&x->nodes, l->bins->root[bin]) : NULL;
}

const struct frag_entry *frag_index_find_from(const struct frag_index *x, uint32_t list,
					      uint64_t bytes, const struct frag_entry *from)
{
	const struct frag_free_list *l = &x->lists[list];

	return bytes > l->largest ? NULL
				  : frag_tree_fit(&x->nodes, l->root, x->order, from, bytes);
}

const struct frag_index_ops frag_index_size = { .name = "size", .order = FRAG_BY_SIZE };
const struct frag_index_ops frag_index_address = { .name = "address", .order = FRAG_BY_ADDRESS };
const struct frag_index_ops frag_index_key = { .name = "key", .order = FRAG_BY_KEY };
