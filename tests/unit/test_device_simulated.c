/*
 * test_device_simulated.c - the figures of the simulated device, against fragsim-lines(5), Members of
 * a device.
 */
#include "fragsim/device.h"
#include "support/unit.h"

static struct frag_device dev;

static void open_device(uint64_t total, uint64_t context, uint64_t other, uint64_t granularity)
{
	assert_int_equal(frag_device_open(&dev, &frag_device_simulated, total, context, other,
					  granularity, NULL), 0);
}

static int acquire(uint64_t bytes)
{
	uint64_t cost = 1;
	frag_addr addr;
	int rc = dev.ops->acquire(&dev, bytes, &addr, &cost);

	assert_int_equal(cost, 0);
	return rc;
}

static int release(uint64_t bytes)
{
	uint64_t cost = 1;
	int rc = dev.ops->release(&dev, 0, bytes, &cost);

	assert_int_equal(cost, 0);
	return rc;
}

static void test_granularity(void **state)
{
	static const struct {
		uint64_t granularity, bytes, used;
	} cases[] = {
		{ 2097152, 1, 2097152 },
		{ 2097152, 2097152, 2097152 },
		{ 2097152, 2097153, 4194304 },
		{ 1, 12345, 12345 },
		{ 1000, 999, 1000 },
		{ 1000, 1001, 2000 },
		{ (UINT64_C(1) << 53) - 1, 5, (UINT64_C(1) << 53) - 1 },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		open_device(0, 0, 0, cases[i].granularity);
		assert_int_equal(acquire(cases[i].bytes), 0);
		assert_true(dev.used == cases[i].used);
		assert_int_equal(acquire(cases[i].bytes), 0);
		assert_true(dev.used == 2 * cases[i].used);
		assert_int_equal(release(cases[i].bytes), 0);
		assert_int_equal(release(cases[i].bytes), 0);
		assert_int_equal(dev.used, 0);
		frag_device_close(&dev);
	}
}

/* Small requests share pages: only the sum of their rounded sizes counts. */
static void test_small(void **state)
{
	(void)state;
	open_device(10000, 0, 0, 1000);
	dev.small_max = 300;
	dev.small_granularity = 100;
	assert_int_equal(frag_device_round(&dev, 201), 300);
	assert_int_equal(frag_device_round(&dev, 300), 300);
	assert_int_equal(frag_device_round(&dev, 301), 1000);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(acquire(201), 0);
	assert_int_equal(dev.used, 1000);       /* 900 of it */
	assert_int_equal(acquire(301), 0);
	assert_int_equal(dev.used, 2000);       /* too large to share */
	assert_int_equal(acquire(100), 0);
	assert_int_equal(dev.used, 2000);       /* the page is full */
	assert_int_equal(acquire(1), 0);
	assert_int_equal(dev.used, 3000);
	assert_int_equal(release(201), 0);
	assert_int_equal(dev.used, 2000);       /* 800 need one page */
	assert_int_equal(acquire(8000), 0);
	assert_int_equal(acquire(200), 0);      /* the device is full, its page is not */
	assert_int_equal(acquire(1), -FRAG_EDEVMEM);
	assert_int_equal(dev.used, 10000);
	assert_int_equal(release(200), 0);
	assert_int_equal(release(8000), 0);
	assert_int_equal(release(1), 0);
	assert_int_equal(release(100), 0);
	assert_int_equal(release(301), 0);
	assert_int_equal(dev.used, 1000);
	assert_int_equal(release(201), 0);
	assert_int_equal(release(201), 0);
	assert_int_equal(dev.used, 0);
	assert_int_equal(dev.small_used, 0);
	frag_device_close(&dev);
}

/* context + other + used may come to just the total; rounding counts. */
static void test_capacity(void **state)
{
	(void)state;
	open_device(10000, 1000, 3000, 100);
	assert_int_equal(acquire(6001), -FRAG_EDEVMEM);
	assert_int_equal(dev.used, 0);
	assert_int_equal(acquire(5901), 0);
	assert_int_equal(dev.used, 6000);
	assert_int_equal(frag_device_free(&dev), 0);
	assert_int_equal(acquire(1), -FRAG_EDEVMEM);
	assert_int_equal(release(5901), 0);
	assert_int_equal(frag_device_free(&dev), 6000);
	assert_int_equal(acquire(6000), 0);
	frag_device_close(&dev);
	/* others hold more than there is */
	open_device(10000, 6000, 5000, 100);
	assert_int_equal(acquire(1), -FRAG_EDEVMEM);
	assert_int_equal(frag_device_free(&dev), -1000);
	frag_device_close(&dev);
}

