/* address_ranges.c - address ranges that do not overlap, in a treap. */
#include "snapshot/address_ranges.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/hash.h"

#define NONE FRAG_NO_SPAN

void frag_spans_init(struct frag_spans *s, uint64_t seed)
{
	*s = (struct frag_spans){ .unused = NONE, .root = NONE, .seed = seed };
}

void frag_spans_fini(struct frag_spans *s)
{
	free(s->spans);
	*s = (struct frag_spans){ .spans = NULL };
}

static uint64_t rank(const struct frag_spans *s, uint32_t span)
{
	return frag_hash_mix((span + s->seed) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Parts the tree into what starts below addr and what does not. */
static void part_tree(struct frag_spans *s, uint32_t tree, uint64_t addr, uint32_t *below,
		      uint32_t *rest)
{
	while (tree != NONE) {
		struct frag_span *t = &s->spans[tree];

		if (t->start < addr) {
			*below = tree;
			below = &t->upper;
			tree = t->upper;
		} else {
			*rest = tree;
			rest = &t->lower;
			tree = t->lower;
		}
	}
	*below = *rest = NONE;
}

/* Joins two trees, all of the first below all of the second. */
static uint32_t join_trees(struct frag_spans *s, uint32_t below, uint32_t above)
{
	uint32_t root = NONE, *at = &root;

	while (below != NONE && above != NONE) {
		if (rank(s, below) > rank(s, above)) {
			*at = below;
			at = &s->spans[below].upper;
			below = *at;
		} else {
			*at = above;
			at = &s->spans[above].lower;
			above = *at;
		}
	}
	*at = below != NONE ? below : above;
	return root;
}

uint32_t frag_spans_add(struct frag_spans *s, uint64_t start, uint64_t end, uint32_t what)
{
	uint32_t span = s->unused, below, rest;

	FRAG_ASSERT(start <= end);
	if (span != NONE) {
		s->unused = s->spans[span].lower;
	} else {
		if (!FRAG_GROW(s->spans, s->capacity, s->count))
			return NONE;
		span = s->count++;
	}
	s->spans[span] = (struct frag_span){
		.start = start, .end = end, .what = what, .lower = NONE, .upper = NONE,
	};
	part_tree(s, s->root, start, &below, &rest);
	s->root = join_trees(s, join_trees(s, below, span), rest);
	return span;
}

uint32_t frag_spans_from(const struct frag_spans *s, uint64_t addr)
{
	uint32_t found = NONE;

	for (uint32_t at = s->root; at != NONE;) {
		const struct frag_span *t = &s->spans[at];

		if (t->end > addr) {
			found = at;
			at = t->lower;
		} else {
			at = t->upper;
		}
	}
	return found;
}

uint32_t frag_spans_at(struct frag_spans *s, uint64_t addr)
{
	uint32_t span = s->last;

	if (span < s->count && s->spans[span].start <= addr && addr < s->spans[span].end)
		return span;
	span = frag_spans_from(s, addr);
	if (span == NONE || s->spans[span].start > addr)
		return NONE;
	s->last = span;
	return span;
}

void frag_spans_remove(struct frag_spans *s, uint32_t span)
{
	uint32_t *at = &s->root;

	FRAG_ASSERT(span < s->count);
	while (*at != span)
		at = s->spans[span].start < s->spans[*at].start ? &s->spans[*at].lower
								 : &s->spans[*at].upper;
	*at = join_trees(s, s->spans[span].lower, s->spans[span].upper);
	s->spans[span].end = s->spans[span].start;      /* holds nothing any more */
	s->spans[span].lower = s->unused;
	s->unused = span;
}

bool frag_spans_cut(struct frag_spans *s, uint64_t start, uint64_t end, uint64_t *taken)
{
	uint32_t span;

	*taken = 0;
	while ((span = frag_spans_from(s, start)) != NONE && s->spans[span].start < end) {
		struct frag_span was = s->spans[span];
		uint64_t from = was.start > start ? was.start : start;
		uint64_t to = was.end < end ? was.end : end;

		*taken += to - from;
		frag_spans_remove(s, span);
		if (was.start < from && frag_spans_add(s, was.start, from, was.what) == NONE)
			return false;
		if (to < was.end && frag_spans_add(s, to, was.end, was.what) == NONE)
			return false;
	}
	return true;
}
