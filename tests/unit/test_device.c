/* test_device.c - opening and closing a device, and the figures that all share. */
#include "fragsim/device.h"
#include "support/unit.h"

struct state {
	uint64_t zero;
	uint32_t secret;
};

static uint32_t closed;
static bool refuse;

static int plain_open(struct frag_device *dev, struct frag_error *err)
{
	struct state *s = dev->state;

	assert_int_equal(s->zero, 0);
	s->secret = 42;
	return refuse ? frag_fail(err, FRAG_EDEVICE, "no such device") : 0;
}

static void plain_close(struct frag_device *dev)
{
	assert_int_equal(((struct state *)dev->state)->secret, 42);
	closed++;
}

static const struct frag_device_ops plain = {
	.name = "plain",
	.state_size = sizeof(struct state),
	.open = plain_open,
	.close = plain_close,
};

static const struct frag_device_ops bare = { .name = "bare" };

static void test_open(void **state)
{
	struct frag_error err = { .code = 0 };
	struct frag_device dev;

	(void)state;
	closed = 0;
	refuse = false;
	assert_int_equal(frag_device_open(&dev, &plain, 1000, 100, 10, 7, &err), 0);
	assert_ptr_equal(dev.ops, &plain);
	assert_int_equal(dev.total, 1000);
	assert_int_equal(dev.context, 100);
	assert_int_equal(dev.other, 10);
	assert_int_equal(dev.granularity, 7);
	assert_int_equal(dev.used, 0);
	assert_true(dev.limit == UINT64_MAX);
	frag_device_close(&dev);
	assert_int_equal(closed, 1);
}

/* What does not open has nothing to close, and its state is gone (sanitizers see to it). */
static void test_open_refused(void **state)
{
	struct frag_error err = { .code = 0 };
	struct frag_device dev;

	(void)state;
	closed = 0;
	refuse = true;
	assert_int_equal(frag_device_open(&dev, &plain, 0, 0, 0, 1, &err), -FRAG_EDEVICE);
	assert_string_equal(err.message, "no such device");
	assert_int_equal(closed, 0);
}

static void test_optional(void **state)
{
	struct frag_device dev;

	(void)state;
	assert_int_equal(frag_device_open(&dev, &bare, 0, 0, 0, 1, NULL), 0);
	assert_null(dev.state);
	frag_device_close(&dev);
}

/* What other processes hold may leave less than nothing. */
static void test_figures(void **state)
{
	static const struct {
		uint64_t total, context, other, used;
		int64_t left;
		uint64_t process;
	} cases[] = {
		{ 1000, 0, 0, 0, 1000, 0 },
		{ 1000, 100, 10, 1, 889, 101 },
		{ 1000, 600, 500, 0, -100, 600 },
		{ 1, UINT64_C(1) << 52, UINT64_C(1) << 52, 7, 1 - (INT64_C(1) << 53) - 7,
		  (UINT64_C(1) << 52) + 7 },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		struct frag_device dev = {
			.total = cases[i].total, .context = cases[i].context,
			.other = cases[i].other, .used = cases[i].used,
		};

		assert_true(frag_device_free(&dev) == cases[i].left);
		assert_true(frag_device_process(&dev) == cases[i].process);
	}
}

static void test_devices(void **state)
{
	char name[] = "first";
	const struct frag_device_figures two[] = {
		{ .name = name, .total = 1 << 20, .granularity = 512, .small_max = 8,
		  .small_granularity = 4 },
		{ .other = 7, .granularity = 1 },
	};
	const struct frag_device_figures third = { .total = 3, .granularity = 3 };
	struct frag_devices d;

	(void)state;
	assert_int_equal(frag_devices_copy(&d, two, 2, NULL), 0);
	assert_int_equal(d.count, 2);
	name[0] = 'F';          /* the copy has its own */
	assert_string_equal(d.figures[0].name, "first");
	frag_devices_override(&d, UINT64_MAX, 9, UINT64_MAX, UINT64_MAX);
	assert_true(d.figures[0].total == 1 << 20 && d.figures[0].context == 9);
	assert_true(d.figures[0].granularity == 512 && d.figures[0].small_max == 8);
	assert_true(d.figures[1].total == 0 && d.figures[1].context == 9);
	assert_true(d.figures[1].other == 7);
	frag_devices_override(&d, 0, UINT64_MAX, 0, 1);
	assert_true(d.figures[0].total == 0 && d.figures[0].context == 9);
	assert_true(d.figures[0].granularity == 1 && d.figures[0].small_max == 0);
	assert_true(d.figures[1].other == 0);
	assert_int_equal(frag_devices_replace(&d, 0, &third, "third", NULL), 0);
	assert_string_equal(d.figures[0].name, "third");
	assert_int_equal(d.figures[0].total, 3);
	assert_int_equal(frag_devices_replace(&d, 0, &third, NULL, NULL), 0);
	assert_null(d.figures[0].name);
	frag_devices_fini(&d);
	assert_int_equal(d.count, 0);
}

static void test_devices_refused(void **state)
{
	char name[] = "x";
	const struct frag_device_figures bad[] = {
		{ .name = name, .granularity = 1 }, { .name = name, .granularity = 0 },
	};
	struct frag_error err = { .code = 0 };
	struct frag_devices d;

	(void)state;
	assert_int_equal(frag_devices_copy(&d, bad, 2, &err), -FRAG_EUSAGE);
	assert_string_equal(err.message, "device 1: a granularity of 0 bytes");
	frag_devices_fini(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_open_refused),
		cmocka_unit_test(test_optional),
		cmocka_unit_test(test_figures),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_devices_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