/* A refusal leaves the figures that say how much there is. */
static void test_refusal_message(void **state)
{
	(void)state;
	open_device(10000, 0, 0, 1);
	assert_int_equal(acquire(7000), 0);
	assert_int_equal(acquire(3001), -FRAG_EDEVMEM);
	assert_int_equal(frag_device_free(&dev), 3000);
	assert_int_equal(frag_device_process(&dev), 7000);
	assert_int_equal(acquire(3000), 0);
	frag_device_close(&dev);
}

/* The limit is on what is used, without context and others; rounding counts. */
static void test_limit(void **state)
{
	(void)state;
	open_device(10000, 1000, 0, 100);
	dev.limit = 5050;
	assert_int_equal(acquire(5000), 0);
	assert_int_equal(acquire(1), -FRAG_EDEVMEM);
	dev.limit = 100;        /* below what is held: nothing more, and nothing is lost */
	assert_int_equal(acquire(1), -FRAG_EDEVMEM);
	assert_int_equal(dev.used, 5000);
	dev.limit = UINT64_MAX;
	assert_int_equal(acquire(4000), 0);
	assert_int_equal(acquire(1), -FRAG_EDEVMEM);
	frag_device_close(&dev);
}

/* Without a capacity the sums still never come near 2^64. */
static void test_unlimited(void **state)
{
	(void)state;
	open_device(0, 1000, 1000, 2097152);
	assert_int_equal(acquire(UINT64_C(1) << 61), 0);
	assert_int_equal(acquire(UINT64_C(1) << 61), 0);
	assert_int_equal(acquire(1), -FRAG_EDEVMEM);
	assert_int_equal(acquire(UINT64_MAX), -FRAG_EDEVMEM);
	assert_int_equal(acquire(UINT64_MAX - 2097151), -FRAG_EDEVMEM);
	assert_true(dev.used == UINT64_C(1) << 62);
	frag_device_close(&dev);
}

/* Addresses are free; pages count as they are, whatever the granularity. */
static void test_virtual_memory(void **state)
{
	uint64_t cost = 1;
	frag_addr addr;

	(void)state;
	open_device(10000, 0, 0, 1000);
	assert_int_equal(dev.ops->reserve(&dev, UINT64_C(1) << 50, &addr, &cost), 0);
	assert_int_equal(cost, 0);
	assert_int_equal(dev.used, 0);
	assert_int_equal(dev.ops->map(&dev, addr, 5000, 8000, 1000, &cost), 0);
	assert_int_equal(dev.used, 8000);
	assert_int_equal(dev.ops->map(&dev, addr, 0, 3000, 1000, &cost), -FRAG_EDEVMEM);
	assert_int_equal(dev.used, 8000);
	assert_int_equal(dev.ops->unmap(&dev, addr, 6000, 1000, 1000, &cost), 0);
	assert_int_equal(dev.ops->map(&dev, addr, 0, 3000, 1000, &cost), 0);
	assert_int_equal(dev.used, 10000);
	assert_int_equal(dev.ops->unmap(&dev, addr, 0, 10000, 1000, &cost), 0);
	assert_int_equal(dev.ops->map(&dev, addr, 0, 3000, 600, &cost), 0);
	assert_int_equal(dev.used, 3000);
	assert_int_equal(dev.ops->map(&dev, addr, 3000, 7200, 600, &cost), -FRAG_EDEVMEM);
	assert_int_equal(dev.ops->unmap(&dev, addr, 0, 3000, 600, &cost), 0);
	assert_int_equal(dev.ops->map(&dev, addr, 0, UINT64_MAX - 1, 2, &cost), -FRAG_EDEVMEM);
	assert_int_equal(dev.ops->map(&dev, addr, 0, UINT64_MAX, UINT64_MAX, &cost),
			 -FRAG_EDEVMEM);
	assert_int_equal(dev.used, 0);
	assert_int_equal(dev.ops->map(&dev, addr, 0, 10000, 1000, &cost), 0);
	assert_int_equal(dev.ops->unreserve(&dev, addr, UINT64_C(1) << 50, &cost), 0);
	assert_int_equal(dev.used, 10000);
	frag_device_close(&dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_granularity),
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_capacity),
		cmocka_unit_test(test_refusal_message),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_unlimited),
		cmocka_unit_test(test_virtual_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
