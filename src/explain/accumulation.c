/*
 * accumulation.c - the blocks of a line that pile up to a failure.
 *
 * More blocks of a line of Python are alive at a failure than at any time before the last step of an
 * optimizer, or in the first round, and they were made in two rounds or more. With more than four
 * rounds their number must rise to the end. Or one block of the line is made again, larger each
 * time. So what micro-batches keep on purpose, and the layers of one pass, are none.
 *
 * A loop that is no iteration of a training may go over the layers of a single pass: it counts from
 * five rounds on, and with more blocks than a pass makes of each weight.
 */
#include "explain/accumulation.h"

#include <stdlib.h>

#include "base/format.h"
#include "events/tape.h"
#include "iterations/call_loops.h"
#include "iterations/levels.h"
#include "iterations/rounds.h"

#define ROUNDS_MIN 3
#define ROUNDS_OF_LOOP 5

/* Requests of one line before the failure: a part of the sorted list. */
struct line {
	const uint32_t *of;
	uint32_t count;
};

struct piling {
	const struct frag_history *h;
	const struct frag_iterations *r;        /* in steps, not events */
	uint64_t at, usual_until;
	struct frag_accumulation out;
	uint32_t blocks;
	uint64_t grown;         /* of out.bytes: in larger blocks */
	uint64_t forward, others;       /* bytes, by what made them */
	struct tag_bytes { uint64_t bytes; uint32_t tag; } *tags;
	uint32_t tag_count, tag_capacity;
	struct frag_map tag_at;
};

/* The line of a request: its innermost frame of Python, else its tag; 0: neither. */
static uint64_t accumulation_line(const struct frag_history *h, const struct frag_past_request *r)
{
	const uint32_t site = h->stacks.stacks[r->stack].site;

	return site ? site : (uint64_t)r->tag << 32;
}

struct lined {
	uint64_t line;
	uint32_t request;
};

static int by_line(const void *a, const void *b)
{
	const struct lined *x = a, *y = b;

	return frag_order_two(x->line, y->line, x->request, y->request);
}

static bool accumulation_add_tag(struct piling *p, uint32_t tag, uint64_t bytes)
{
	uint32_t i = frag_map_get(&p->tag_at, tag);

	if (i == FRAG_MAP_NONE) {
		i = p->tag_count;
		if (!FRAG_GROW(p->tags, p->tag_capacity, i) || !frag_map_add(&p->tag_at, tag, i))
			return false;
		p->tags[p->tag_count++] = (struct tag_bytes){ 0, tag };
	}
	p->tags[i].bytes += bytes;
	return true;
}

/* In how many of the rounds were these alive blocks made? */
static uint32_t count_passes(const struct piling *p, const uint32_t *of, uint32_t count)
{
	uint32_t passes = 0, round = 0, last = UINT32_MAX;

	for (uint32_t i = 0; i < count; i++) {
		const uint64_t born = p->h->requests[of[i]].born;

		while (round + 1 < p->r->count && p->r->start[round + 1] <= born)
			round++;
		passes += round != last;
		last = round;
	}
	return passes;
}

/* The first `count` of the blocks, which are alive, pile up; of larger ones `bytes` do. */
static bool accumulation_add_line(struct piling *p, const uint32_t *of, uint32_t count,
				  uint32_t passes, uint64_t bytes, bool larger)
{
	bool good = true;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count && good; i++) {
		const struct frag_past_request *r = &p->h->requests[of[i]];

		sum += r->bytes;
		*(r->maker == FRAG_MAKER_FORWARD ? &p->forward : &p->others) += r->bytes;
		good = accumulation_add_tag(p, r->tag, r->bytes);
	}
	p->out.bytes += larger ? bytes : sum;
	p->grown += larger ? bytes : 0;
	p->blocks += larger ? 0 : count;
	p->out.since = count ? frag_min(p->out.since, p->h->requests[of[0]].born) : p->out.since;
	p->out.passes = passes > p->out.passes ? passes : p->out.passes;
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
static struct change *list_changes(const struct frag_history *h, struct line line, uint64_t until,
				   uint32_t *n)
{
	struct change *list = malloc(2 * sizeof(*list) * ((size_t)line.count + 1));

	*n = 0;
	for (uint32_t i = 0; list && i < line.count; i++) {
		const struct frag_past_request *r = &h->requests[line.of[i]];

		if (r->born < until)
			list[(*n)++] = (struct change){ r->born, r->bytes, true };
		if (r->born < until && r->died < until)
			list[(*n)++] = (struct change){ r->died, r->bytes, false };
	}
	FRAG_SORT(list, list ? *n : 0, by_at);
	return list;
}

