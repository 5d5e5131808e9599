/*
 * test_workers.c - several simulations over one trace, and several such runs at once
 * in threads of one program: each result is the one that it has alone.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "fragsim/engine.h"
#include "metrics/metric.h"
#include "support/files.h"
#include "support/random.h"
#include "support/records.h"
#include "support/unit.h"

#define EVENTS 6000     /* some batches */
#define LIVE 200
#define RUNS 6

static const char *const policies[] = {
	"bestfit", "buddy", "direct", "nextfit", "pytorch:expandable_segments=True",
	"sizeclass",
};
#define POLICIES 6
#define OUTCOME 4096    /* characters */

/* Allocs and frees in turn, at random, over LIVE ids; the seed says which. */
static void make_records(struct frag_record *records, uint64_t seed)
{
	bool live[LIVE] = { false };

	for (uint32_t i = 0; i < EVENTS; i++) {
		uint64_t id = random_below(&seed, LIVE);

		records[i] = (struct frag_record){
			.members = FRAG_HAS_OP | FRAG_HAS_ID | (live[id] ? 0 : FRAG_HAS_SIZE),
			.op = live[id] ? FRAG_OP_FREE : FRAG_OP_ALLOC,
			.id = records_number(id), .size = random_below(&seed, 4 << 20),
		};
		live[id] = !live[id];
	}
}

struct run {
	struct frag_record records[EVENTS];
	char outcomes[POLICIES][OUTCOME];
	uint32_t threads;
	int rc;
	struct frag_error err;
};

static int put_metrics(char *to, int used, const struct frag_metrics *m)
{
	for (const struct frag_metric *k = frag_metric_table(); k->name; k++)
		used += snprintf(to + used, (size_t)(OUTCOME - used), "%s %a ", k->name,
				 frag_metric_number(m, k));
	return used;
}

static int put_distribution(char *to, int used, const struct frag_distribution *d)
{
	return used
	       + snprintf(to + used, (size_t)(OUTCOME - used),
			  "%" PRIu64 " steps %a %a %a %a %a %a %a, severe %" PRIu64 " ", d->steps,
			  d->min, d->mean, d->p50, d->p95, d->p99, d->max, d->last,
			  d->severe_steps);
}

/* What is compared: all that the run produced, as text. */
static void note(char *to, const struct frag_result *r, uint64_t content)
{
	int used = snprintf(to, OUTCOME, "content %" PRIu64 " ", content);

	used = put_metrics(to, used, &r->peak);
	used = put_metrics(to, used, &r->last);
	used = put_distribution(to, used, &r->fi);
	used = put_distribution(to, used, &r->fi_device);
#define X(name, ...) used += snprintf(to + used, (size_t)(OUTCOME - used), #name " %" PRIu64 " ", \
				 r->counts.name);
	FRAG_COUNTS(X)
#undef X
}

/* A whole run of the library: its own trace, choices, simulations, workers and results. */
static void *play(void *arg)
{
	struct run *run = arg;
	struct records source = { .records = run->records, .count = EVENTS };
	const struct frag_worker_options workers = { .threads = run->threads };
	struct frag_sim *sims[POLICIES] = { NULL };
	struct frag_trace *trace = NULL;
	struct frag_choice choice;
	uint32_t devices;

	run->rc = frag_trace_from(&trace, &records_source, &source, NULL, 0, NULL, &run->err);
	for (uint32_t i = 0; i < POLICIES && !run->rc; i++) {
		run->rc = frag_choice_parse(&choice, policies[i], &run->err);
		if (!run->rc)
			run->rc = frag_sim_new(&sims[i], &choice, trace, NULL, &run->err);
	}
	if (!run->rc)
		run->rc = frag_workers_run(sims, POLICIES, trace, &workers, &run->err);
	for (uint32_t i = 0; i < POLICIES; i++) {
		if (!run->rc)
			note(run->outcomes[i], frag_sim_results(sims[i], false, &devices),
			     frag_trace_info(trace)->content);
		frag_sim_del(sims[i]);
	}
	frag_trace_close(trace);
	return NULL;
}

static struct run alone[RUNS], together[RUNS];

