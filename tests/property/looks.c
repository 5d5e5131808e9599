/*
 * looks.c - every search of simulations asks often enough whether it is to stop: no clock is used.
 *
 * PyTorch's allocator rounds each request once, in whatever loop it is simulated; the linker puts
 * the counter below into that place. Between two questions, and after the one that stops the
 * search, there are at most LOOK requests, whatever the trace has; but shrink asks once a run while
 * it finds whether there is an out-of-memory at all. The searches are stopped at some question, so
 * that no size takes long. HEAVY=1 has a million events too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search/prediction.h"
#include "search/recommend.h"
#include "search/shrink_search.h"
#include "support/play.h"
#include "support/random.h"
#include "support/records.h"
#include "support/unit.h"

#define LOOK (UINT64_C(1) << 17)
#define LOOK_OF_SHRINK (UINT64_C(1) << 20)
#define MIB (UINT64_C(1) << 20)

uint64_t __real_frag_pytorch_round(uint64_t bytes, uint64_t rule);
uint64_t __wrap_frag_pytorch_round(uint64_t bytes, uint64_t rule);

/* Requests so far, those of the last question, and most between two of them. */
static uint64_t requests, asked_at, most;
static uint32_t questions, stop_at;

uint64_t __wrap_frag_pytorch_round(uint64_t bytes, uint64_t rule)
{
	requests++;
	return __real_frag_pytorch_round(bytes, rule);
}

static bool ask(void *ctx)
{
	(void)ctx;
	most = requests - asked_at > most ? requests - asked_at : most;
	asked_at = requests;
	return ++questions >= stop_at;
}

/* A trace of random sizes, half of them small, of which about so many live at once. */
struct world {
	struct frag_record *records;
	uint32_t count, live;
	struct records source;
	struct frag_trace *trace;
	struct frag_tape *tape;
	struct frag_device_figures figures;
};

static void make_records(struct world *w, uint32_t count, uint32_t live, uint64_t larger)
{
	uint32_t *ids = calloc(live + 1, sizeof(*ids)), held = 0;
	uint64_t random = 1;

	*w = (struct world){ .count = count, .live = live };
	w->records = calloc(count, sizeof(*w->records));
	assert_true(w->records && ids);
	for (uint32_t i = 0; i < count; i++) {
		struct frag_record *r = &w->records[i];

		if (held == live || (held && random_below(&random, 8) < 3)) {
			const uint32_t k = (uint32_t)random_below(&random, held);

			*r = (struct frag_record)FREE(ids[k]);
			ids[k] = ids[--held];
		} else {
			*r = (struct frag_record)ALLOC(i, larger * random_size(&random, 24));
			ids[held++] = i;
		}
	}
	free(ids);
}

static void open_trace(struct world *w)
{
	const struct frag_trace_options options = { .records = true };

	w->figures = (struct frag_device_figures){ .granularity = 2 * MIB };
	w->source = (struct records){ .records = w->records, .count = w->count };
	assert_int_equal(frag_trace_from(&w->trace, &records_source, &w->source, &w->figures, 1,
					 &options, NULL), 0);
}

static void open_world(struct world *w, uint32_t count, uint32_t live, uint64_t larger)
{
	make_records(w, count, live, larger);
	open_trace(w);
	assert_int_equal(frag_tape_new(&w->tape, w->trace, NULL, NULL), 0);
}

static void close_world(struct world *w)
{
	frag_tape_del(w->tape);
	frag_trace_close(w->trace);
	free(w->records);
}

/* The searches, each with the choices. They end by themselves or are stopped. ---------------- */

static int fit(const struct world *w, struct frag_choice *choices, struct frag_error *err)
{
	const struct frag_fit_source source = { w->tape, choices, &w->figures, NULL };
	struct frag_fits fits = {
		.sources = &source, .source_count = 1, .choice_count = 2,
		.headroom_total = UINT64_C(64) << 40, .job = { .stop = ask, .threads = 1 },
	};
	const int rc = frag_fits_run(&fits, err);

	frag_fits_fini(&fits);
	return rc;
}

static int settings(const struct world *w, struct frag_choice *choices, struct frag_error *err)
{
	const struct frag_fit_source source = { w->tape, choices, &w->figures, NULL };
	struct frag_recommendation r = {
		.sources = &source, .source_count = 1, .own = true, .every = true, .exact = true,
		.job = { .stop = ask, .threads = 1 },
	};
	const int rc = frag_recommend(&r, err);

	frag_recommend_fini(&r);
	return rc;
}

static int predict(const struct world *w, struct frag_choice *choices, struct frag_error *err)
{
	struct world larger;
	struct frag_predicted x = {
		.tape = w->tape, .choices = choices, .devices = &w->figures, .choice_count = 2,
		.job = { .stop = ask, .threads = 1 },
	};
	int rc;

	open_world(&larger, w->count, w->live, 2);
	x.changed = larger.tape;
	rc = frag_predicted_run(&x, err);
	frag_predicted_fini(&x);
	close_world(&larger);
	return rc;
}

/* Some failure of its first half is to be kept. */
static int shrink(const struct world *w, struct frag_choice *choices, struct frag_error *err)
{
	struct world again = *w;
	struct frag_device_figures small = w->figures;
	struct frag_candidate candidate = {
		.choice = choices, .devices = &small, .device_count = 1,
	};
	struct frag_reduce r = {
		.try_ctx = &candidate, .enough = ask, .tries_max = UINT64_MAX,
	};
	struct frag_batch batch;
	bool failed, minimal;
	int rc;

	small.total = (w->live + 2) / 2 * MIB;
	open_trace(&again);
	do {
		assert_int_equal(frag_trace_next(again.trace, &batch, err), 0);
		for (uint32_t i = 0; i < batch.count; i++)
			assert_true(frag_reduce_add(&r, &batch.records[i], &batch.events[i]));
	} while (batch.count);
	rc = frag_reduce(&r, &failed, &minimal, err);
	assert_true(rc || failed);
	frag_reduce_fini(&r);
	frag_trace_close(again.trace);
	return rc;
}

static int (*const searches[])(const struct world *w, struct frag_choice *choices,
			       struct frag_error *err) = { fit, settings, predict, shrink };

static void check_looks(uint32_t count, uint32_t live, uint32_t at)
{
	struct frag_choice choices[2] = {
		play_choose("pytorch"), play_choose("pytorch:expandable_segments=true"),
	};
	struct world w;

	open_world(&w, count, live, 1);
	for (size_t i = 0; i < LENGTH(searches); i++) {
		struct frag_error err = { .message = "" };
		int rc;

		requests = asked_at = most = 0;
		questions = 0;
		stop_at = at;
		rc = searches[i](&w, choices, &err);
		/* shrink ends well */
		assert_true(rc == 0 || (rc == -FRAG_EINTERRUPTED && questions >= at));
		ask(NULL);
		assert_in_range(questions, 2, UINT32_MAX);
		if (most > (searches[i] == shrink ? LOOK_OF_SHRINK : LOOK))
			fail_msg("search %zu of %u events, %u live: %llu requests without a question", i,
				 count, live, (unsigned long long)most);
	}
	close_world(&w);
}

/* Stopped at once, early, later: among few blocks and among many. */
static void test_looks(void **state)
{
	static const uint32_t stops[] = { 1, 2, 100, 3000 };
	const uint32_t last = repeats(100000, 1000000);

	(void)state;
	for (uint32_t count = 10000; count <= last; count *= 10)
		for (size_t i = 0; i < LENGTH(stops); i++) {
			check_looks(count, 100, stops[i]);
			check_looks(count, count / 8, stops[i]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_looks) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
