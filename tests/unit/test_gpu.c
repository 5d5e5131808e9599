/* test_gpu.c - a GPU as a device: its table, its limit, its pages, on the stand-in. */
#include "device/gpu.h"

#include <string.h>

#include "device/cuda.h"
#include "support/standin.h"
#include "support/unit.h"

#define MIB (UINT64_C(1) << 20)

struct fixture {
	struct frag_gpu *gpu;
	struct frag_device dev;
	struct frag_error err;
	uint64_t before;        /* pieces that the stand-in holds once the GPU is open */
};

/* A GPU of 1 GiB with 64 MiB of context, of which 100 MiB are ours. */
static int begin(void **state)
{
	static struct fixture f;
	const uint32_t first = 0;

	/* this name makes the linker take the stand-in, not no_cuda.c */
	assert_non_null(frag_cuda.alloc);
	standin_begin();
	standin.total = 1024 * MIB;
	standin.context = 64 * MIB;
	memset(&f, 0, sizeof(f));
	assert_int_equal(frag_gpu_open(&f.gpu, &first, 1, UINT64_MAX, false, &f.err), 0);
	f.before = standin.held;
	assert_int_equal(frag_device_open(&f.dev, &frag_device_gpu, 1024 * MIB, 0, 924 * MIB,
					  2 * MIB, NULL), 0);
	f.dev.ctx = f.gpu;
	f.dev.err = &f.err;
	*state = &f;
	return 0;
}

static int end(void **state)
{
	struct fixture *f = *state;

	frag_device_close(&f->dev);
	assert_int_equal(standin.held, 0);
	assert_int_equal(standin.mistakes, 0);
	return 0;
}

static void test_figures(void **state)
{
	struct fixture *f = *state;
	const struct frag_gpu_figures *got = frag_gpu_look(f->gpu);

	assert_string_equal(got->name, "stand-in 0");
	assert_int_equal(got->total, 1024 * MIB);
	assert_int_equal(got->free, 960 * MIB);
	assert_int_equal(got->granularity, 2 * MIB);
	assert_int_equal(got->page, 2 * MIB);
	assert_false(got->context_known);       /* there was no probe */
	assert_int_equal(frag_gpu_close(&f->gpu, 1, &f->err), 0);
}

static void test_granularity(void **state)
{
	struct fixture *f = *state;
	const uint32_t first = 0;

	assert_int_equal(frag_gpu_close(&f->gpu, 1, &f->err), 0);
	for (uint64_t g = 512; g <= 2 * MIB; g *= 4) {
		standin_begin();
		standin.granularity = g;
		assert_int_equal(frag_gpu_open(&f->gpu, &first, 1, UINT64_MAX, false, NULL), 0);
		assert_int_equal(frag_gpu_look(f->gpu)->granularity, g);
		assert_int_equal(frag_gpu_close(&f->gpu, 1, NULL), 0);
	}
	/* too little may be taken to find out */
	standin_begin();
	standin.granularity = 512;
	standin.ceiling = 1;
	assert_int_equal(frag_gpu_open(&f->gpu, &first, 1, MIB, false, NULL), 0);
	assert_int_equal(frag_gpu_look(f->gpu)->granularity, 2 * MIB);
	assert_int_equal(frag_gpu_close(&f->gpu, 1, NULL), 0);
}