/* Six traces, two of them the same; each run has threads of its own as well. */
static void test_runs_at_once(void **state)
{
	pthread_t threads[RUNS];

	(void)state;
	for (uint32_t i = 0; i < RUNS; i++) {
		make_records(alone[i].records, i % 5 + 1);
		memcpy(together[i].records, alone[i].records, sizeof(alone[i].records));
		alone[i].threads = 1;
		together[i].threads = i % 3 + 1;
		play(&alone[i]);
		assert_int_equal(alone[i].rc, 0);
	}
	for (uint32_t i = 0; i < RUNS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, play, &together[i]), 0);
	for (uint32_t i = 0; i < RUNS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < RUNS; i++) {
		assert_int_equal(together[i].rc, 0);
		for (uint32_t k = 0; k < POLICIES; k++)
			assert_string_equal(together[i].outcomes[k], alone[i].outcomes[k]);
	}
	/* the comparison can fail: other traces and policies do differ */
	assert_string_equal(alone[0].outcomes[0], alone[5].outcomes[0]);
	assert_string_not_equal(alone[0].outcomes[0], alone[1].outcomes[0]);
	assert_string_not_equal(alone[0].outcomes[0], alone[0].outcomes[1]);
	assert_non_null(strstr(alone[0].outcomes[0], " 6000 steps "));
}

/* The same records as a file, which is read ahead. */
static void write_lines(const char *path, const struct frag_record *records)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (uint32_t i = 0; i < EVENTS; i++) {
		const struct frag_record *r = &records[i];

		if (r->op == FRAG_OP_ALLOC)
			fprintf(f, "{\"op\":\"alloc\",\"id\":%" PRIu64 ",\"size\":%" PRIu64 "}\n",
				r->id.number, r->size);
		else
			fprintf(f, "{\"op\":\"free\",\"id\":%" PRIu64 "}\n", r->id.number);
	}
	assert_int_equal(fclose(f), 0);
}

struct watch {
	uint64_t events, backwards, calls;
};

static void note_progress(void *ctx, const struct frag_trace_info *info)
{
	struct watch *w = ctx;

	w->calls++;
	w->backwards += info->events < w->events;
	w->events = info->events;
}

static int count_step(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	uint64_t *next = ctx;

	if (step->event->step != *next)
		return frag_fail(err, FRAG_ECHECK, "step %" PRIu64 ", not %" PRIu64,
				 step->event->step, *next);
	++*next;
	return 0;
}

/* Each simulation sees each step once and in order, and makes of it what it makes in turns. */
static void test_read_ahead(void **state)
{
	const char *path = files_path(state, "trace");
	static struct run turns;

	make_records(turns.records, 3);
	turns.threads = 1;
	play(&turns);
	assert_int_equal(turns.rc, 0);
	write_lines(path, turns.records);
	for (uint32_t threads = 1; threads < 10; threads += 2) {
		struct frag_sim *sims[POLICIES] = { NULL };
		uint64_t next[POLICIES] = { 0 };
		struct watch watch = { .calls = 0 };
		const struct frag_worker_options workers = {
			.threads = threads,
			.read = { .progress = note_progress, .ctx = &watch },
		};
		struct frag_choice choice;
		struct frag_trace *trace;
		struct frag_error err;
		char got[OUTCOME];
		uint32_t devices;

		assert_int_equal(frag_trace_open(&trace, path, NULL, &err), 0);
		for (uint32_t i = 0; i < POLICIES; i++) {
			const struct frag_observer observer = { count_step, &next[i] };

			assert_int_equal(frag_choice_parse(&choice, policies[i], &err), 0);
			assert_int_equal(frag_sim_new(&sims[i], &choice, trace, NULL, &err), 0);
			assert_int_equal(frag_sim_observe(sims[i], &observer), 0);
		}
		assert_int_equal(frag_workers_run(sims, POLICIES, trace, &workers, &err), 0);
		assert_int_equal(frag_trace_info(trace)->events, EVENTS);
		assert_true(watch.calls > 0 && watch.backwards == 0);
		for (uint32_t i = 0; i < POLICIES; i++) {
			assert_int_equal(next[i], EVENTS);
			note(got, frag_sim_results(sims[i], false, &devices),
			     frag_trace_info(trace)->content);
			assert_string_equal(got, turns.outcomes[i]);
			frag_sim_del(sims[i]);
		}
		frag_trace_close(trace);
	}
}

