/*
 * accumulation.c - blocks of one line that pile up, and blocks that are larger than ever before.
 *
 * More blocks of a line of Python are alive at a failure than at any time before the last step of an
 * optimizer, or in the first round, and they were made in two rounds or more. With more than four
 * rounds their number must rise to the end. Or one block of the line is made again, larger each
 * time. So what micro-batches keep on purpose, and the layers of one pass, are none.
 *
 * A loop that is no iteration of a training may go over the layers of a single pass: it counts from
 * five rounds on, and with more blocks than a pass makes of each weight.
 */
#include "explain/history.h"

#include <stdlib.h>

#include "explain/rounds.h"

#define ROUNDS_MIN 3
#define SHARE 4                 /* a quarter of what is alive */
#define ROUNDS_OF_LOOP 5
#define BLOCKS_OF_WEIGHT 3      /* that one pass keeps, at most: more are of several passes */

/* Requests of one line before the failure: a part of the sorted list. */
struct line {
	const uint32_t *of;
	uint32_t count;
};

struct piling {
	const struct frag_history *h;
	const struct frag_rounds *r;
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
static bool accumulation_add_line(struct piling *p, const uint32_t *of, uint32_t count, uint32_t passes,
		     uint64_t bytes, bool larger)
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

/* Rounds and levels of the blocks of a line that were made since the first round. */
static bool judge_line(struct piling *p, struct line line)
{
	const struct frag_rounds *r = p->r;
	const uint64_t first = r->start[0], end = r->start[r->count - 1];
	const uint32_t n = r->count > 4 ? r->count - 1 : 0;     /* the last is not whole */
	struct frag_round_level *levels = calloc((size_t)n + 1, sizeof(*levels));
	uint32_t *now = malloc(sizeof(*now) * ((size_t)line.count + 1)), alive = 0, before, passes;
	uint64_t most = 0;
	bool good = levels && now, more, larger;

	FRAG_COUNT_WHILE(before, line.count, p->h->requests[line.of[before]].born < first);
	for (uint32_t i = before; good && i < line.count; i++)
		if (frag_was_alive(&p->h->requests[line.of[i]], p->at))
			now[alive++] = line.of[i];
	good = good && (!n || frag_levels_find(levels, p->h, line.of + before, line.count - before,
					       r->start, n, end))
	       && frag_most_alive(&most, p->h, line.of, line.count, p->usual_until);
	if (good) {
		passes = count_passes(p, now, alive);
		more = alive > most && passes > 1 && (!n || frag_levels_rise(levels, n, true));
		larger = !more && n && frag_levels_rise(levels, n, false);
		if (more)
			good = accumulation_add_line(p, now, alive - (uint32_t)most, passes, 0, false);
		else if (larger)
			good = accumulation_add_line(p, now, alive, n,
					levels[n - 1].bytes - frag_min(levels[0].bytes,
								       levels[n - 1].bytes),
					true);
	}
	free(levels);
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

/* Over one sort of rounds, where they go over something prepared; keeps what has more bytes. */
static bool try_rounds(struct frag_accumulation *out, const struct frag_history *h, uint64_t at,
		       const struct frag_rounds *r, uint64_t step, enum frag_step_kind kind)
{
	struct piling p = { .h = h, .r = r, .at = at, .out = { .since = FRAG_STILL } };
	bool sure;
	uint32_t prepared;

	if (r->count < ROUNDS_MIN)
		return true;
	if (!frag_rounds_prepared(r, h, &prepared))
		return false;
	p.out.after_step = step && r->start[0] >= step;
	p.out.in_step = kind == FRAG_STEP_OPTIMIZER;
	sure = p.out.after_step || kind != FRAG_STEP_NONE;
	if (!prepared || (!sure && r->count < ROUNDS_OF_LOOP))
		return true;
	p.usual_until = p.out.after_step ? step : r->start[1];
	if (!pile_up(&p))
		return false;
	if (!sure && !p.out.larger && p.blocks < (uint64_t)BLOCKS_OF_WEIGHT * prepared)
		return true;
	if (p.out.bytes > out->bytes)
		*out = p.out;
	return true;
}

int frag_find_accumulation(struct frag_accumulation *out, const struct frag_history *h, uint64_t at,
			   struct frag_error *err)
{
	struct frag_rounds loops = { .count = 0 }, marks = { .count = 0 };
	uint32_t steps;
	const uint64_t step = last_step(h, at, &steps);
	enum frag_step_kind kind;
	bool good;

	*out = (struct frag_accumulation){ .bytes = 0 };
	good = frag_rounds_of_loops(&loops, h, step, at, ROUNDS_MIN)
	       && try_rounds(out, h, at, &loops, step, FRAG_STEP_NONE);
	if (good && steps != 1)
		good = frag_rounds_of_marks(&marks, h, at, &kind)
		       && try_rounds(out, h, at, &marks, step, kind);
	if (out->bytes < frag_history_live(h, at) / SHARE)
		out->bytes = 0;
	frag_rounds_fini(&loops);
	frag_rounds_fini(&marks);
	return good ? 0 : frag_fail_nomem(err);
}

static int accumulation_by_ratio(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* By stack: the largest block before the last round; from it on, what is larger. */
static bool compare_sizes(struct frag_larger *out, const struct frag_history *h, uint64_t begin,
			  uint64_t at)
{
	uint64_t *most = calloc((size_t)h->stacks.stack_count + 1, sizeof(*most)), all = 0;
	double *ratios = malloc(sizeof(*ratios) * ((size_t)h->request_count + 1));
	uint32_t n = 0;

	for (uint32_t i = 0; most && ratios && i < h->request_count; i++) {
		const struct frag_past_request *r = &h->requests[i];

		if (r->born >= at)
			break;
		if (!r->stack || r->failed || r->before)
			continue;
		if (r->born < begin) {
			most[r->stack] = frag_max(most[r->stack], r->bytes);
		} else if (most[r->stack] && frag_was_alive(r, at)) {
			all += r->bytes;
			if (r->bytes > most[r->stack]) {
				out->bytes += r->bytes;
				ratios[n++] = (double)r->bytes / (double)most[r->stack];
			}
		}
	}
	FRAG_SORT(ratios, ratios ? n : 0, accumulation_by_ratio);
	out->ratio = n ? ratios[n / 2] : 0;
	if (2 * out->bytes <= all)
		out->bytes = 0;
	free(ratios);
	free(most);
	return most && ratios;
}

int frag_find_larger(struct frag_larger *out, const struct frag_history *h, uint64_t at,
		     struct frag_error *err)
{
	struct frag_rounds r = { .count = 0 };
	enum frag_step_kind kind;
	uint32_t prepared = 1;
	bool good = frag_rounds_of_marks(&r, h, at, &kind);

	*out = (struct frag_larger){ .bytes = 0 };
	if (good && r.count < 4) {
		frag_rounds_fini(&r);
		good = frag_rounds_of_loops(&r, h, 0, at, 4)
		       && (!r.count || frag_rounds_prepared(&r, h, &prepared));
	}
	if (good && prepared && r.count >= 4)
		good = compare_sizes(out, h, r.start[r.count - 1], at);
	frag_rounds_fini(&r);
	return good ? 0 : frag_fail_nomem(err);
}
