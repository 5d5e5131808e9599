/* move_candidates.c - finds blocks whose relocation satisfies a refused request. */
#include "compaction/move_candidates.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/format.h"

/* Steps of the search for a cover: enough for about a hundred segments, within milliseconds. */
#define COVER_STEPS 300000

struct cover_item {
	uint64_t cost, gain;    /* gain is not 0 */
	uint32_t unit;
};

/* A search for the items that together gain enough at the minimum cost. */
struct cover {
	struct cover_item *items;
	uint32_t count;
	uint64_t best_cost;
	uint32_t *best, *current;       /* indexes of items */
	uint32_t best_count, steps;
};

static int by_ratio(const void *a, const void *b)
{
	const struct cover_item *x = a, *y = b;
	const frag_wide p = (frag_wide)x->gain * y->cost, q = (frag_wide)y->gain * x->cost;

	if (p != q)
		return p > q ? -1 : 1;
	return frag_order_two(x->cost, y->cost, x->unit, y->unit);
}

/* Minimum cost of the items from i on, if parts of an item counted; UINT64_MAX: not enough. */
static uint64_t bound(const struct cover *c, uint32_t i, uint64_t rest)
{
	uint64_t cost = 0;

	for (; i < c->count; i++) {
		const struct cover_item *item = &c->items[i];

		if (item->gain >= rest)
			return cost + (uint64_t)((frag_wide)item->cost * rest / item->gain);
		cost += item->cost;
		rest -= item->gain;
	}
	return rest ? UINT64_MAX : cost;
}

/*
 * Branch and bound over subsets of the items, which it puts in order; it ends after COVER_STEPS
 * with the best so far. No recursion, as there may be thousands of items: current is what is taken,
 * and the way back.
 */
static void find_cheapest(struct cover *c, uint64_t need)
{
	uint64_t cost = 0, gain = 0;
	uint32_t depth = 0, i = 0;

	FRAG_SORT(c->items, c->count, by_ratio);
	for (c->best_cost = UINT64_MAX;;) {
		const uint64_t rest = need > gain ? need - gain : 0;
		const uint64_t more = rest ? bound(c, i, rest) : 0;

		c->steps++;
		if (!rest && cost < c->best_cost) {
			memcpy(c->best, c->current, depth * sizeof(*c->best));
			c->best_count = depth;
			c->best_cost = cost;
		}
		if (rest && c->steps < COVER_STEPS && more != UINT64_MAX
		    && cost + more < c->best_cost) {
			c->current[depth++] = i;
			cost += c->items[i].cost;
			gain += c->items[i++].gain;
			continue;
		}
		if (!depth || c->steps >= COVER_STEPS)
			return;
		/* without the one that was taken last */
		i = c->current[--depth];
		cost -= c->items[i].cost;
		gain -= c->items[i++].gain;
	}
}

/* Blocks of the memory state, from `first` up to but excluding `end`. */
struct run {
	uint32_t first, end;
};

/* A segment, or a page of a range, to be released, with its gain by either count. */
enum { BY_FREE, BY_ALL, COUNTS };
struct unit {
	struct run run;
	uint64_t cost, gain[COUNTS];
	bool wall;              /* there is something in it that stays */
};

/* A candidate: the live blocks of some runs, which do not overlap. */
struct option {
	uint64_t cost, bytes;
	uint32_t blocks;
	uint32_t at, count;     /* of its runs */
	uint32_t first;         /* block of the first of them */
};

struct search {
	const struct frag_memory_state *memory;
	const struct frag_move_target *shortage;
	struct run *runs;
	struct unit *units;
	struct option *options;
	uint32_t run_count, run_capacity, unit_count, unit_capacity, option_count, option_capacity;
	bool failed;            /* out of memory */
};

static bool add_live_run(struct search *s, struct run run)
{
	if (!FRAG_GROW(s->runs, s->run_capacity, s->run_count)) {
		s->failed = true;
		return false;
	}
	s->runs[s->run_count++] = run;
	return true;
}

/* The runs from `at` on as a candidate, if there is anything to move in them. */
static void add_option(struct search *s, uint32_t at)
{
	struct option o = {
		.at = at, .count = s->run_count - at, .first = s->runs[at].first,
	};

	for (uint32_t i = at; i < s->run_count; i++)
		for (uint32_t k = s->runs[i].first; k < s->runs[i].end; k++)
			if (frag_is_live(&s->memory->blocks[k])) {
				o.bytes += s->memory->blocks[k].bytes;
				o.blocks++;
			}
	o.cost = o.bytes + o.blocks * s->shortage->block_cost;
	if (!o.blocks || s->failed)
		return;
	if (!FRAG_GROW(s->options, s->option_capacity, s->option_count)) {
		s->failed = true;
		return;
	}
	s->options[s->option_count++] = o;
}

