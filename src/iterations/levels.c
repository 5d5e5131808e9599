/* levels.c - decides whether a level that was measured once a round rises on and on. */
#include "iterations/levels.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"

#define ROUNDS_FOLDED 16        /* of at least as many, pairs are judged too */

/* Levels that may be pairs of rounds, pairs of pairs, ...; memory for what is computed of them. */
struct folded {
	struct frag_level_change *levels;
	uint64_t *low;          /* the minimum from this level on */
	uint32_t *cuts;         /* rounds */
	uint32_t count, rounds, cut_count;
	uint32_t scale, offset; /* round r here begins at round offset + scale * r */
};

uint64_t frag_levels_at(const struct frag_level_change *levels, uint32_t count, uint32_t round)
{
	uint32_t after;

	FRAG_COUNT_WHILE(after, count, levels[after].round <= round);
	return after ? levels[after - 1].value : 0;
}

/* Within equal levels there is no cut. */
static void find_cuts(struct folded *f)
{
	uint64_t high = 0;

	f->cut_count = 0;
	for (uint32_t i = f->count; i-- > 0;) {
		f->low[i] = f->levels[i].value;
		if (i + 1 < f->count)
			f->low[i] = frag_min(f->low[i], f->low[i + 1]);
	}
	for (uint32_t i = 0; i < f->count; i++) {
		if (i && high < f->low[i])
			f->cuts[f->cut_count++] = f->levels[i].round;
		high = frag_max(high, f->levels[i].value);
	}
}

/* A warm-up, a cache that is full and shapes that were all seen stop to rise; a leak does not. */
static bool rises_on(const struct folded *f)
{
	uint32_t longest = 0, before = 0, count = 0;

	for (uint32_t i = 0; i < f->cut_count; i++) {
		if (f->cuts[i] < 2)
			continue;
		if (count++ && f->cuts[i] - before > longest)
			longest = f->cuts[i] - before;
		before = f->cuts[i];
	}
	/* a period that fits in twice; else the first cuts are a warm-up, and the last is by chance */
	return count >= FRAG_CUTS_MIN && f->rounds - before <= longest
	       && longest <= f->rounds / 2;
}

/* Before its first cut, did it fall from its maximum by more than it rises above that? */
static bool fell_further(const struct folded *f)
{
	const uint32_t first = f->cuts[0] < 2 ? f->cuts[1] : f->cuts[0];
	uint64_t high = 0, fall = 0;

	for (uint32_t i = 0; i < f->count && f->levels[i].round < first; i++) {
		high = frag_max(high, f->levels[i].value);
		fall = frag_max(fall, high - f->levels[i].value);
	}
	return f->levels[f->count - 1].value - high < fall;
}

/* Three levels on each side: a rise of fewer comes by chance. */
static bool rose_late(const struct folded *f, struct frag_rising *out)
{
	*out = (struct frag_rising){ .rise = FRAG_RISE_STOPPED };
	for (uint32_t i = 0; i < f->cut_count; i++) {
		const uint32_t cut = f->cuts[i];

		if (cut < f->rounds / 2 || cut < 3 || f->rounds - cut < 3)
			continue;
		out->first = out->first ? out->first : cut;
		out->last = cut;
	}
	return out->last;
}

/* The distance that more than half of the cuts have (Boyer and Moore 1981); 0: none. */
static uint32_t usual_gap(const uint32_t *cuts, uint32_t count)
{
	uint32_t gap = 0, votes = 0, n = 0;

	for (uint32_t i = 1; i < count; i++) {
		if (!votes)
			gap = cuts[i] - cuts[i - 1];
		votes = cuts[i] - cuts[i - 1] == gap ? votes + 1 : votes - 1;
	}
	for (uint32_t i = 1; i < count; i++)
		n += cuts[i] - cuts[i - 1] == gap;
	return 2 * n > count - 1 ? gap : 0;
}

static void describe(const struct folded *f, struct frag_rising *out)
{
	const uint32_t skipped = f->cuts[0] < 2;
	const uint32_t *cuts = f->cuts + skipped;
	const uint32_t count = f->cut_count - skipped;

	*out = (struct frag_rising){
		.rise = FRAG_RISE_ON, .first = f->offset + f->scale * cuts[0],
		.last = f->offset + f->scale * cuts[count - 1],
		.period = f->scale * usual_gap(cuts, count),
	};
}

/* Each pair of rounds becomes one, which has the lower level of both; a first odd one is omitted. */
static void fold(struct folded *f)
{
	const uint32_t odd = f->rounds % 2, rounds = f->rounds / 2;
	uint32_t kept = 0, at = 0;

	for (uint32_t pair = 0; pair < rounds;) {
		const uint32_t round = 2 * pair + odd;
		struct frag_level_change level;
		uint32_t end;

		while (at + 1 < f->count && f->levels[at + 1].round <= round)
			at++;
		end = at + 1 < f->count ? f->levels[at + 1].round : f->rounds;
		level = (struct frag_level_change){ f->levels[at].value, pair };
		if (end == round + 1) {
			level.value = frag_min(level.value, f->levels[at + 1].value);
			pair++;
		} else {
			pair += (end - round) / 2;
		}
		/* the lower level of two is one of them: no list grows, and nothing unread is lost */
		if (!kept || f->levels[kept - 1].value != level.value)
			f->levels[kept++] = level;
	}
	f->count = kept;
	f->rounds = rounds;
	f->offset += f->scale * odd;
	f->scale *= 2;
}

bool frag_levels_judge(const struct frag_level_change *levels, uint32_t count, uint32_t rounds,
		       struct frag_rising *out)
{
	struct folded f = { .count = count, .rounds = rounds, .scale = 1 };
	struct frag_rising late;
	bool good;

	f.levels = malloc(((size_t)count + 1) * sizeof(*f.levels));
	f.low = malloc(((size_t)count + 1) * sizeof(*f.low));
	f.cuts = malloc(((size_t)count + 1) * sizeof(*f.cuts));
	good = f.levels && f.low && f.cuts;
	*out = (struct frag_rising){ .rise = FRAG_RISE_NONE };
	if (good)
		memcpy(f.levels, levels, count * sizeof(*levels));
	while (good) {
		find_cuts(&f);
		if (rises_on(&f)) {
			describe(&f, out);
			if (fell_further(&f))
				out->rise = FRAG_RISE_STOPPED;
			break;
		}
		if (rose_late(&f, &late)) {
			if (f.scale == 1)
				*out = late;
			break;
		}
		if (f.rounds < ROUNDS_FOLDED)
			break;
		/* noise that hides a rise is smaller in the minimum of two rounds, of four, ... */
		fold(&f);
	}
	free(f.levels);
	free(f.low);
	free(f.cuts);
	return good;
}

bool frag_levels_rise(const uint64_t *levels, uint32_t rounds, bool *rises)
{
	struct frag_level_change *list = malloc(((size_t)rounds + 1) * sizeof(*list));
	struct frag_rising rising = { .rise = FRAG_RISE_NONE };
	bool good = list;

	for (uint32_t i = 0; list && i < rounds; i++)
		list[i] = (struct frag_level_change){ levels[i], i };
	good = good && (!rounds || frag_levels_judge(list, rounds, rounds, &rising));
	*rises = rounds == FRAG_ROUNDS_MIN - 1
			 ? frag_max(levels[0], levels[1]) < levels[2] && levels[2] < levels[3]
			 : rising.rise == FRAG_RISE_ON;
	free(list);
	return good;
}
