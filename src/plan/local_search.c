/* local_search.c - a better order, from a good one. */
#include "plan/local_search.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

struct climber {
	struct frag_greedy *shelf;
	uint32_t *now, *next;           /* orders */
	uint32_t *top;                  /* places in the order of what reaches to the top */
	uint64_t *now_at, *best_at;     /* offsets under an order */
	uint64_t now_height, best_height;
	uint64_t bar;                   /* what is no higher is kept */
	struct frag_rng rng;
};

/* In the upper half of what is above the bound: something there has to go. */
static uint32_t find_top(struct climber *c)
{
	const struct frag_space *s = c->shelf->space;
	const uint64_t above = c->now_height - s->bound;
	const uint64_t from = c->now_height - (above > 2 ? above / 2 : 1);
	uint32_t count = 0;

	for (uint32_t k = 0; k < s->count; k++)
		if (c->now_at[c->now[k]] + s->size[c->now[k]] > from)
			c->top[count++] = k;
	return count;
}

/* Forward to anywhere before it, and half of the time rather far to the front. */
static void move(struct climber *c, uint32_t from)
{
	const uint32_t item = c->next[from];
	uint64_t to = frag_rng_below(&c->rng, (uint64_t)from + 1);

	if (frag_rng_percent(&c->rng, 50))
		to = to * frag_rng_below(&c->rng, 1000) / 1000;
	memmove(&c->next[to + 1], &c->next[to], (from - to) * sizeof(*c->next));
	c->next[to] = item;
}

static void draw(struct climber *c)
{
	const uint32_t count = find_top(c);
	uint64_t moves = frag_rng_between(&c->rng, 1, 3);

	memcpy(c->next, c->now, c->shelf->space->count * sizeof(*c->next));
	while (moves--)
		move(c, c->top[frag_rng_below(&c->rng, count)]);
}

/* What is a little worse is kept now and then, as it may lead somewhere else. */
static bool is_kept(struct climber *c, uint64_t height)
{
	return height <= c->bar
	       || (frag_rng_percent(&c->rng, 3) && height < c->bar + c->bar / 1000);
}

/* One way of placing, from what it makes of the order to begin with, however high that is. */
static void climb(struct climber *c, const uint32_t *order, bool best, uint64_t looks,
		  struct frag_plan_climb *told)
{
	struct frag_greedy *shelf = c->shelf;
	const struct frag_space *s = shelf->space;
	const size_t bytes = s->count * sizeof(*s->offset);
	const uint64_t end = shelf->looks + looks;
	struct frag_shelf_limits limits = { .best = best, .height = UINT64_MAX, .looks = looks };

	memcpy(c->now, order, s->count * sizeof(*order));
	c->bar = c->best_height;
	c->now_height = frag_shelf_place(shelf, order, &limits);
	if (c->now_height == UINT64_MAX)
		return;
	memcpy(c->now_at, s->offset, bytes);
	while (c->best_height > s->bound && shelf->looks < end && !shelf->stopped && !shelf->nomem) {
		uint32_t *swap = c->now;
		uint64_t height;

		limits.height = c->bar + c->bar / 500 + 1;
		limits.looks = end - shelf->looks;
		draw(c);
		height = frag_shelf_place(shelf, c->next, &limits);
		told->tries++;
		if (height == UINT64_MAX || !is_kept(c, height))
			continue;
		c->now = c->next;
		c->next = swap;
		c->now_height = c->bar = height;
		memcpy(c->now_at, s->offset, bytes);
		if (height >= c->best_height)
			continue;
		c->best_height = height;
		memcpy(c->best_at, s->offset, bytes);
		told->better++;
	}
}

/* The next order of all there are, by their numbers. False: it was the last one. */
static bool next_order(uint32_t *order, uint32_t count)
{
	uint32_t from = count - 1, to = count - 1, swap;

	while (from && order[from - 1] > order[from])
		from--;
	if (!from)
		return false;
	while (order[to] < order[from - 1])
		to--;
	swap = order[from - 1];
	order[from - 1] = order[to];
	order[to] = swap;
	for (to = count - 1; from < to; from++, to--) {
		swap = order[from];
		order[from] = order[to];
		order[to] = swap;
	}
	return true;
}

/*
 * Few items: all orders. The lowest placement, lowered as far as it goes, is what first fit makes
 * of its own order by offset, so none is lower than what this finds.
 */
static void try_all(struct climber *c, struct frag_plan_climb *told)
{
	struct frag_greedy *shelf = c->shelf;
	const struct frag_space *s = shelf->space;
	struct frag_shelf_limits limits = { .looks = UINT64_MAX };

	for (uint32_t i = 0; i < s->count; i++)
		c->now[i] = i;
	do {
		limits.height = c->best_height;
		told->tries++;
		if (frag_shelf_place(shelf, c->now, &limits) == UINT64_MAX)
			continue;
		told->better++;
		c->best_height = 0;
		for (uint32_t i = 0; i < s->count; i++)
			if (s->offset[i] + s->size[i] > c->best_height)
				c->best_height = s->offset[i] + s->size[i];
		memcpy(c->best_at, s->offset, s->count * sizeof(*s->offset));
	} while (c->best_height > s->bound && !shelf->stopped && !shelf->nomem
		 && next_order(c->now, s->count));
	told->all = !shelf->stopped;
}

int frag_local_search(struct frag_greedy *shelf, const uint32_t *order, bool best, uint64_t *height,
	       uint64_t looks, struct frag_plan_climb *told, struct frag_error *err)
{
	const struct frag_space *s = shelf->space;
	const size_t bytes = s->count * sizeof(*s->offset);
	struct climber c = {
		.shelf = shelf, .best_height = *height,
		.now = malloc(bytes + 1), .next = malloc(bytes + 1), .top = malloc(bytes + 1),
		.now_at = malloc(bytes + 1), .best_at = malloc(bytes + 1), .rng = { 1 },
	};
	const bool good = c.now && c.next && c.top && c.now_at && c.best_at;

	if (good) {
		memcpy(c.best_at, s->offset, bytes);
		/* an order that is good one way is often better the other way, a little changed */
		if (s->count <= FRAG_CLIMB_ALL)
			try_all(&c, told);
		else
			climb(&c, order, !best, looks / 2, told);
		if (s->count > FRAG_CLIMB_ALL)
			climb(&c, order, best, looks / 2, told);
		memcpy(s->offset, c.best_at, bytes);
		*height = c.best_height;
	}
	free(c.now);
	free(c.next);
	free(c.top);
	free(c.now_at);
	free(c.best_at);
	return good && !shelf->nomem ? 0 : frag_fail_nomem(err);
}
