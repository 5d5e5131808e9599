/*
 * tapes.c - random traces read as a stream and from a tape: the same events.
 *
 * The stream is the judge: every member of every event, what the numbers stand for,
 * and the run of a policy, from the tape as from the stream; and after a jump to any
 * place, as if it had been read up to there.
 */
#include <stdlib.h>
#include <string.h>

#include "fragsim/engine.h"
#include "support/play.h"
#include "support/random.h"
#include "support/random_events.h"
#include "support/records.h"
#include "support/unit.h"

#define SEEDS repeats(10, 30)
#define RUN_EVENTS repeats(1000, 3000)
#define EVENTS 6000             /* more than a stride of the tape */

static const struct frag_device_figures devices[2] = {
	{ .total = 300 << 20, .granularity = 2 << 20 }, { .total = 200 << 20, .granularity = 1 },
};

static void same_text(struct frag_text a, struct frag_text b)
{
	assert_int_equal(!a.text, !b.text);
	assert_int_equal(a.length, b.length);
	if (a.text)
		assert_memory_equal(a.text, b.text, a.length);
}

static void same_event(const struct frag_event *a, const struct frag_event *b,
		       const struct frag_symbols *of_a, const struct frag_symbols *of_b)
{
	assert_true(a->step == b->step && a->op == b->op && a->bytes == b->bytes);
	assert_true(a->slot == b->slot && a->device == b->device && a->stream == b->stream);
	assert_true(a->pool == b->pool && a->stream_order == b->stream_order);
	assert_true(a->members == b->members && a->waits == b->waits);
	assert_int_equal(a->ended_count, b->ended_count);
	for (uint32_t i = 0; i < a->ended_count; i++)
		assert_true(a->ended[i].slot == b->ended[i].slot
			    && a->ended[i].synced == b->ended[i].synced);
	assert_true(a->id.number == b->id.number && !a->id.text == !b->id.text);
	if (a->id.text)
		assert_memory_equal(a->id.text, b->id.text, a->id.number);
	same_text(a->text, b->text);
	assert_true(a->t == b->t && a->fraction == b->fraction);
	assert_ptr_equal(b->place, NULL);
	same_text(frag_symbols_tag(of_a, a->tag), frag_symbols_tag(of_b, b->tag));
}

/* Names in place of some ids, and times for half of the traces. */
static void decorate(struct random_events *r, uint64_t seed)
{
	static char names[16][8];

	for (uint32_t i = 0; i < r->count; i++) {
		struct frag_record *rec = &r->records[i];

		if (seed % 2) {
			rec->members |= FRAG_HAS_T;
			rec->t = 0.5 * i;
		}
		if (rec->members & FRAG_HAS_ID && rec->id.number < 16) {
			names[rec->id.number][0] = (char)('a' + rec->id.number);
			rec->id = records_name(names[rec->id.number]);
		}
	}
}

static void test_same_events(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct random_events r;
		struct records one, two;
		struct frag_trace *stream, *taped;
		struct frag_tape *tape;
		struct frag_tape_reader *reader;
		struct frag_batch from, batch;
		uint64_t n = 0;

		random_events_init(&r, seed, EVENTS, 1 + seed % 2);
		decorate(&r, seed);
		stream = random_events_open(&r, &one, devices);
		taped = random_events_open(&r, &two, devices);
		assert_int_equal(frag_tape_new(&tape, taped, NULL, NULL), 0);
		assert_int_equal(frag_tape_info(tape)->events, EVENTS);
		assert_true(frag_tape_info(tape)->whole);
		reader = frag_tape_reader_new(tape);
		do {
			assert_int_equal(frag_trace_next(stream, &from, NULL), 0);
			for (uint32_t i = 0; i < from.count; i++, n++) {
				if (seed % 3 == 0)      /* each event is jumped to */
					frag_tape_seek(reader, n);
				assert_int_equal(frag_tape_at(reader), n);
				frag_tape_next(reader, n + 1, &batch);
				assert_int_equal(batch.count, 1);
				same_event(&from.events[i], batch.events,
					   frag_trace_symbols(stream), frag_tape_symbols(tape));
			}
		} while (from.count);
		frag_tape_next(reader, UINT64_MAX, &batch);
		assert_int_equal(batch.count, 0);
		/* ids 8 and 16 for an alloc, 16 for any other, and times */
		assert_true(frag_tape_bytes(tape) < EVENTS * 32 + 4096 + (seed % 2) * EVENTS * 8);
		frag_tape_reader_del(reader);
		frag_tape_del(tape);
		frag_trace_close(stream);
		frag_trace_close(taped);
		random_events_fini(&r);
	}
}