/* Alive now, in bytes and in blocks. */
struct alive {
	uint64_t bytes, blocks;
};

static void apply(struct alive *now, const struct change *c)
{
	now->bytes = c->birth ? now->bytes + c->bytes : now->bytes - c->bytes;
	now->blocks = c->birth ? now->blocks + 1 : now->blocks - 1;
}

/* The level of a line in each of the first `count` rounds, which the next one ends. */
static bool find_levels(const struct piling *p, struct line line, uint32_t count, uint64_t *bytes,
			uint64_t *blocks)
{
	const uint64_t *start = p->r->start;
	uint32_t n, k = 0;
	struct change *list = list_changes(p->h, line, start[count], &n);
	struct alive now = { 0, 0 };

	for (uint32_t i = 0; list && i < count; i++) {
		for (; k < n && list[k].at < start[i]; k++)
			apply(&now, &list[k]);
		bytes[i] = now.bytes;
		blocks[i] = now.blocks;
		for (; k < n && list[k].at < start[i + 1]; k++) {
			apply(&now, &list[k]);
			bytes[i] = frag_min(bytes[i], now.bytes);
			blocks[i] = frag_min(blocks[i], now.blocks);
		}
	}
	free(list);
	return list != NULL;
}

/* The maximum number of blocks of a line that were alive at once before step `until`. */
static bool most_alive(uint64_t *out, const struct frag_history *h, struct line line, uint64_t until)
{
	uint32_t n;
	struct change *list = list_changes(h, line, until, &n);
	struct alive now = { 0, 0 };

	*out = 0;
	for (uint32_t i = 0; list && i < n; i++) {
		apply(&now, &list[i]);
		*out = frag_max(*out, now.blocks);
	}
	free(list);
	return list != NULL;
}

/* Do blocks of the line rise over whole rounds, in number or else in size? *gain: bytes of levels. */
static bool judge_levels(const struct piling *p, struct line line, uint32_t rounds, bool *more,
			 bool *larger, uint64_t *gain)
{
	uint64_t *bytes = calloc((size_t)rounds + 1, sizeof(*bytes));
	uint64_t *blocks = calloc((size_t)rounds + 1, sizeof(*blocks));
	const bool good = bytes && blocks && find_levels(p, line, rounds, bytes, blocks)
			  && frag_levels_rise(blocks, rounds, more)
			  && frag_levels_rise(bytes, rounds, larger);

	*gain = good ? bytes[rounds - 1] - frag_min(bytes[0], bytes[rounds - 1]) : 0;
	free(bytes);
	free(blocks);
	return good;
}

/* The blocks of a line that were made since the first round. */
static bool judge_line(struct piling *p, struct line line)
{
	const struct frag_iterations *r = p->r;
	const uint32_t whole = r->count >= FRAG_ROUNDS_MIN ? r->count - 1 : 0;
	uint32_t *now = malloc(sizeof(*now) * ((size_t)line.count + 1)), alive = 0, before, passes;
	uint64_t most = 0, gain = 0;
	bool good = now, rises = true, larger = false;

	FRAG_COUNT_WHILE(before, line.count, p->h->requests[line.of[before]].born < r->start[0]);
	for (uint32_t i = before; good && i < line.count; i++)
		if (frag_was_alive(&p->h->requests[line.of[i]], p->at))
			now[alive++] = line.of[i];
	if (good && whole)
		good = judge_levels(p, (struct line){ line.of + before, line.count - before },
				    whole, &rises, &larger, &gain);
	good = good && most_alive(&most, p->h, line, p->usual_until);
	passes = good ? count_passes(p, now, alive) : 0;
	if (good && alive > most && passes > 1 && rises)
		good = accumulation_add_line(p, now, alive - (uint32_t)most, passes, 0, false);
	else if (good && larger)
		good = accumulation_add_line(p, now, alive, whole, gain, true);
	free(now);
	return good;
}

