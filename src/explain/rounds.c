/* rounds.c - where a program begins again before a failure, and whether what is alive rounds_rise. */
#include "explain/rounds.h"

#include <stdlib.h>
#include <string.h>

#define RISING_FLOOR (UINT64_C(64) << 10)       /* bytes: prepared blocks have more */
#define NONE UINT32_MAX

static bool add_round(struct frag_rounds *r, uint64_t at)
{
	if (!FRAG_GROW(r->start, r->capacity, r->count))
		return false;
	r->start[r->count++] = at;
	return true;
}

/* The kind that begins rounds; FRAG_MAP_NONE: none. */
static uint32_t find_kind(const struct frag_history *h, const uint32_t *seen)
{
	uint32_t most = FRAG_MAP_NONE;

	for (int wanted = FRAG_STEP_PROFILER; wanted >= FRAG_STEP_OPTIMIZER; wanted--)
		for (uint32_t k = 0; k < h->kind_count; k++)
			if (h->step_kind[k] == wanted && seen[k] > 1)
				return k;
	for (uint32_t k = 0; k < h->kind_count; k++)
		if (h->step_kind[k] == FRAG_STEP_NONE && seen[k] > 3
		    && (most == FRAG_MAP_NONE || seen[k] > seen[most]))
			most = k;
	return most;
}

bool frag_rounds_of_marks(struct frag_rounds *r, const struct frag_history *h, uint64_t until,
			  enum frag_step_kind *step_kind)
{
	uint32_t *seen = calloc((size_t)h->kind_count + 1, sizeof(*seen)), kind, i;
	bool good = seen != NULL;

	*step_kind = FRAG_STEP_NONE;
	if (!good)
		return false;
	for (i = 0; i < h->mark_count && h->marks[i].at < until; i++)
		seen[h->marks[i].kind]++;
	kind = find_kind(h, seen);
	free(seen);
	if (kind == FRAG_MAP_NONE)
		return true;
	*step_kind = (enum frag_step_kind)h->step_kind[kind];
	for (i = 0; i < h->mark_count && h->marks[i].at < until && good; i++)
		if (h->marks[i].kind == kind)
			good = add_round(r, h->marks[i].at);
	return good;
}

/* The program begins a loop again: at this line, at this depth of its path. */
struct jump {
	uint32_t depth, line;
	uint64_t at;
};

struct loops {
	const struct frag_history *h;
	struct frag_calls before;
	struct jump *jumps;
	uint32_t *first;        /* by depth: the frame with which its caller began */
	uint32_t jump_count, jump_capacity, first_count, first_capacity;
};

static uint32_t rounds_frame(struct frag_calls path, uint32_t depth)
{
	return depth < path.count ? path.of[depth] : NONE;
}

/* The next path, where it differs from the one before. */
static bool loops_add_path(struct loops *l, struct frag_calls path, uint64_t at)
{
	const struct frag_call_stacks *s = &l->h->stacks;
	uint32_t depth = 0, here, before, count;
	bool back;

	while (depth < path.count && depth < l->before.count
	       && path.of[depth] == l->before.of[depth])
		depth++;
	if (depth == path.count && depth == l->before.count)
		return true;
	here = rounds_frame(path, depth);
	before = rounds_frame(l->before, depth);
	count = l->first_count < depth + 1 ? l->first_count : depth + 1;
	while (count <= depth) {
		if (!FRAG_GROW(l->first, l->first_capacity, count))
			return false;
		l->first[count] = rounds_frame(l->before, count);
		count++;
	}
	l->first_count = count;
	back = here != NONE && before != NONE
	       && s->calls[here].function == s->calls[before].function
	       && s->calls[here].line < s->calls[before].line;
	if (l->before.count && (back || here == l->first[depth])) {
		if (!FRAG_GROW(l->jumps, l->jump_capacity, l->jump_count))
			return false;
		l->jumps[l->jump_count++] = (struct jump){
			.depth = depth, .line = here == NONE ? 0 : s->calls[here].line, .at = at,
		};
	}
	l->before = path;
	return true;
}

