/*
 * growth.c - what an event takes while there are more and more blocks, free ones or live ones.
 *
 * Blocks are made on the way to what is measured: by turns an alloc and a free, in stretches,
 * the least of which counts. Beside it stands a step from one of so many places of memory to
 * another one at random, as all that is looked up takes longer where it is in no cache.
 */
#include <stdlib.h>
#include <string.h>

#include "crossing/bench/bench.h"

#define STRETCHES 7
#define STRETCH 20000           /* events */
#define PARTS 64                /* of the way there, after each of which the clock is looked at */
#define SECONDS UINT64_C(1000000000)
#define PATIENCE (20 * SECONDS)
#define PLACE 256               /* bytes: about what a block takes in all tables */
#define STEPS 400000
/* How many more cache misses an event may wait for: of a life, a slot, a block with its two
 * neighbours and its segment, and of two free blocks in their lists. */
#define MISSES 8

static const struct {
	const char *things;
	enum bench_shape shape;
} kinds[] = {
	{ "free blocks of one size", BENCH_ONE_SIZE },
	{ "free blocks of all sizes", BENCH_HOLES },
	{ "live blocks", BENCH_RANDOM },
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define EXPANDABLE "pytorch:expandable_segments=true"

/* A chain through all places, in no order. */
static uint64_t walk(uint32_t *next, uint32_t count)
{
	const uint32_t stride = PLACE / sizeof(*next);
	uint64_t random = 1, begin;
	volatile uint32_t at = 0;

	for (uint32_t i = 0; i < count; i++)
		next[(size_t)i * stride] = i;
	for (uint32_t i = count - 1; i; i--) {
		uint32_t k, other;

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		k = (uint32_t)((random >> 33) * i >> 31);
		other = next[(size_t)k * stride];
		next[(size_t)k * stride] = next[(size_t)i * stride];
		next[(size_t)i * stride] = other;
	}
	begin = bench_now();
	for (uint32_t i = 0; i < STEPS; i++)
		at = next[(size_t)at * stride];
	return bench_now() - begin;
}

static int take_places(struct bench_growth *g, const uint32_t *sizes, struct frag_error *err)
{
	*g = (struct bench_growth){ .things = "places of memory" };
	for (uint32_t i = 0; i < BENCH_SIZES; i++) {
		uint32_t *next = malloc((size_t)sizes[i] * PLACE);

		if (!next)
			return frag_fail_nomem(err);
		g->ns[i] = (double)walk(next, sizes[i]) / STEPS;
		free(next);
	}
	return 0;
}

/* To where what is measured begins; *late: it took too long. */
static int lead_up(struct frag_sim *sim, struct frag_tape_reader *reader, uint64_t events,
		   bool *late, struct frag_error *err)
{
	const uint64_t begin = bench_now();
	int rc = 0;

	for (uint64_t i = 1; i <= PARTS && !rc && !*late; i++) {
		rc = frag_sim_play(sim, reader, events * i / PARTS, err);
		*late = bench_now() - begin > PATIENCE;
	}
	return rc;
}

static int take(double *ns, const char *policy, const struct bench_tape *tape, uint64_t lead,
		struct frag_error *err)
{
	const struct frag_sim_options options = { .level = FRAG_LEVEL_ALL };
	struct frag_tape_reader *reader = frag_tape_reader_new(bench_tape_events(tape));
	struct frag_sim *sim = NULL;
	struct frag_choice choice;
	uint32_t count;
	bool late = false;
	int rc = reader ? frag_choice_parse(&choice, policy, err) : frag_fail_nomem(err);

	rc = rc ? rc : frag_sim_on_tape(&sim, &choice, bench_tape_events(tape), &options, err);
	rc = rc ? rc : lead_up(sim, reader, lead, &late, err);
	*ns = late ? -1 : 0;
	for (uint64_t i = 1; i <= STRETCHES && !rc && !late; i++) {
		const uint64_t begin = bench_now();
		double taken;

		rc = frag_sim_play(sim, reader, lead + i * STRETCH, err);
		taken = (double)(bench_now() - begin) / STRETCH;
		*ns = i == 1 || taken < *ns ? taken : *ns;
	}
	if (!rc && !late)
		rc = bench_agree(frag_sim_results(sim, false, &count)->counts.ooms, 0, "OOMs", err);
	frag_sim_del(sim);
	frag_tape_reader_del(reader);
	return rc;
}

/* All policies with one kind of blocks, each size made once. */
static int take_kind(struct bench_report *r, uint32_t kind, struct frag_error *err)
{
	struct bench_growth *first = &r->growths[r->growth_count];
	const struct frag_policy_ops *const *policies = frag_policies();
	uint32_t count = 0;
	int rc = 0;

	for (; policies[count]; count++)
		first[count].policy = policies[count]->name;
	first[count++].policy = EXPANDABLE;
	r->growth_count += count;
	for (uint32_t size = 0; size < BENCH_SIZES && !rc; size++) {
		struct bench_spec spec = { kinds[kind].shape, r->sizes[size], 0 };
		const uint64_t lead = spec.shape == BENCH_RANDOM ? spec.live : bench_prelude(&spec);
		struct bench_tape *tape = NULL;

		spec.events = lead + STRETCHES * STRETCH;
		rc = bench_tape_new(&tape, &spec, err);
		for (uint32_t i = 0; i < count && !rc; i++) {
			first[i].things = kinds[kind].things;
			if (size && first[i].ns[size - 1] < 0)
				first[i].ns[size] = -1;
			else
				rc = take(&first[i].ns[size], first[i].policy, tape, lead, err);
		}
		bench_tape_del(tape);
	}
	return rc;
}

/* From each size to the next: no more than a logarithm, cache misses apart. */
static bool is_bad(const struct bench_growth *g, const struct bench_report *r)
{
	const double *places = r->growths[0].ns;

	for (uint32_t i = 1; i < BENCH_SIZES; i++) {
		const double missed = places[i] > places[i - 1] ? places[i] - places[i - 1] : 0;

		/* ten times as many things have 1.25 times the logarithm, from 10^4 on; and
		 * half as much again is what the clock may err by */
		if (g->ns[i] < 0 || g->ns[i] > g->ns[i - 1] * 1.25 * 1.5 + MISSES * missed)
			return true;
	}
	return false;
}

int bench_growth(struct bench_report *r, struct frag_error *err)
{
	int rc = take_places(&r->growths[0], r->sizes, err);

	r->growth_count = 1;
	for (uint32_t i = 0; i < LENGTH(kinds) && !rc; i++) {
		fprintf(stderr, "growth: %s\n", kinds[i].things);
		rc = take_kind(r, i, err);
	}
	for (uint32_t i = 1; i < r->growth_count; i++)
		r->growths[i].bad = is_bad(&r->growths[i], r);
	return rc;
}

void bench_growth_table(const struct bench_report *r, FILE *f)
{
	fputs("\nns an event while there are so many blocks, and the ratio of the last to the first\n",
	      f);
	fprintf(f, "%-60s", "");
	for (uint32_t i = 0; i < BENCH_SIZES; i++)
		fprintf(f, "%10u", r->sizes[i]);
	fprintf(f, "%8s\n", "ratio");
	for (uint32_t i = 0; i < r->growth_count; i++) {
		const struct bench_growth *g = &r->growths[i];

		fprintf(f, "%-26s%-34s", g->things, g->policy ? g->policy : "");
		for (uint32_t k = 0; k < BENCH_SIZES; k++)
			if (g->ns[k] < 0)
				fprintf(f, "%10s", "-");
			else
				fprintf(f, "%10.1f", g->ns[k]);
		fprintf(f, "%8.1f%s\n", g->ns[BENCH_SIZES - 1] / g->ns[0], g->bad ? "  BAD" : "");
	}
}

void bench_growth_json(const struct bench_report *r, struct frag_node_ref in)
{
	struct frag_node_ref sizes = frag_json_array(in, "sizes");
	struct frag_node_ref rows = frag_json_array(in, "rows");

	for (uint32_t i = 0; i < BENCH_SIZES; i++)
		frag_json_u64(sizes, NULL, r->sizes[i]);
	for (uint32_t i = 0; i < r->growth_count; i++) {
		const struct bench_growth *g = &r->growths[i];
		struct frag_node_ref row = frag_json_object(rows, NULL), ns;

		frag_json_text(row, "things", g->things);
		if (g->policy)
			frag_json_text(row, "policy", g->policy);
		ns = frag_json_array(row, "ns");
		for (uint32_t k = 0; k < BENCH_SIZES; k++)
			frag_json_fixed4(ns, NULL, g->ns[k]);
		frag_json_bool(row, "bad", g->bad);
	}
}