/* Do small requests share pages? Up to which size, and rounded to what? */
static void test_small(void **state)
{
	static const struct {
		uint64_t granularity, small, small_max, expected;
	} cases[] = {
		{ 2 * MIB, 512, MIB, MIB },
		{ 2 * MIB, 256, 4096, 4096 },
		{ 2 * MIB, 4096, 6000, 4096 },  /* found by doublings */
		{ 2 * MIB, 512, 2 * MIB, MIB }, /* two do not share a page */
		{ 2 * MIB, 0, MIB, 0 },
		{ 65536, 1024, 8192, 8192 },
		{ 65536, 32768, 65536, 0 },     /* few go into a page: not to be told */
	};
	struct fixture *f = *state;
	const uint32_t first = 0;

	assert_int_equal(frag_gpu_close(&f->gpu, 1, &f->err), 0);
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		standin_begin();
		standin.granularity = cases[i].granularity;
		standin.small = cases[i].small;
		standin.small_max = cases[i].small_max;
		standin.ceiling = 3 * cases[i].granularity > 4 * MIB ? 6 * MIB : 4 * MIB;
		assert_int_equal(frag_gpu_open(&f->gpu, &first, 1, UINT64_MAX, false, NULL), 0);
		assert_int_equal(frag_gpu_look(f->gpu)->granularity, cases[i].granularity);
		assert_int_equal(frag_gpu_look(f->gpu)->small_max, cases[i].expected);
		assert_int_equal(frag_gpu_look(f->gpu)->small_granularity,
				 cases[i].expected ? cases[i].small : 0);
		assert_int_equal(frag_gpu_close(&f->gpu, 1, NULL), 0);
		assert_int_equal(standin.held, 0);
		assert_int_equal(standin.mistakes, 0);
	}
	/* too little may be taken to find out */
	standin_begin();
	standin.small = 512;
	standin.ceiling = 4 * MIB;
	assert_int_equal(frag_gpu_open(&f->gpu, &first, 1, 5 * MIB, false, NULL), 0);
	assert_int_equal(frag_gpu_look(f->gpu)->small_max, 0);
	assert_int_equal(frag_gpu_close(&f->gpu, 1, NULL), 0);
}

static void test_segments(void **state)
{
	struct fixture *f = *state;
	frag_addr a, b;
	uint64_t cost, left;

	assert_int_equal(f->dev.ops->acquire(&f->dev, 3 * MIB, &a, &cost), 0);
	assert_int_equal(f->dev.used, 4 * MIB);
	assert_int_equal(frag_gpu_free_bytes(f->gpu, &left, NULL), 0);
	assert_int_equal(left, 956 * MIB);
	/* 96 MiB of our 100 are left: the GPU is not even asked */
	left = standin.calls;
	assert_int_equal(f->dev.ops->acquire(&f->dev, 97 * MIB, &b, &cost), -FRAG_EDEVMEM);
	assert_int_equal(standin.calls, left);
	assert_int_equal(f->dev.used, 4 * MIB);
	assert_int_equal(f->dev.ops->acquire(&f->dev, 96 * MIB, &b, &cost), 0);
	assert_int_equal(f->dev.used, 100 * MIB);
	assert_int_equal(f->dev.ops->release(&f->dev, a, 3 * MIB, &cost), 0);
	assert_int_equal(f->dev.used, 96 * MIB);
	assert_int_equal(standin.held, f->before + 1);
	/* what the heap forgets is given back all the same */
	assert_int_equal(frag_gpu_close(&f->gpu, 1, &f->err), 0);
}

/* The GPU has less than was said: a result, not a failure, and nothing is changed. */
static void test_refused(void **state)
{
	struct fixture *f = *state;
	frag_addr a;
	uint64_t cost;

	standin.other = 930 * MIB;      /* 30 are left */
	assert_int_equal(f->dev.ops->acquire(&f->dev, 40 * MIB, &a, &cost), -FRAG_EDEVMEM);
	assert_int_equal(f->dev.used, 0);
	assert_int_equal(f->dev.ops->acquire(&f->dev, 30 * MIB, &a, &cost), 0);
	assert_int_equal(frag_gpu_close(&f->gpu, 1, &f->err), 0);
}