static int by_loop(const void *a, const void *b)
{
	const struct jump *x = a, *y = b;
	const int order = frag_order_two(x->depth, y->depth, x->line, y->line);

	return order ? order : frag_order_two(x->at, y->at, 0, 0);
}

/*
 * Of the loops of the shallowest depth that has some, from `from` on in the sorted jumps, the one
 * with the fewest rounds that spans half of the time of the longest. Length 0: none.
 */
static uint32_t pick_loop(const struct loops *l, uint32_t least, uint32_t *length)
{
	uint64_t span = 0;
	uint32_t pick = 0, depth = NONE;

	*length = 0;
	for (int pass = 0; pass < 2; pass++) {
		uint32_t end;

		for (uint32_t i = 0; i < l->jump_count; i = end) {
			const struct jump *j = &l->jumps[i];
			uint64_t spans;

			for (end = i + 1; end < l->jump_count && l->jumps[end].depth == j->depth
					  && l->jumps[end].line == j->line;)
				end++;
			spans = l->jumps[end - 1].at - j->at;
			if (end - i + 1 < least || (depth != NONE && j->depth != depth))
				continue;
			depth = j->depth;
			if (!pass) {
				span = frag_max(span, spans);
			} else if (2 * spans >= span && (!*length || end - i < *length)) {
				pick = i;
				*length = end - i;
			}
		}
	}
	return pick;
}

bool frag_rounds_of_loops(struct frag_rounds *r, const struct frag_history *h, uint64_t from,
			  uint64_t until, uint32_t least)
{
	struct loops l = { .h = h };
	uint64_t begin = FRAG_STILL;
	uint32_t pick, length;
	bool good = true;

	for (uint32_t i = frag_history_find(h, from); i < h->request_count && good; i++) {
		const struct frag_calls path = frag_path_of(&h->stacks, h->requests[i].stack);

		if (h->requests[i].born >= until)
			break;
		if (!path.count)
			continue;
		begin = frag_min(begin, h->requests[i].born);
		good = loops_add_path(&l, path, h->requests[i].born);
	}
	FRAG_SORT(l.jumps, l.jump_count, by_loop);
	pick = good ? pick_loop(&l, least, &length) : 0;
	if (good && length && begin < l.jumps[pick].at)
		good = add_round(r, begin);
	for (uint32_t i = 0; good && i < length; i++)
		good = add_round(r, l.jumps[pick + i].at);
	free(l.jumps);
	free(l.first);
	return good;
}

/* Blocks of one kind come from one stack; without stacks they have one size. */
static uint64_t kind_of_block(const struct frag_past_request *r)
{
	return r->stack ? r->stack : r->bytes << 32 | UINT64_C(1) << 31;
}

bool frag_rounds_prepared(const struct frag_rounds *r, const struct frag_history *h, uint32_t *count)
{
	const uint64_t last = r->start[r->count - 1];
	struct frag_map later;
	uint64_t bytes = 0;
	uint32_t blocks = 0;
	bool good = frag_map_init(&later, frag_hash_seed());

	for (uint32_t i = frag_history_find(h, r->start[1]); i < h->request_count && good; i++)
		if (!h->requests[i].failed
		    && frag_map_get(&later, kind_of_block(&h->requests[i])) == FRAG_MAP_NONE)
			good = frag_map_add(&later, kind_of_block(&h->requests[i]), 0);
	for (uint32_t i = 0; good && i < h->request_count; i++) {
		const struct frag_past_request *b = &h->requests[i];

		if (b->born >= r->start[1])
			break;
		if (!b->failed && b->died > last
		    && (b->before || frag_map_get(&later, kind_of_block(b)) == FRAG_MAP_NONE)) {
			bytes += b->bytes;
			blocks++;
		}
	}
	frag_map_fini(&later);
	*count = bytes > RISING_FLOOR ? blocks : 0;
	return good;
}

/* An allocation or a free. */
struct change {
	uint64_t at, bytes;
	bool birth;
};

static int by_at(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return frag_order_two(x->at, y->at, 0, 0);
}

