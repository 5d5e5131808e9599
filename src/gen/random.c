/* random.c - a random walk around a number of live blocks; each free picks a random block. */
#include <stdlib.h>

#include "gen/scenarios.h"

#define MIB (UINT64_C(1) << 20)

enum { EVENTS, LIVE, SIZES, MIN_SIZE, MAX_SIZE, STREAMS, SHARED, SEED };
enum { LOG, UNIFORM, MIXED };

static const char *const size_words[] = { "log", "uniform", "mixed", NULL };

static const struct frag_gen_option random_options[] = {
	{ "events", FRAG_GEN_COUNT, 100000, 1, FRAG_GEN_MAX, "how many events", NULL },
	{ "live", FRAG_GEN_COUNT, 1000, 1, 10000000, "live blocks, about", NULL },
	{ "sizes", FRAG_GEN_WORD, LOG, 0, 0, "how sizes are distributed", size_words },
	{ "min-size", FRAG_GEN_SIZE, 512, 1, FRAG_GEN_MAX, "smallest request", NULL },
	{ "max-size", FRAG_GEN_SIZE, 32 * MIB, 1, FRAG_GEN_MAX, "largest request", NULL },
	{ "streams", FRAG_GEN_COUNT, 1, 1, 1000000, "how many streams", NULL },
	{ "shared", FRAG_GEN_COUNT, 0, 0, 100, "percent of blocks used on a second stream", NULL },
	{ "seed", FRAG_GEN_COUNT, 1, 0, FRAG_GEN_MAX, "where the random numbers begin", NULL },
	{ 0 },
};

static int random_check(const uint64_t *option, struct frag_error *err)
{
	if (option[MIN_SIZE] > option[MAX_SIZE])
		return frag_fail(err, FRAG_EUSAGE, "--min-size %llu is above --max-size %llu",
				 (unsigned long long)option[MIN_SIZE],
				 (unsigned long long)option[MAX_SIZE]);
	if (option[SHARED] && option[STREAMS] < 2)
		return frag_fail(err, FRAG_EUSAGE, "--shared requires --streams of 2 or more");
	return 0;
}

static uint64_t size(const uint64_t *option, struct frag_rng *rng)
{
	uint64_t min = option[MIN_SIZE], max = option[MAX_SIZE];
	uint64_t border = max < MIB ? max : min > MIB ? min : MIB;

	if (option[SIZES] == UNIFORM)
		return frag_rng_between(rng, min, max);
	if (option[SIZES] == LOG)
		return frag_rng_magnitude(rng, min, max);
	/* mixed: nine in ten are small */
	if (frag_rng_below(rng, 10))
		return frag_rng_magnitude(rng, min, border);
	return frag_rng_magnitude(rng, border, max);
}

static void free_one(struct frag_gen *g, struct frag_rng *rng, struct frag_gen_ids *live)
{
	uint32_t which = (uint32_t)frag_rng_below(rng, live->count);

	frag_gen_free(g, live->ids[which]);
	live->ids[which] = live->ids[--live->count];
}

/* Another stream than the block's own. */
static uint64_t second_stream(const struct frag_gen *g, struct frag_rng *rng)
{
	return (g->stream + 1 + frag_rng_below(rng, g->option[STREAMS] - 1)) % g->option[STREAMS];
}

/*
 * With n live blocks the next event is a free with probability n / (2 LIVE), so
 * the walk returns to LIVE from both sides.
 */
static void random_emit(struct frag_gen *g)
{
	const uint64_t *option = g->option;
	struct frag_rng rng = { .state = option[SEED] };
	struct frag_gen_ids live = { .ids = NULL };
	bool share = false;     /* the block just made is used on a second stream */

	for (uint64_t i = 0; i < option[EVENTS] && frag_gen_going(g); i++) {
		if (share) {
			frag_gen_record_stream(g, live.ids[live.count - 1],
					       second_stream(g, &rng));
			share = false;
		} else if (option[SHARED] && frag_rng_below(&rng, 64) == 0) {
			frag_gen_sync(g);
		} else if (frag_rng_below(&rng, 2 * option[LIVE]) < live.count) {
			free_one(g, &rng, &live);
		} else {
			g->stream = frag_rng_below(&rng, option[STREAMS]);
			frag_gen_push(g, &live, frag_gen_alloc(g, size(option, &rng), NULL));
			share = frag_rng_percent(&rng, option[SHARED]);
		}
	}
	free(live.ids);
}

const struct frag_scenario frag_scenario_random = {
	.name = "random",
	.summary = "random sizes and lifetimes, with about a constant number of live blocks",
	.options = random_options,
	.check = random_check,
	.emit = random_emit,
};