static void add_single(struct search *s, struct run run)
{
	const uint32_t at = s->run_count;

	if (add_live_run(s, run))
		add_option(s, at);
}

/* Addresses of a range without memory get it from the device, if that has it. */
static bool can_map(const struct search *s, const struct frag_state_segment *seg,
		    struct run run, uint64_t span, uint64_t unmapped)
{
	const struct frag_state_block *last = &s->memory->blocks[run.end - 1];

	if (last->state == FRAG_UNMAPPED)
		unmapped -= span - s->shortage->need;
	return !unmapped || (unmapped + seg->page - 1) / seg->page * seg->page <= s->shortage->left;
}

/* From each block on the shortest run that is large enough. */
static void find_windows(struct search *s, const struct frag_state_segment *seg)
{
	const struct frag_state_block *blocks = s->memory->blocks;
	const uint32_t end = seg->first + seg->count;
	uint64_t span = 0, unmapped = 0;
	uint32_t to = seg->first;

	for (uint32_t from = seg->first; from < end && !s->failed; from++) {
		while (to < end && span < s->shortage->need) {
			const struct frag_state_block *b = &blocks[to++];

			if (frag_is_live(b) && !frag_is_movable(b)) {
				from = to;
				span = unmapped = 0;
				continue;
			}
			span += b->bytes;
			unmapped += b->state == FRAG_UNMAPPED ? b->bytes : 0;
		}
		if (span < s->shortage->need || from >= end)
			return;
		if (can_map(s, seg, (struct run){ from, to }, span, unmapped))
			add_single(s, (struct run){ from, to });
		span -= blocks[from].bytes;
		unmapped -= blocks[from].state == FRAG_UNMAPPED ? blocks[from].bytes : 0;
	}
}

static struct unit *add_unit(struct search *s, struct unit unit)
{
	if (!FRAG_GROW(s->units, s->unit_capacity, s->unit_count)) {
		s->failed = true;
		return NULL;
	}
	s->units[s->unit_count] = unit;
	return &s->units[s->unit_count++];
}

static void add_segment(struct search *s, const struct frag_state_segment *seg)
{
	if (seg->kept || !seg->live_blocks || seg->fixed)
		return;
	add_unit(s, (struct unit){
		.run = { seg->first, seg->first + seg->count },
		.cost = seg->live + seg->live_blocks * s->shortage->block_cost,
		.gain = { [BY_FREE] = seg->free, [BY_ALL] = seg->bytes },
	});
}

/* Of a block the bytes on a page. */
static uint64_t overlap(const struct frag_state_block *b, uint64_t page,
					uint64_t bytes)
{
	const uint64_t from = b->offset > page ? b->offset : page;
	const uint64_t end = b->offset + b->bytes < page + bytes ? b->offset + b->bytes
								 : page + bytes;

	return end > from ? end - from : 0;
}

/* Block k is on the page, which is the last one that was added, or a new one. */
static void add_to_page(struct search *s, const struct frag_state_segment *seg, uint64_t page,
			uint64_t *last, uint32_t k)
{
	const struct frag_state_block *b = &s->memory->blocks[k];
	struct unit *u;

	if (*last == page && s->unit_count)
		u = &s->units[s->unit_count - 1];
	else
		u = add_unit(s, (struct unit){ .run = { k, k } });
	*last = page;
	if (!u)
		return;
	u->run.end = k + 1;
	if (b->state == FRAG_FREE)
		u->gain[BY_FREE] += overlap(b, page, seg->page);
	else
		u->cost += b->bytes + s->shortage->block_cost;
	u->gain[BY_ALL] = seg->page;
	u->wall = u->wall || !(b->state == FRAG_FREE || frag_is_movable(b));
}

/* Pages without live blocks are released without a relocation: their gain is 0. */
static void settle_pages(struct search *s, uint32_t first)
{
	for (uint32_t i = first; i < s->unit_count; i++)
		if (!s->units[i].cost || s->units[i].wall)
			s->units[i].gain[BY_FREE] = s->units[i].gain[BY_ALL] = 0;
}