/* What piles up over these rounds, line by line. */
static bool pile_up(struct piling *p)
{
	const uint32_t n = frag_history_find(p->h, p->at);
	struct lined *list = malloc(sizeof(*list) * ((size_t)n + 1));
	uint32_t *of = malloc(sizeof(*of) * ((size_t)n + 1)), count = 0, end;
	bool good = list && of && frag_map_init(&p->tag_at, frag_hash_seed());
	uint64_t most = 0;

	for (uint32_t i = 0; i < n && good; i++) {
		const struct frag_past_request *r = &p->h->requests[i];

		if (!r->failed && !r->before && accumulation_line(p->h, r))
			list[count++] = (struct lined){ accumulation_line(p->h, r), i };
	}
	FRAG_SORT(list, good ? count : 0, by_line);
	for (uint32_t i = 0; i < count && good; i++)
		of[i] = list[i].request;
	for (uint32_t i = 0; i < count && good; i = end) {
		for (end = i + 1; end < count && list[end].line == list[i].line;)
			end++;
		if (p->h->requests[of[end - 1]].born >= p->r->start[0])
			good = judge_line(p, (struct line){ of + i, end - i });
	}
	for (uint32_t i = 0; i < p->tag_count && good; i++)
		if (p->tags[i].tag && p->tags[i].bytes > most) {
			most = p->tags[i].bytes;
			p->out.tag = p->tags[i].tag;
		}
	p->out.larger = 2 * p->grown > p->out.bytes;
	p->out.forward = p->forward > p->others;
	for (uint32_t i = 0; i < n && !p->out.backward; i++)
		p->out.backward = p->h->requests[i].born >= p->r->start[0]
				  && p->h->requests[i].maker == FRAG_MAKER_BACKWARD;
	free(list);
	free(of);
	free(p->tags);
	frag_map_fini(&p->tag_at);
	return good;
}

/* The last step of an optimizer before the failure; 0: there is none. */
static uint64_t last_step(const struct frag_history *h, uint64_t at, uint32_t *count)
{
	FRAG_COUNT_WHILE(*count, h->step_count, h->steps[*count] < at);
	return *count ? h->steps[*count - 1] : 0;
}

/* Their events become steps. */
static void rounds_in_steps(struct frag_iterations *r, const struct frag_tape *tape)
{
	for (uint32_t i = 0; i < r->count; i++)
		r->start[i] = frag_tape_step(tape, (uint32_t)r->start[i]);
}

/* Over one kind of rounds, where they have a base; keeps what has more bytes. */
static int try_rounds(struct frag_accumulation *out, const struct frag_history *h, uint64_t at,
		      struct frag_iterations *r, uint64_t step, struct frag_error *err)
{
	struct piling p = { .h = h, .r = r, .at = at, .out = { .since = UINT64_MAX } };
	struct frag_rounds_base base;
	bool sure;
	int rc;

	if (r->count < ROUNDS_MIN)
		return 0;
	rc = frag_rounds_find_base(&base, r, h->tape, err);
	if (rc)
		return rc;
	rounds_in_steps(r, h->tape);
	p.out.after_step = step && r->start[0] >= step;
	p.out.in_step = r->by == FRAG_BY_OPTIMIZER;
	sure = p.out.after_step || r->by >= FRAG_BY_OPTIMIZER;
	if (!base.enough || (!sure && r->count < ROUNDS_OF_LOOP))
		return 0;
	p.usual_until = p.out.after_step ? step : r->start[1];
	if (!pile_up(&p))
		return frag_fail_nomem(err);
	if (!sure && !p.out.larger && p.blocks < (uint64_t)FRAG_BLOCKS_OF_WEIGHT * base.blocks)
		return 0;
	if (p.out.bytes > out->bytes)
		*out = p.out;
	return 0;
}

int frag_find_accumulation(struct frag_accumulation *out, const struct frag_history *h, uint64_t at,
			   struct frag_error *err)
{
	const uint64_t until = frag_tape_event(h->tape, at);
	struct frag_iterations loops = { .count = 0 }, marks = { .count = 0 };
	struct frag_loop_search in = { .until = until, .least = ROUNDS_MIN };
	uint32_t steps;
	const uint64_t step = last_step(h, at, &steps);
	bool any;
	int rc;

	in.from = steps ? frag_tape_event(h->tape, step) : 0;
	*out = (struct frag_accumulation){ .bytes = 0 };
	rc = frag_loops_find(&loops, h->tape, &in, &any, err);
	rc = rc ? rc : try_rounds(out, h, at, &loops, step, err);
	if (!rc && steps != 1)
		rc = frag_iterations_by_marks(&marks, h->tape, NULL, until, err);
	rc = rc ? rc : try_rounds(out, h, at, &marks, step, err);
	if (out->bytes < frag_history_live(h, at) / FRAG_PILED_SHARE)
		out->bytes = 0;
	frag_iterations_fini(&loops);
	frag_iterations_fini(&marks);
	return rc;
}
