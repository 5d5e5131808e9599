/* test_stream_work.c - who uses bytes on a stream is waited for before they are handed out again. */
#include "replay/stream_work.h"

#include "device/cuda.h"
#include "support/play.h"
#include "support/standin.h"
#include "support/unit.h"

#define MIB (UINT64_C(1) << 20)

/*
 * Block 1 is used on stream 2 too; its fill there is queued. The trace says that
 * this stream is done, and the real one is not: the block must be waited for when
 * block 2 gets its bytes. Else its fill lands in block 2 when all is done.
 */
static const struct frag_record records[] = {
	ALLOC(1, MIB), RECORD_STREAM(1, 2), FREE(1), SYNC(), ALLOC(2, MIB), FREE(2),
};
#define AT_SYNC 3

static void feed(struct play *p, struct frag_work *work, const struct frag_event *ev, bool notified)
{
	const struct frag_batch one = { .events = ev, .count = 1 };

	if (notified)
		assert_int_equal(frag_work_before(work, ev, &p->error), 0);
	assert_int_equal(frag_sim_feed(p->sim, &one, &p->error), 0);
}

static void test_handed_out(void **state)
{
	static const struct frag_device_figures figures = {
		.total = UINT64_C(1) << 30, .granularity = 2 * MIB,
	};
	const struct frag_choice choice = play_choose("bestfit");
	struct frag_gpu *gpu;
	struct frag_sim_options options = { .device = &frag_device_gpu };
	void *ctx[1];
	struct frag_work *work;
	struct frag_batch batch;
	struct play p;
	const uint32_t first = 0;

	(void)state;
	/* this name makes the linker take the stand-in, not no_cuda.c */
	assert_non_null(frag_cuda.alloc);
	standin_begin();
	assert_int_equal(frag_gpu_open(&gpu, &first, 1, UINT64_MAX, false, NULL), 0);
	ctx[0] = gpu;
	options.device_ctx = ctx;
	assert_int_equal(play_open(&p, &choice, records, LENGTH(records), &figures, 1, &options),
			 0);
	work = frag_work_new(p.sim, &gpu, 1, true);
	assert_non_null(work);
	assert_int_equal(frag_trace_next(p.trace, &batch, NULL), 0);
	assert_int_equal(batch.count, LENGTH(records));
	for (uint32_t i = 0; i + 1 < batch.count; i++)
		feed(&p, work, &batch.events[i], i != AT_SYNC);
	/* what is still queued anywhere is done now, in the order of the queues */
	assert_int_equal(frag_gpu_sync(gpu, 0, NULL), 0);
	assert_int_equal(frag_gpu_sync(gpu, UINT32_MAX, NULL), 0);
	feed(&p, work, &batch.events[batch.count - 1], true);
	assert_int_equal(frag_work_finish(work, NULL), 0);
	frag_work_del(work);
	play_close(&p);
	assert_int_equal(frag_gpu_close(&gpu, 1, NULL), 0);
	assert_int_equal(standin.held, 0);
	assert_int_equal(standin.mistakes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handed_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