/* Neighbouring pages, from each on the shortest run that gains enough. */
static void find_page_windows(struct search *s, uint32_t first, int count)
{
	uint64_t gain = 0;
	uint32_t to = first;

	for (uint32_t from = first; from < s->unit_count && !s->failed; from++) {
		while (to < s->unit_count && gain < s->shortage->missing) {
			const struct unit *u = &s->units[to++];

			if (u->wall) {
				from = to;
				gain = 0;
			} else {
				gain += u->gain[count];
			}
		}
		if (gain < s->shortage->missing || from >= s->unit_count)
			return;
		/* one page alone is a unit anyway */
		if (to - from > 1)
			add_single(s, (struct run){ s->units[from].run.first,
						    s->units[to - 1].run.end });
		gain -= s->units[from].gain[count];
	}
}

static void add_pages(struct search *s, const struct frag_state_segment *seg)
{
	const uint32_t first = s->unit_count;
	uint64_t last = UINT64_MAX;

	for (uint32_t k = seg->first; k < seg->first + seg->count && !s->failed; k++) {
		const struct frag_state_block *b = &s->memory->blocks[k];
		const uint64_t end = b->offset + b->bytes;

		if (b->state == FRAG_UNMAPPED)
			continue;
		for (uint64_t page = b->offset / seg->page * seg->page; page < end;
		     page += seg->page)
			add_to_page(s, seg, page, &last, k);
	}
	if (s->failed)
		return;
	settle_pages(s, first);
	find_page_windows(s, first, BY_FREE);
	find_page_windows(s, first, BY_ALL);
}

static int by_first(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return frag_order_two(x->first, y->first, x->end, y->end);
}

/* The runs of the best units as one candidate; pages may share a block. */
static void add_cover(struct search *s, const struct cover *c)
{
	const uint32_t at = s->run_count;
	uint32_t n = at;

	for (uint32_t i = 0; i < c->best_count; i++)
		if (!add_live_run(s, s->units[c->items[c->best[i]].unit].run))
			return;
	qsort(s->runs + at, c->best_count, sizeof(*s->runs), by_first);
	for (uint32_t i = at; i < s->run_count; i++) {
		const struct run run = s->runs[i];

		if (n > at && run.first < s->runs[n - 1].end)
			s->runs[n - 1].end = run.end > s->runs[n - 1].end ? run.end
									  : s->runs[n - 1].end;
		else
			s->runs[n++] = run;
	}
	s->run_count = n;
	add_option(s, at);
}

static void find_cover(struct search *s, int count)
{
	struct cover c = { .items = malloc(((size_t)s->unit_count + 1) * sizeof(*c.items)) };

	c.best = malloc(((size_t)s->unit_count * 2 + 1) * sizeof(*c.best));
	s->failed = s->failed || !c.items || !c.best;
	for (uint32_t i = 0; i < s->unit_count && !s->failed; i++)
		if (s->units[i].gain[count])
			c.items[c.count++] = (struct cover_item){
				.cost = s->units[i].cost, .gain = s->units[i].gain[count],
				.unit = i,
			};
	if (!s->failed) {
		c.current = c.best + c.count;
		find_cheapest(&c, s->shortage->missing);
	}
	if (c.best_count)
		add_cover(s, &c);
	free(c.items);
	free(c.best);
}

static void find_evacuations(struct search *s)
{
	const uint64_t missing = s->shortage->missing;

	for (uint32_t i = 0; i < s->memory->segment_count && !s->failed; i++) {
		const struct frag_state_segment *seg = &s->memory->segments[i];

		if (seg->page)
			add_pages(s, seg);
		else
			add_segment(s, seg);
	}
	for (uint32_t i = 0; i < s->unit_count && !s->failed; i++)
		if (s->units[i].gain[BY_ALL] >= missing)
			add_single(s, s->units[i].run);
	for (int count = 0; count < COUNTS && !s->failed; count++)
		find_cover(s, count);
}

static int by_cost(const void *a, const void *b)
{
	const struct option *x = a, *y = b;

	return x->cost != y->cost || x->bytes != y->bytes
		       ? frag_order_two(x->cost, y->cost, x->bytes, y->bytes)
		       : frag_order_two(x->first, y->first, x->at, y->at);
}

struct sized {
	uint64_t bytes;
	uint32_t block;
};

static int largest_first(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;

	return frag_order_two(y->bytes, x->bytes, x->block, y->block);
}