/* Allocations and frees of blocks before step `until`, in their order; NULL: out of memory. */
static struct change *list_changes(const struct frag_history *h, const uint32_t *of, uint32_t count,
				   uint64_t until, uint32_t *n)
{
	struct change *list = malloc(2 * sizeof(*list) * ((size_t)count + 1));

	*n = 0;
	for (uint32_t i = 0; list && i < count; i++) {
		const struct frag_past_request *r = &h->requests[of[i]];

		if (r->born < until)
			list[(*n)++] = (struct change){ r->born, r->bytes, true };
		if (r->born < until && r->died < until)
			list[(*n)++] = (struct change){ r->died, r->bytes, false };
	}
	FRAG_SORT(list, list ? *n : 0, by_at);
	return list;
}

static void apply(struct frag_round_level *now, const struct change *c)
{
	now->bytes = c->birth ? now->bytes + c->bytes : now->bytes - c->bytes;
	now->blocks = c->birth ? now->blocks + 1 : now->blocks - 1;
}

bool frag_levels_find(struct frag_round_level *levels, const struct frag_history *h, const uint32_t *of,
		      uint32_t block_count, const uint64_t *start, uint32_t count, uint64_t end)
{
	uint32_t n, k = 0;
	struct change *list = list_changes(h, of, block_count, end, &n);
	struct frag_round_level now = { 0, 0 };

	for (uint32_t i = 0; list && i < count; i++) {
		const uint64_t until = i + 1 < count ? start[i + 1] : end;

		for (; k < n && list[k].at < start[i]; k++)
			apply(&now, &list[k]);
		levels[i] = now;
		for (; k < n && list[k].at < until; k++) {
			apply(&now, &list[k]);
			levels[i].bytes = frag_min(levels[i].bytes, now.bytes);
			levels[i].blocks = frag_min(levels[i].blocks, now.blocks);
		}
	}
	free(list);
	return list != NULL;
}

bool frag_most_alive(uint64_t *out, const struct frag_history *h, const uint32_t *of,
		     uint32_t count, uint64_t until)
{
	uint32_t n;
	struct change *list = list_changes(h, of, count, until, &n);
	struct frag_round_level now = { 0, 0 };

	*out = 0;
	for (uint32_t i = 0; list && i < n; i++) {
		apply(&now, &list[i]);
		*out = frag_max(*out, now.blocks);
	}
	free(list);
	return list != NULL;
}

/*
 * Three cuts after the first round, and the last not longer ago than the longest gap; of four or five
 * rounds each after the second is a cut.
 */
static bool rounds_rise(const uint64_t *level, uint32_t n)
{
	uint64_t *low = malloc(sizeof(*low) * ((size_t)n + 1)), high = n ? level[0] : 0;
	uint32_t last = 0, cuts = 0, longest = 0;

	if (!low)
		return false;
	for (uint32_t i = n; i-- > 0;)
		low[i] = i + 1 < n ? frag_min(level[i], low[i + 1]) : level[i];
	for (uint32_t i = 1; i < n; i++) {
		/* the first round allocates permanent blocks: its cut means nothing */
		if (high < low[i] && i > 1) {
			longest = i - last > longest ? i - last : longest;
			last = i;
			cuts++;
		}
		high = frag_max(high, level[i]);
	}
	free(low);
	return (cuts >= 3 && n - last <= longest) || (n >= 4 && n < 6 && cuts == n - 2);
}

/* Noise hides a rise: the minimum of two rounds, of four, and so on has less of it. */
bool frag_levels_rise(const struct frag_round_level *levels, uint32_t count, bool blocks)
{
	uint64_t *level = malloc(sizeof(*level) * ((size_t)count + 1));
	bool found = false;
	uint32_t n = count;

	for (uint32_t i = 0; level && i < count; i++)
		level[i] = blocks ? levels[i].blocks : levels[i].bytes;
	while (level && !found) {
		found = rounds_rise(level, n);
		if (n < 16)
			break;
		for (uint32_t i = 0; i < n / 2; i++)
			level[i] = frag_min(level[n % 2 + 2 * i], level[n % 2 + 2 * i + 1]);
		n /= 2;
	}
	free(level);
	return found;
}