static int fail_at(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	const uint64_t *at = ctx;

	return step->event->step < *at ? 0 : frag_fail(err, FRAG_EOUTPUT, "at %" PRIu64, *at);
}

/* The first batch in which one fails decides; in it, the first of the simulations. */
static void test_first_failure(void **state)
{
	static const struct {
		uint64_t at[3];         /* step at which each fails */
		const char *message;
	} cases[] = {
		{ { 5300, 4200, 4300 }, "at 4200" },    /* another batch than the first's */
		{ { 5900, 5800, 5700 }, "at 5900" },    /* all in one, from 5120 on */
		{ { 99999, 99999, 2000 }, "at 2000" },
	};
	const char *path = files_path(state, "trace");
	static struct run made;

	make_records(made.records, 4);
	write_lines(path, made.records);
	for (uint32_t c = 0; c < LENGTH(cases); c++) {
		for (uint32_t threads = 1; threads < 6; threads++) {
			const struct frag_worker_options workers = { .threads = threads };
			struct frag_sim *sims[3];
			struct frag_choice choice;
			struct frag_trace *trace;
			struct frag_error err;

			assert_int_equal(frag_trace_open(&trace, path, NULL, &err), 0);
			for (uint32_t i = 0; i < 3; i++) {
				const struct frag_observer observer = {
					fail_at, (void *)(uintptr_t)&cases[c].at[i],
				};

				assert_int_equal(frag_choice_parse(&choice, policies[i], &err), 0);
				assert_int_equal(frag_sim_new(&sims[i], &choice, trace, NULL, &err),
						 0);
				assert_int_equal(frag_sim_observe(sims[i], &observer), 0);
			}
			assert_int_equal(frag_workers_run(sims, 3, trace, &workers, &err),
					 -FRAG_EOUTPUT);
			assert_string_equal(err.message, cases[c].message);
			for (uint32_t i = 0; i < 3; i++)
				frag_sim_del(sims[i]);
			frag_trace_close(trace);
		}
	}
}

/* A run that fails says so for itself; the one beside it is not touched. */
static void test_one_fails(void **state)
{
	pthread_t threads[2];

	(void)state;
	make_records(together[0].records, 1);
	make_records(together[1].records, 1);
	together[0].records[EVENTS - 1].id = records_number(LIVE);     /* nobody's */
	together[0].records[EVENTS - 1].members = FRAG_HAS_OP | FRAG_HAS_ID;
	together[0].records[EVENTS - 1].op = FRAG_OP_FREE;
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, play, &together[i]), 0);
	for (uint32_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(together[0].rc, -FRAG_ETRACE);
	assert_non_null(strstr(together[0].err.message, "event 5999"));
	assert_int_equal(together[1].rc, 0);
	for (uint32_t k = 0; k < POLICIES; k++)
		assert_string_equal(together[1].outcomes[k], alone[0].outcomes[k]);
}

static void test_bad_devices(void **state)
{
	const struct frag_device_figures no_pages = { .total = 1 << 20 };
	struct records source = { .records = NULL };
	struct frag_trace *trace = NULL;
	struct frag_error err;

	(void)state;
	assert_int_equal(
		frag_trace_from(&trace, &records_source, &source, &no_pages, 1, NULL, &err),
		-FRAG_EUSAGE);
	assert_string_equal(err.message, "device 0: a granularity of 0 bytes");
	assert_int_equal(source.closed, 1);
	assert_int_equal(frag_trace_from(&trace, &records_source, &source, NULL, 0, NULL, &err), 0);
	assert_int_equal(frag_trace_info(trace)->device_count, 1);
	assert_int_equal(frag_trace_info(trace)->devices[0].total, 0);
	assert_int_equal(frag_trace_info(trace)->devices[0].granularity, 2097152);
	frag_trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_at_once),
		cmocka_unit_test(test_one_fails),
		cmocka_unit_test_setup_teardown(test_read_ahead, files_begin, files_end),
		cmocka_unit_test_setup_teardown(test_first_failure, files_begin, files_end),
		cmocka_unit_test(test_bad_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