static void test_pages(void **state)
{
	struct fixture *f = *state;
	frag_addr r;
	uint64_t cost, left;

	assert_int_equal(f->dev.ops->reserve(&f->dev, 400 * MIB, &r, &cost), 0);
	assert_int_equal(f->dev.used, 0);
	assert_int_equal(f->dev.ops->map(&f->dev, r, 40 * MIB, 60 * MIB, 20 * MIB, &cost), 0);
	assert_int_equal(f->dev.used, 60 * MIB);
	/* the second of two pages does not fit: neither is kept */
	standin.other = 870 * MIB;      /* 30 are left */
	assert_int_equal(f->dev.ops->map(&f->dev, r, 200 * MIB, 40 * MIB, 20 * MIB, &cost),
			 -FRAG_EDEVMEM);
	assert_int_equal(f->dev.used, 60 * MIB);
	standin.other = 0;
	assert_int_equal(f->dev.ops->unmap(&f->dev, r, 60 * MIB, 20 * MIB, 20 * MIB, &cost), 0);
	assert_int_equal(frag_gpu_free_bytes(f->gpu, &left, NULL), 0);
	assert_int_equal(left, 920 * MIB);
	assert_int_equal(f->dev.ops->unmap(&f->dev, r, 40 * MIB, 20 * MIB, 20 * MIB, &cost), 0);
	assert_int_equal(f->dev.ops->unmap(&f->dev, r, 80 * MIB, 20 * MIB, 20 * MIB, &cost), 0);
	assert_int_equal(f->dev.ops->unreserve(&f->dev, r, 400 * MIB, &cost), 0);
	assert_int_equal(standin.held, f->before);
	assert_int_equal(frag_gpu_close(&f->gpu, 1, &f->err), 0);
}

/* Pages that the GPU does not map are refused in words. */
static void test_odd_page(void **state)
{
	struct fixture *f = *state;
	frag_addr r;
	uint64_t cost;

	assert_int_equal(f->dev.ops->reserve(&f->dev, 6 * MIB, &r, &cost), 0);
	assert_int_equal(f->dev.ops->map(&f->dev, r, 0, 3 * MIB, 3 * MIB, &cost), -FRAG_EDEVICE);
	assert_non_null(strstr(f->err.message, "maps pages of 2097152 bytes"));
	assert_int_equal(frag_gpu_close(&f->gpu, 1, NULL), 0);
}

/* A failure is told when it happens, and once more at the end. */
static void test_broken(void **state)
{
	struct fixture *f = *state;
	struct frag_error late = { .code = 0 };
	frag_addr a;
	uint64_t cost;

	assert_int_equal(f->dev.ops->acquire(&f->dev, MIB, &a, &cost), 0);
	standin.fail_at = standin.calls + 2;    /* cudaSetDevice, then cudaFree */
	standin.error = 700;
	assert_int_equal(f->dev.ops->release(&f->dev, a, MIB, &cost), -FRAG_EDEVICE);
	assert_string_equal(f->err.message, "GPU 0: cudaFree of 1048576 bytes failed: an illegal "
			    "memory access was encountered (error 700)");
	assert_int_equal(f->dev.used, 2 * MIB);
	assert_int_equal(frag_gpu_close(&f->gpu, 1, &late), -FRAG_EDEVICE);
	assert_string_equal(late.message, f->err.message);
	assert_int_equal(standin.resets, 0);
}

/* Nothing works any more: the context goes as a whole. */
static void test_stuck(void **state)
{
	struct fixture *f = *state;
	frag_addr a;
	uint64_t cost;

	assert_int_equal(f->dev.ops->acquire(&f->dev, MIB, &a, &cost), 0);
	standin.fail_at = standin.calls + 1;
	standin.sticky = 1;
	assert_int_equal(f->dev.ops->acquire(&f->dev, MIB, &a, &cost), -FRAG_EDEVICE);
	assert_int_equal(frag_gpu_close(&f->gpu, 1, NULL), -FRAG_EDEVICE);
	assert_int_equal(standin.resets, 1);
}

static void test_streams(void **state)
{
	struct fixture *f = *state;
	frag_addr a;
	uint64_t cost;
	uint32_t event, words[2];

	assert_int_equal(f->dev.ops->acquire(&f->dev, MIB, &a, &cost), 0);
	assert_int_equal(frag_gpu_fill(f->gpu, 3, a, 8, 16, 0xabcd, NULL), 0);
	assert_int_equal(frag_gpu_mark(f->gpu, 3, &event, NULL), 0);
	/* another stream does not wait for it */
	assert_int_equal(frag_gpu_fetch(f->gpu, 0, a, 8, 8, words, NULL), 0);
	assert_int_equal(words[0], 0);
	assert_int_equal(frag_gpu_wait(f->gpu, event, NULL), 0);
	assert_int_equal(frag_gpu_fetch(f->gpu, 0, a, 8, 8, words, NULL), 0);
	assert_int_equal(words[0], 0xabcd);
	assert_int_equal(words[1], 0xabcd);
	assert_int_equal(frag_gpu_fetch(f->gpu, 0, a, 24, 8, words, NULL), 0);
	assert_int_equal(words[0], 0);
	assert_int_equal(frag_gpu_close(&f->gpu, 1, NULL), 0);
}

