/* test_pickle.c - values out of pickles: what is shared stays shared, and what it takes. */
#include <stdlib.h>
#include <string.h>

#include "snapshot/pickle.h"
#include "support/unit.h"

#define READ(values, root, bytes, err)                                        \
	frag_pickle_read(values, root, bytes, sizeof(bytes) - 1, "s", err)

static void test_kinds(void **state)
{
	/* {"a": (1, -2, 70000, 2**63, True, None, 1.5, "text")} */
	static const char bytes[] = "\x80\x04}\x8c\x01" "a(K\x01J\xfe\xff\xff\xffJ\x70\x11\x01\x00"
		"\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00\x88NG\x3f\xf8\x00\x00\x00\x00\x00\x00"
		"X\x04\x00\x00\x00textts.";
	struct frag_error err = { .message = "" };
	const struct frag_value *list;
	struct frag_values v;
	struct frag_value root;
	uint64_t n;

	(void)state;
	frag_values_init(&v, 1 << 20);
	assert_int_equal(READ(&v, &root, bytes, &err), 0);
	list = frag_dict_get(&v, &root, "a");
	assert_int_equal(frag_list_count(&v, list), 8);
	assert_true(frag_value_u64(frag_list_at(&v, list, 0), &n) && n == 1);
	assert_false(frag_value_u64(frag_list_at(&v, list, 1), &n));
	assert_true(frag_list_at(&v, list, 1)->minus);
	assert_true(frag_list_at(&v, list, 1)->as.magnitude == 2);
	assert_true(frag_value_u64(frag_list_at(&v, list, 2), &n) && n == 70000);
	assert_true(frag_value_u64(frag_list_at(&v, list, 3), &n) && n == UINT64_C(1) << 63);
	assert_true(frag_is(frag_list_at(&v, list, 4), FRAG_TRUTH));
	assert_true(frag_is(frag_list_at(&v, list, 5), FRAG_NULL));
	assert_true(frag_list_at(&v, list, 6)->as.real == 1.5);
	assert_true(frag_text_is(frag_list_at(&v, list, 7), "text"));
	assert_null(frag_list_at(&v, list, 8));
	assert_null(frag_dict_get(&v, &root, "b"));
	assert_null(frag_dict_get(&v, list, "a"));
	frag_values_fini(&v);
}

/* A key that stands twice: the last one counts, as in Python. */
static void test_twice(void **state)
{
	static const char bytes[] = "\x80\x02}(X\x01\0\0\0aK\x01X\x01\0\0\0aK\x02u.";
	struct frag_error err = { .message = "" };
	struct frag_values v;
	struct frag_value root;
	uint64_t n;

	(void)state;
	frag_values_init(&v, 1 << 20);
	assert_int_equal(READ(&v, &root, bytes, &err), 0);
	assert_true(frag_value_u64(frag_dict_get(&v, &root, "a"), &n) && n == 2);
	frag_values_fini(&v);
}

/* One list, a million times in another: two bytes each, and four bytes of memory. */
static void test_shared(void **state)
{
	const uint32_t times = 1000000;
	char *bytes = malloc(2 * times + 16), *p = bytes;
	struct frag_error err = { .message = "" };
	struct frag_values v;
	struct frag_value root;

	(void)state;
	assert_non_null(bytes);
	memcpy(p, "\x80\x04](]q\0", 7);
	p += 7;
	for (uint32_t i = 0; i < times; i++, p += 2)
		memcpy(p, "h\0", 2);
	memcpy(p, "e.", 2);
	p += 2;
	frag_values_init(&v, frag_pickle_memory((uint64_t)(p - bytes)));
	assert_int_equal(frag_pickle_read(&v, &root, bytes, (size_t)(p - bytes), "s", &err), 0);
	assert_int_equal(frag_list_count(&v, &root), times + 1);
	assert_ptr_equal(frag_list_at(&v, &root, 0), frag_list_at(&v, &root, times));
	assert_int_equal(v.count, 2);
	assert_true(v.bytes < 16 * (uint64_t)times);
	frag_values_fini(&v);
	free(bytes);
}

/* What is allowed is not passed, whatever asks for it. */
static void test_memory(void **state)
{
	char bytes[4096];
	struct frag_error err = { .message = "" };
	struct frag_values v;
	struct frag_value root;

	(void)state;
	memset(bytes, ']', sizeof(bytes));
	memcpy(bytes, "\x80\x04", 2);
	frag_values_init(&v, 20000);
	assert_int_equal(frag_pickle_read(&v, &root, bytes, sizeof(bytes), "s", &err),
			 -FRAG_ETRACE);
	assert_non_null(strstr(err.message, "more lists, dicts and references"));
	assert_true(v.bytes <= 20000);
	frag_values_fini(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
