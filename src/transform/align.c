/* align.c - which allocations of two recordings of one program correspond. */
#include "transform/align.h"

#include <stdlib.h>
#include <string.h>

#define BRIEF_PASSES 1          /* passes that compare how briefly blocks live */
#define EXACT_PASSES 2          /* passes that take constant and proportional sizes alone */
#define PLAUSIBLE_PASSES 3      /* passes that take sizes up to quadratic ones */
#define PASSES 4
#define EDITS 200               /* after these the search begins again, so that it stays linear */
#define DIAGONALS (2 * EDITS + 3)
#define SLACK 512               /* bytes that rounding may add */

__extension__ typedef unsigned __int128 wide;

struct align {
	const struct frag_align_side *small, *large;
	uint32_t *twins;
	/* of a search: how far each diagonal reaches, after each number of edits */
	int32_t (*reached)[DIAGONALS];
};

/* Part of both recordings. */
struct align_gap {
	uint32_t from, to, large_from, large_to;
};

static bool has_same_name(const struct frag_align_item *a, const struct frag_align_item *b)
{
	return (a->alloc == FRAG_NO_ALLOC) == (b->alloc == FRAG_NO_ALLOC)
	       && (a->name == b->name || a->own_name == b->own_name);
}

static bool is_same(const struct align *al, uint32_t i, uint32_t k, int pass)
{
	const struct frag_align_item *a = &al->small->items[i], *b = &al->large->items[k];
	const wide n = al->small->number, m = al->large->number;

	if (!has_same_name(a, b))
		return false;
	if (a->alloc == FRAG_NO_ALLOC || pass >= PLAUSIBLE_PASSES)
		return true;
	if (pass < BRIEF_PASSES && a->brief != b->brief)
		return false;
	if (pass < EXACT_PASSES)
		return a->bytes == b->bytes || a->bytes * m == b->bytes * n;
	return a->bytes <= b->bytes
	       && (!n || (wide)(b->bytes > SLACK ? b->bytes - SLACK : 0) * n <= a->bytes * m / n * m);
}

/* Walks back from the best place of the search, and notes the pairs. */
static void align_walk_back(struct align *al, const struct align_gap *g, int edits, int32_t x, int32_t y)
{
	for (int e = edits; e > 0; e--) {
		const int32_t *w = al->reached[e], k = x - y;
		const bool down = k == -e || (k != e && w[k - 1 + EDITS + 1] < w[k + 1 + EDITS + 1]);
		const int32_t before = down ? k + 1 : k - 1, bx = w[before + EDITS + 1];
		const int32_t start = down ? bx : bx + 1;

		while (x > start) {
			x--, y--;
			al->twins[g->large_from + (uint32_t)y] = g->from + (uint32_t)x;
		}
		x = bx;
		y = bx - before;
	}
	while (x > 0 && y > 0) {
		x--, y--;
		al->twins[g->large_from + (uint32_t)y] = g->from + (uint32_t)x;
	}
}

/* Pairs up to EDITS differences of the gap, from its beginning. Moves its beginning on. */
static void align_search(struct align *al, struct align_gap *g, int pass)
{
	const int32_t n = (int32_t)(g->to - g->from), m = (int32_t)(g->large_to - g->large_from);
	int32_t v[DIAGONALS], best = -1, best_x = 0, best_y = 0;
	int best_edits = 0;

	memset(v, 0, sizeof(v));
	for (int d = 0; d <= EDITS; d++) {
		memcpy(al->reached[d], v, sizeof(v));
		for (int k = -d; k <= d; k += 2) {
			const int32_t left = v[k - 1 + EDITS + 1], right = v[k + 1 + EDITS + 1];
			int32_t x = k == -d || (k != d && left < right) ? right : left + 1;
			int32_t y = x - k;

			while (x < n && y < m && y >= 0
			       && is_same(al, g->from + (uint32_t)x, g->large_from + (uint32_t)y, pass))
				x++, y++;
			v[k + EDITS + 1] = x;
			if (x <= n && y >= 0 && y <= m && x + y > best) {
				best = x + y;
				best_edits = d;
				best_x = x;
				best_y = y;
			}
			if (x >= n && y >= m)
				goto out;
		}
	}
out:
	align_walk_back(al, g, best_edits, best_x, best_y);
	/* without any progress the remainder has no pairs */
	g->from += best > 0 ? (uint32_t)best_x : (uint32_t)n;
	g->large_from += best > 0 ? (uint32_t)best_y : (uint32_t)m;
}