/* A stream is waited for, and no other; or all of them. */
static void test_sync(void **state)
{
	struct fixture *f = *state;
	frag_addr a;
	uint64_t cost, calls;
	uint32_t words[2];

	assert_int_equal(f->dev.ops->acquire(&f->dev, MIB, &a, &cost), 0);
	assert_int_equal(frag_gpu_fill(f->gpu, 2, a, 0, 4, 0xabcd, NULL), 0);
	assert_int_equal(frag_gpu_fill(f->gpu, 3, a, 4, 4, 0xabcd, NULL), 0);
	assert_int_equal(frag_gpu_sync(f->gpu, 3, NULL), 0);
	assert_int_equal(frag_gpu_fetch(f->gpu, 0, a, 0, 8, words, NULL), 0);
	assert_int_equal(words[0], 0);
	assert_int_equal(words[1], 0xabcd);
	assert_int_equal(frag_gpu_sync(f->gpu, UINT32_MAX, NULL), 0);
	assert_int_equal(frag_gpu_fetch(f->gpu, 0, a, 0, 8, words, NULL), 0);
	assert_int_equal(words[0], 0xabcd);
	/* nobody has used these streams */
	calls = standin.calls;
	assert_int_equal(frag_gpu_sync(f->gpu, 1, NULL), 0);
	assert_int_equal(frag_gpu_sync(f->gpu, 9, NULL), 0);
	assert_int_equal(standin.calls, calls);
	assert_int_equal(frag_gpu_sync(f->gpu, 0, NULL), 0);
	assert_true(standin.calls > calls);
	assert_int_equal(frag_gpu_close(&f->gpu, 1, NULL), 0);
}

/* By bisection, up to what may be taken; nothing stays, and nobody sees it. */
static void test_probe(void **state)
{
	static const struct {
		uint64_t piece, max, want;      /* MiB; piece 0: all that is free */
	} cases[] = {
		{ 0, 100, 100 }, { 0, 101, 100 }, { 0, 1, 0 }, { 0, 0, 0 }, { 10, 100, 10 },
		{ 11, 100, 10 }, { 97, 100, 96 }, { 98, 100, 98 }, { 1, 100, 0 }, { 2, 100, 2 },
	};
	struct fixture *f = *state;
	uint64_t got, calls;

	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		standin.piece = cases[i].piece * MIB;
		standin.ceiling = cases[i].max ? cases[i].max * MIB : 1;
		assert_int_equal(frag_gpu_probe(f->gpu, cases[i].max * MIB, &got, &f->err), 0);
		assert_int_equal(got, cases[i].want * MIB);
		assert_int_equal(standin.held, f->before);
	}
	/* one cudaMalloc and one cudaFree where all of it comes at once */
	standin.piece = 0;
	calls = standin.calls;
	assert_int_equal(frag_gpu_probe(f->gpu, 50 * MIB, &got, &f->err), 0);
	assert_int_equal(standin.calls, calls + 3);
	assert_int_equal(frag_gpu_close(&f->gpu, 1, NULL), 0);
}

