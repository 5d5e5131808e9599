/* greedy_placement.c - items put into a space one after the other, in an order. */
#include "plan/greedy_placement.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"

#define NONE UINT32_MAX
#define WORD 64

/* Calls of visit(node) for the nodes that make [from, to). */
#define FOR_NODES(shelf, item, node, body)                                                     \
	for (uint32_t low_ = (shelf)->space->from[item] + (shelf)->leaves,                      \
		      high_ = (shelf)->space->to[item] + (shelf)->leaves;                       \
	     low_ < high_; low_ /= 2, high_ /= 2) {                                             \
		uint32_t node;                                                                  \
		if (low_ & 1) {                                                                 \
			node = low_++;                                                          \
			body;                                                                   \
		}                                                                               \
		if (high_ & 1) {                                                                \
			node = --high_;                                                         \
			body;                                                                   \
		}                                                                               \
	}

/* How many ranges each node will have is known, as all items are put in sooner or later. */
static bool lay_out(struct frag_greedy *shelf)
{
	const struct frag_space *s = shelf->space;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->count; i++)
		FOR_NODES(shelf, i, node, shelf->first[node + 1]++);
	for (uint32_t n = 0; n <= 2 * shelf->leaves; n++) {
		sum += shelf->first[n];
		if (sum > INT32_MAX)
			return false;
		shelf->first[n] = (uint32_t)sum;
	}
	shelf->ranges = malloc((sum + 1) * sizeof(*shelf->ranges));
	return shelf->ranges != NULL;
}

int frag_shelf_init(struct frag_greedy *shelf, struct frag_space *space,
		    const struct frag_plan_stop *stop, struct frag_error *err)
{
	uint32_t leaves = 1;

	while (leaves < space->times)
		leaves *= 2;
	*shelf = (struct frag_greedy){
		.space = space, .leaves = leaves, .stop = stop,
		.first = calloc(2 * (size_t)leaves + 2, sizeof(uint32_t)),
		.filled = calloc(2 * (size_t)leaves + 2, sizeof(uint32_t)),
		.begins = malloc(((size_t)space->times + 1) * sizeof(uint32_t)),
		.next = malloc(((size_t)space->count + 1) * sizeof(uint32_t)),
		.marked = calloc((size_t)space->times / WORD + 2, sizeof(uint64_t)),
	};
	if (!shelf->first || !shelf->filled || !shelf->begins || !shelf->next || !shelf->marked
	    || !lay_out(shelf))
		return frag_fail_nomem(err);
	return 0;
}

void frag_shelf_fini(struct frag_greedy *shelf)
{
	free(shelf->first);
	free(shelf->filled);
	free(shelf->ranges);
	free(shelf->begins);
	free(shelf->next);
	free(shelf->marked);
	free(shelf->met);
	*shelf = (struct frag_greedy){ .leaves = 0 };
}

static void clear(struct frag_greedy *shelf)
{
	const struct frag_space *s = shelf->space;

	memset(shelf->filled, 0, (2 * (size_t)shelf->leaves + 2) * sizeof(*shelf->filled));
	memset(shelf->begins, 0xff, ((size_t)s->times + 1) * sizeof(*shelf->begins));
	memset(shelf->marked, 0, ((size_t)s->times / WORD + 2) * sizeof(*shelf->marked));
}

static void greedy_placement_put(struct frag_greedy *shelf, uint32_t item)
{
	const struct frag_space *s = shelf->space;
	const struct frag_shelf_range range = { s->offset[item], s->offset[item] + s->size[item] };
	const uint32_t from = s->from[item];

	FOR_NODES(shelf, item, node,
		  shelf->ranges[shelf->first[node] + shelf->filled[node]++] = range);
	shelf->next[item] = shelf->begins[from];
	shelf->begins[from] = item;
	shelf->marked[from / WORD] |= UINT64_C(1) << from % WORD;
}

static void meet(struct frag_greedy *shelf, struct frag_shelf_range range)
{
	if (!frag_grow(&shelf->met, &shelf->met_capacity, (uint64_t)shelf->met_count + 1,
		       sizeof(*shelf->met)))
		shelf->nomem = true;
	else
		shelf->met[shelf->met_count++] = range;
}

/* Those that begin after the item's first time and before its end. */
static void meet_later(struct frag_greedy *shelf, uint32_t item)
{
	const struct frag_space *s = shelf->space;
	uint32_t time = s->from[item] + 1;

	while (time < s->to[item]) {
		const uint64_t bits = shelf->marked[time / WORD] >> time % WORD;

		if (!bits) {
			time = (time / WORD + 1) * WORD;
			continue;
		}
		time += (uint32_t)__builtin_ctzll(bits);
		if (time >= s->to[item])
			return;
		for (uint32_t i = shelf->begins[time]; i != NONE; i = shelf->next[i])
			meet(shelf, (struct frag_shelf_range){ s->offset[i],
							       s->offset[i] + s->size[i] });
		time++;
	}
}