/* Equal names in both: item by item. */
static bool align_zip(struct align *al, const struct align_gap *g)
{
	const uint32_t count = g->to - g->from;

	if (count != g->large_to - g->large_from)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!has_same_name(&al->small->items[g->from + i],
				   &al->large->items[g->large_from + i]))
			return false;
	for (uint32_t i = 0; i < count; i++)
		al->twins[g->large_from + i] = g->from + i;
	return true;
}

/* Pairs a gap, and then, by the next pass, what lies between its pairs. */
static void align_pair(struct align *al, struct align_gap g, int pass)
{
	struct align_gap part = g, between = { g.from, g.from, g.large_from, g.large_from };

	if (g.from == g.to || g.large_from == g.large_to || align_zip(al, &g) || pass == PASSES)
		return;
	while (part.from < part.to && part.large_from < part.large_to)
		align_search(al, &part, pass);
	for (uint32_t k = g.large_from; k <= g.large_to; k++) {
		const bool end = k == g.large_to;
		const uint32_t twin = end ? g.to : al->twins[k];

		if (twin == UINT32_MAX)
			continue;
		between.to = twin;
		between.large_to = k;
		align_pair(al, between, pass + 1);
		between.from = twin + 1;
		between.large_from = k + 1;
	}
}

static uint32_t next_mark(const struct frag_align_side *s, uint32_t from)
{
	while (from < s->count && s->items[from].alloc != FRAG_NO_ALLOC)
		from++;
	return from;
}

/* Have both the same marks, in the same order? */
static bool has_same_marks(const struct align *al)
{
	uint32_t i = next_mark(al->small, 0), k = next_mark(al->large, 0);

	while (i < al->small->count && k < al->large->count
	       && has_same_name(&al->small->items[i], &al->large->items[k])) {
		i = next_mark(al->small, i + 1);
		k = next_mark(al->large, k + 1);
	}
	return i == al->small->count && k == al->large->count;
}

/* Marks that are the same split the work. */
static void align_parts(struct align *al)
{
	struct align_gap g = { 0, 0, 0, 0 };

	if (!has_same_marks(al)) {
		align_pair(al, (struct align_gap){ 0, al->small->count, 0, al->large->count }, 0);
		return;
	}
	for (bool more = true; more;) {
		g.to = next_mark(al->small, g.from);
		g.large_to = next_mark(al->large, g.large_from);
		align_pair(al, g, 0);
		more = g.to < al->small->count;
		if (more)
			al->twins[g.large_to] = g.to;
		g.from = g.to + 1;
		g.large_from = g.large_to + 1;
	}
}

int frag_align(const struct frag_align_side *small, const struct frag_align_side *large,
	       uint32_t *twins, struct frag_error *err)
{
	struct align al = { .small = small, .large = large, .twins = twins };

	if (small->count > INT32_MAX / 4 || large->count > INT32_MAX / 4)
		return frag_fail(err, FRAG_ETRACE, "a recording has more than %d allocations and marks",
				 INT32_MAX / 4);
	al.reached = malloc(sizeof(*al.reached) * (EDITS + 1));
	if (!al.reached)
		return frag_fail_nomem(err);
	for (uint32_t k = 0; k < large->count; k++)
		twins[k] = UINT32_MAX;
	align_parts(&al);
	free(al.reached);
	return 0;
}