/* The driver's own pool: what it says, its bound, and that nothing stays. */
static void test_pool(void **state)
{
	static const struct frag_gpu_pool_options options = {
		.threshold = 8 * MIB, .events = true, .internal = true,
	};
	struct fixture *f = *state;
	struct frag_device dev;
	frag_addr a, b, c;
	uint64_t cost, left;

	/* 100 MiB are ours; the stand-in's pool takes chunks of 8 MiB */
	assert_int_equal(frag_gpu_pool_open(f->gpu, 100 * MIB, &options, &f->err), 0);
	assert_int_equal(standin.switches, 0x010001);   /* the first and the third */
	assert_int_equal(frag_device_open(&dev, &frag_device_gpu_pool, 1024 * MIB, 0, 924 * MIB,
					  2 * MIB, NULL), 0);
	dev.ctx = f->gpu;
	dev.ops->ready(&dev);
	assert_non_null(dev.pool);
	frag_gpu_pool_on(f->gpu, 3);
	assert_int_equal(dev.ops->acquire(&dev, 20 * MIB, &a, &cost), 0);
	assert_int_equal(dev.pool->reserved, 24 * MIB);
	assert_int_equal(dev.pool->used, 20 * MIB);
	assert_int_equal(dev.used, 24 * MIB);
	frag_gpu_pool_on(f->gpu, 0);
	assert_int_equal(dev.ops->acquire(&dev, 1, &b, &cost), 0);
	assert_int_equal(dev.pool->used, 20 * MIB + 512);
	assert_int_equal(dev.pool->reserved, 24 * MIB);
	/* 96 MiB are the chunks that fit, 76 of them are unused; and then what is not ours */
	assert_int_equal(dev.ops->acquire(&dev, 76 * MIB, &c, &cost), -FRAG_EDEVMEM);
	left = standin.calls;
	assert_int_equal(dev.ops->acquire(&dev, 80 * MIB, &c, &cost), -FRAG_EDEVMEM);
	assert_int_equal(standin.calls, left);
	assert_int_equal(dev.ops->acquire(&dev, 75 * MIB, &c, &cost), 0);
	assert_int_equal(dev.pool->reserved, 96 * MIB);
	/* freed memory is kept until somebody waits, and then the threshold */
	assert_int_equal(dev.ops->release(&dev, a, 20 * MIB, &cost), 0);
	assert_int_equal(dev.ops->release(&dev, c, 75 * MIB, &cost), 0);
	assert_int_equal(dev.pool->reserved, 96 * MIB);
	assert_int_equal(dev.pool->used, 512);
	assert_int_equal(frag_gpu_sync(f->gpu, 3, &f->err), 0);
	assert_int_equal(dev.pool->reserved, 8 * MIB);
	assert_int_equal(dev.used, 8 * MIB);
	assert_int_equal(dev.ops->release(&dev, b, 1, &cost), 0);
	assert_int_equal(frag_gpu_pool_trim(f->gpu, &f->err), 0);
	assert_int_equal(dev.pool->reserved, 0);
	assert_int_equal(dev.pool->peak_reserved, 96 * MIB);
	assert_int_equal(frag_gpu_pool_close(f->gpu, &f->err), 0);
	/* what is forgotten in another pool goes when the GPU is closed */
	assert_int_equal(frag_gpu_pool_open(f->gpu, 100 * MIB, &options, &f->err), 0);
	assert_int_equal(dev.pool->peak_reserved, 0);
	frag_gpu_pool_on(f->gpu, 4);
	assert_int_equal(dev.ops->acquire(&dev, MIB, &a, &cost), 0);
	assert_int_equal(frag_gpu_close(&f->gpu, 1, &f->err), 0);
	frag_device_close(&dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_figures, begin, end),
		cmocka_unit_test_setup_teardown(test_granularity, begin, end),
		cmocka_unit_test_setup_teardown(test_small, begin, end),
		cmocka_unit_test_setup_teardown(test_segments, begin, end),
		cmocka_unit_test_setup_teardown(test_refused, begin, end),
		cmocka_unit_test_setup_teardown(test_pages, begin, end),
		cmocka_unit_test_setup_teardown(test_odd_page, begin, end),
		cmocka_unit_test_setup_teardown(test_broken, begin, end),
		cmocka_unit_test_setup_teardown(test_stuck, begin, end),
		cmocka_unit_test_setup_teardown(test_streams, begin, end),
		cmocka_unit_test_setup_teardown(test_sync, begin, end),
		cmocka_unit_test_setup_teardown(test_probe, begin, end),
		cmocka_unit_test_setup_teardown(test_pool, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