/* Bad events that are left out keep their numbers. */
static void test_gaps(void **state)
{
	static const struct frag_record records[] = {
		FREE(9), ALLOC(1, 512), FREE(8), FREE(7), ALLOC(2, 512), FREE(1), FREE(1), FREE(2),
	};
	static const uint64_t steps[] = { 1, 4, 5, 7 };
	const struct frag_trace_options lenient = { .lenient = true };
	struct records source = { .records = records, .count = LENGTH(records) };
	struct frag_tape_reader *reader;
	struct frag_trace *trace;
	struct frag_tape *tape;
	struct frag_batch batch;

	(void)state;
	assert_int_equal(frag_trace_from(&trace, &records_source, &source, NULL, 0, &lenient,
					 NULL), 0);
	assert_int_equal(frag_tape_new(&tape, trace, NULL, NULL), 0);
	reader = frag_tape_reader_new(tape);
	for (uint32_t from = 0; from <= LENGTH(steps); from++) {
		frag_tape_seek(reader, from);
		frag_tape_next(reader, UINT64_MAX, &batch);
		assert_int_equal(batch.count, LENGTH(steps) - from);
		for (uint32_t i = 0; i < batch.count; i++)
			assert_int_equal(batch.events[i].step, steps[from + i]);
	}
	frag_tape_reader_del(reader);
	frag_tape_del(tape);
	frag_trace_close(trace);
}

static const struct frag_result *result_of(struct frag_sim *sim)
{
	uint32_t count;

	return frag_sim_results(sim, false, &count);
}

/* Every metric, and all that is kept of the percentages. */
static void same_metrics(const struct frag_result *a, const struct frag_result *b)
{
#define SAME(name, ...)                                                       \
	assert_true(a->peak.name == b->peak.name);                            \
	assert_true(a->last.name == b->last.name);                            \
	assert_true(a->at_peak.name == b->at_peak.name);
	FRAG_METRICS(SAME)
#undef SAME
#define SAME_PERCENT(name)                                                    \
	assert_true(a->name.steps == b->name.steps && a->name.weighted == b->name.weighted); \
	assert_true(a->name.min == b->name.min && a->name.max == b->name.max); \
	assert_true(a->name.mean == b->name.mean && a->name.last == b->name.last); \
	assert_true(a->name.p50 == b->name.p50 && a->name.p95 == b->name.p95); \
	assert_true(a->name.p99 == b->name.p99);                              \
	assert_true(a->name.severe_steps == b->name.severe_steps);            \
	assert_true(a->name.time_weighted_mean == b->name.time_weighted_mean);
	SAME_PERCENT(fi)
	SAME_PERCENT(fi_device)
	SAME_PERCENT(internal)
	SAME_PERCENT(utilization)
#undef SAME_PERCENT
	assert_int_equal(a->peak_step, b->peak_step);
	assert_int_equal(a->severe_steps, b->severe_steps);
}

static void same_result(const struct frag_result *a, const struct frag_result *b)
{
	assert_int_equal(a->steps, b->steps);
	assert_int_equal(a->status, b->status);
	assert_int_equal(a->level, b->level);
	assert_true(a->min_capacity == b->min_capacity && a->end_capacity == b->end_capacity);
	same_metrics(a, b);
	assert_memory_equal(&a->counts, &b->counts, sizeof(a->counts));
	assert_int_equal(a->oom_count, b->oom_count);
	for (uint32_t i = 0; i < a->oom_count; i++) {
		assert_int_equal(a->ooms[i].tried, b->ooms[i].tried);
		assert_memory_equal(&a->ooms[i].metrics, &b->ooms[i].metrics,
				    sizeof(a->ooms[i].metrics));
		assert_string_equal(a->ooms[i].id, b->ooms[i].id);
		assert_int_equal(a->ooms[i].holder_count, b->ooms[i].holder_count);
		for (uint32_t k = 0; k < a->ooms[i].holder_count; k++)
			assert_int_equal(a->ooms[i].holders[k].bytes, b->ooms[i].holders[k].bytes);
	}
	assert_int_equal(a->mark_count, b->mark_count);
}