/* Takes the blocks in the order of their relocation. */
static void order_blocks(struct frag_move_candidate *to, struct sized *sized)
{
	FRAG_SORT(sized, to->count, largest_first);
	for (uint32_t i = 0; i < to->count; i++)
		to->blocks[i] = sized[i].block;
}

static bool list_blocks(const struct search *s, const struct option *o,
			struct frag_move_candidate *to)
{
	struct sized *sized = malloc(o->blocks * sizeof(*sized));

	*to = (struct frag_move_candidate){ .cost = o->cost, .bytes = o->bytes };
	to->blocks = malloc(o->blocks * sizeof(*to->blocks));
	for (uint32_t i = 0; sized && to->blocks && i < o->count; i++)
		for (uint32_t k = s->runs[o->at + i].first; k < s->runs[o->at + i].end; k++)
			if (frag_is_live(&s->memory->blocks[k]))
				sized[to->count++] =
					(struct sized){ s->memory->blocks[k].bytes, k };
	order_blocks(to, sized);
	free(sized);
	return to->count == o->blocks;
}

/* The cheapest of the options; several ways may lead to the same blocks. */
static bool keep_cheapest(struct search *s, struct frag_move_candidates *out)
{
	out->candidates = calloc(FRAG_MOVE_CANDIDATES_MAX + 1, sizeof(*out->candidates));
	if (!out->candidates)
		return false;
	FRAG_SORT(s->options, s->option_count, by_cost);
	for (uint32_t i = 0; i < s->option_count && out->count < FRAG_MOVE_CANDIDATES_MAX; i++) {
		struct frag_move_candidate *to = &out->candidates[out->count++];
		bool known = false;

		if (!list_blocks(s, &s->options[i], to))
			return false;
		/* equals are adjacent blocks, as they cost the same */
		for (uint32_t k = out->count - 1;
		     k-- > 0 && !known && out->candidates[k].cost == to->cost;)
			known = to->count == out->candidates[k].count
				&& memcmp(to->blocks, out->candidates[k].blocks,
					  to->count * sizeof(*to->blocks)) == 0;
		if (known) {
			free(to->blocks);
			*to = (struct frag_move_candidate){ .count = 0 };
			out->count--;
		}
	}
	return true;
}

/* Appends a last candidate: every block that can be moved. */
static bool add_all(struct frag_move_candidates *candidates,
		    const struct frag_memory_state *memory)
{
	struct frag_move_candidate *to;
	struct sized *sized = malloc(((size_t)memory->block_count + 1) * sizeof(*sized));

	FRAG_ASSERT(candidates->count <= FRAG_MOVE_CANDIDATES_MAX);
	to = &candidates->candidates[candidates->count];
	FRAG_ASSERT(!to->blocks);
	to->blocks = malloc(((size_t)memory->block_count + 1) * sizeof(*to->blocks));
	for (uint32_t k = 0; sized && to->blocks && k < memory->block_count; k++)
		if (frag_is_movable(&memory->blocks[k])) {
			sized[to->count++] = (struct sized){ memory->blocks[k].bytes, k };
			to->bytes += memory->blocks[k].bytes;
		}
	candidates->count++;
	if (sized && to->blocks)
		order_blocks(to, sized);
	free(sized);
	return sized && to->blocks;
}

int frag_move_candidates_find(struct frag_move_candidates *out,
			      const struct frag_memory_state *memory,
			      const struct frag_move_target *shortage, struct frag_error *err)
{
	struct search s = { .memory = memory, .shortage = shortage };

	*out = (struct frag_move_candidates){ .count = 0 };
	for (uint32_t i = 0; i < memory->segment_count && !s.failed; i++) {
		const struct frag_state_segment *seg = &memory->segments[i];

		/* slots of slabs never become one block */
		if (!seg->slot_size && seg->pool == shortage->pool
		    && (shortage->list == FRAG_NO_LIST || seg->list == shortage->list))
			find_windows(&s, seg);
	}
	if (shortage->missing && !s.failed)
		find_evacuations(&s);
	s.failed = s.failed || !keep_cheapest(&s, out) || (shortage->all && !add_all(out, memory));
	free(s.runs);
	free(s.units);
	free(s.options);
	return s.failed ? frag_fail_nomem(err) : 0;
}

void frag_move_candidates_fini(struct frag_move_candidates *candidates)
{
	for (uint32_t i = 0; i < candidates->count; i++)
		free(candidates->candidates[i].blocks);
	free(candidates->candidates);
	*candidates = (struct frag_move_candidates){ .count = 0 };
}