static void sort_few(struct frag_shelf_range *of, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		const struct frag_shelf_range x = of[i];
		size_t k = i;

		for (; k && of[k - 1].from > x.from; k--)
			of[k] = of[k - 1];
		of[k] = x;
	}
}

static void sift(struct frag_shelf_range *of, size_t at, size_t count)
{
	const struct frag_shelf_range x = of[at];

	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		child += child + 1 < count && of[child + 1].from > of[child].from;
		if (of[child].from <= x.from)
			break;
		of[at] = of[child];
	}
	of[at] = x;
}

/* For who met what quicksort is bad at. */
static void sort_heap(struct frag_shelf_range *of, size_t count)
{
	for (size_t i = count / 2; i > 0; i--)
		sift(of, i - 1, count);
	for (size_t i = count; i > 1; i--) {
		const struct frag_shelf_range x = of[0];

		of[0] = of[i - 1];
		of[i - 1] = x;
		sift(of, 0, i - 1);
	}
}

/* By their beginnings: quicksort, inlined, as this is most of the work. */
static void greedy_placement_sort(struct frag_shelf_range *of, size_t count, uint32_t depth)
{
	while (count > 24) {
		const uint64_t a = of[0].from, b = of[count / 2].from, c = of[count - 1].from;
		const uint64_t middle = a < b ? (b < c ? b : a < c ? c : a)
					      : (a < c ? a : b < c ? c : b);
		size_t i = 0, k = count - 1;

		if (!depth--) {
			sort_heap(of, count);
			return;
		}
		for (;;) {
			struct frag_shelf_range x;

			while (of[i].from < middle)
				i++;
			while (of[k].from > middle)
				k--;
			if (i >= k)
				break;
			x = of[i];
			of[i++] = of[k];
			of[k--] = x;
		}
		greedy_placement_sort(of + k + 1, count - k - 1, depth);
		count = k + 1;
	}
	sort_few(of, count);
}

/* Where it goes among those that it lives beside. */
static uint64_t find_gap(const struct frag_greedy *shelf, uint32_t item, bool best)
{
	const uint64_t bytes = shelf->space->size[item];
	uint64_t top = 0, found = UINT64_MAX, smallest = UINT64_MAX;

	for (uint32_t k = 0; k < shelf->met_count; k++) {
		const struct frag_shelf_range *r = &shelf->met[k];

		if (r->from > top && r->from - top >= bytes && r->from - top < smallest) {
			if (!best)
				return top;
			smallest = r->from - top;
			found = top;
		}
		if (r->to > top)
			top = frag_space_offset(shelf->space, item, r->to);
	}
	return found != UINT64_MAX ? found : top;
}

static uint64_t offset_for(struct frag_greedy *shelf, uint32_t item, bool best)
{
	const struct frag_space *s = shelf->space;

	shelf->met_count = 0;
	for (uint32_t node = s->from[item] + shelf->leaves; node; node /= 2)
		for (uint32_t i = 0; i < shelf->filled[node]; i++)
			meet(shelf, shelf->ranges[shelf->first[node] + i]);
	meet_later(shelf, item);
	shelf->looks += shelf->met_count + 8;
	greedy_placement_sort(shelf->met, shelf->met_count, 40);
	return find_gap(shelf, item, best);
}

uint64_t frag_shelf_place(struct frag_greedy *shelf, const uint32_t *order,
			  const struct frag_shelf_limits *limits)
{
	const struct frag_space *s = shelf->space;
	const uint64_t begun = shelf->looks;
	uint64_t height = 0;

	clear(shelf);
	for (uint32_t k = 0; k < s->count; k++) {
		const uint32_t item = order[k];

		if (k >= limits->fixed)
			s->offset[item] = offset_for(shelf, item, limits->best);
		if (s->offset[item] + s->size[item] > height)
			height = s->offset[item] + s->size[item];
		if (height >= limits->height || shelf->looks - begun > limits->looks
		    || shelf->nomem)
			return UINT64_MAX;
		if (k % 256 == 0 && shelf->stop && shelf->stop->stop(shelf->stop->ctx)) {
			shelf->stopped = true;
			return UINT64_MAX;
		}
		greedy_placement_put(shelf, item);
	}
	return height;
}