/* What the trace does to a simulation that it feeds as it is read. */
static struct frag_sim *feed_stream(struct random_events *r, struct records *source,
				    struct frag_trace **trace, const struct frag_choice *choice,
				    const struct frag_sim_options *options)
{
	struct frag_error err = { .code = 0 };
	struct frag_batch batch;
	struct frag_sim *sim;

	*trace = random_events_open(r, source, devices);
	assert_int_equal(frag_sim_new(&sim, choice, *trace, options, &err), 0);
	do {
		assert_int_equal(frag_trace_next(*trace, &batch, &err), 0);
		assert_int_equal(frag_sim_feed(sim, &batch, &err), 0);
	} while (batch.count);
	return sim;
}

static int look(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	uint64_t *steps = ctx;

	(void)err;
	*steps += step->event != NULL;
	return 0;
}

/* A tape in pieces, unwatched or with an observer: as from the stream. */
static void play_pieces(struct frag_sim *sim, const struct frag_tape *tape,
			const struct frag_choice *choice, const struct frag_sim_options *options,
			uint32_t piece, bool watched)
{
	struct frag_tape_reader *reader = frag_tape_reader_new(tape);
	struct frag_error err = { .code = 0 };
	uint64_t steps = 0;
	const struct frag_observer observer = { .step = look, .ctx = &steps };
	struct frag_sim *other;

	assert_int_equal(frag_sim_on_tape(&other, choice, tape, options, &err), 0);
	if (watched)
		assert_int_equal(frag_sim_observe(other, &observer), 0);
	/* up to a place that the reader is behind: nothing */
	frag_tape_seek(reader, 9);
	assert_int_equal(frag_sim_play(other, reader, 3, &err), 0);
	assert_int_equal(frag_tape_at(reader), 9);
	frag_tape_seek(reader, 0);
	for (uint64_t at = piece; at < RUN_EVENTS + piece; at += piece) {
		assert_int_equal(frag_sim_play(other, reader, at, &err), 0);
		assert_int_equal(frag_sim_play(other, reader, 0, &err), 0);
	}
	same_result(result_of(sim), result_of(other));
	assert_int_equal(steps != 0, watched);
	frag_sim_del(other);
	frag_tape_reader_del(reader);
}

/* Again and again from one tape, whole and in pieces, at each level: as from the stream. */
static void test_same_runs(void **state)
{
	struct frag_error err = { .code = 0 };

	(void)state;
	for (uint32_t p = 0; random_policies[p]; p++) {
		struct frag_sim_options options = {
			.on_oom_continue = p % 2, .on_oom = &frag_oom_explain,
		};
		struct random_events r;
		struct records again;
		struct frag_trace *second;
		struct frag_tape *tape;
		struct frag_choice choice;

		random_events_init(&r, 100 + p, RUN_EVENTS, 1);
		assert_int_equal(frag_choice_parse(&choice, random_policies[p], &err), 0);
		/* the simulation's tags are its trace's: it is read once more for the tape */
		second = random_events_open(&r, &again, devices);
		assert_int_equal(frag_tape_new(&tape, second, NULL, &err), 0);
		for (uint32_t level = 0; level <= FRAG_LEVEL_SURVIVE; level++) {
			struct records source;
			struct frag_trace *trace;
			struct frag_sim *sim;

			options.level = (enum frag_level)level;
			sim = feed_stream(&r, &source, &trace, &choice, &options);
			for (uint32_t piece = 7; piece < 5000; piece *= 7)
				play_pieces(sim, tape, &choice, &options, piece, false);
			play_pieces(sim, tape, &choice, &options, RUN_EVENTS, true);
			frag_sim_del(sim);
			frag_trace_close(trace);
		}
		frag_tape_del(tape);
		frag_trace_close(second);
		random_events_fini(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_events),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_same_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
