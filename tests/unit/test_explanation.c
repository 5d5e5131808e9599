/* test_explanation.c - what is known of a moment that a stop has cut short. */
#include "support/unit.h"

#include "events/tape.h"
#include "explain/explanation.h"
#include "support/play.h"
#include "support/records.h"

#define MIB (UINT64_C(1) << 20)

/* Stops as soon as the memory of the moment is explained: in the search for moves or settings. */
static bool is_accounted(void *ctx)
{
	const struct frag_explanation *x = ctx;

	return x->count && x->moments[x->count - 1].accounted;
}

/*
 * Two blocks of 9 MiB share a segment of 20 MiB; the first one is free again. A device of 30 MiB has
 * no segment left for 11 MiB, though 21 MiB are free; where the second one is moved, they fit.
 */
static void test_stopped(void **state)
{
	static const struct frag_record events[] = {
		MARK("first"), ALLOC(1, 9 * MIB), MARK("second"), ALLOC(2, 9 * MIB), FREE(1),
		ALLOC(3, 11 * MIB), MARK("third"),
	};
	static const struct frag_device_figures device = { .total = 30 * MIB, .granularity = 2 * MIB };
	struct frag_choice choice = play_choose("pytorch");
	struct records source = { .records = events, .count = LENGTH(events) };

	(void)state;
	for (uint32_t stopped = 0; stopped < 2; stopped++) {
		struct frag_explanation x = { .choice = &choice, .devices = &device, .moves = 3 };
		struct frag_trace *trace;
		struct frag_tape *tape;
		struct frag_error err;

		source.at = 0;
		assert_int_equal(frag_trace_from(&trace, &records_source, &source, &device, 1, NULL,
						 &err), 0);
		assert_int_equal(frag_tape_new(&tape, trace, NULL, &err), 0);
		x.tape = tape;
		if (stopped)
			x.job = (struct frag_job){ .stop = is_accounted, .ctx = &x };
		assert_int_equal(frag_explanation_run(&x, &err), stopped ? -FRAG_EINTERRUPTED : 0);
		assert_int_equal(x.count, 1);
		assert_int_equal(x.moments[0].step, 5);
		assert_int_equal(x.moments[0].verdict, FRAG_VERDICT_FRAGMENTATION);
		assert_int_equal(x.moments[0].move_count, stopped ? 0 : 1);
		assert_string_equal(x.moments[0].mark, "\"second\"");
		frag_explanation_fini(&x);
		frag_tape_del(tape);
		frag_trace_close(trace);
	}
	frag_choice_fini(&choice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
