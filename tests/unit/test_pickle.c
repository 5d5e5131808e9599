/* test_pickle.c - values out of pickles: what is shared stays shared, and what it takes. */
#include <stdlib.h>
#include <string.h>

#include "snapshot/pickle.h"
#include "support/random.h"
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
	frag_values_init(&v, 64, 1 << 20);
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
	frag_values_init(&v, 64, 1 << 20);
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
	frag_values_init(&v, (size_t)(p - bytes), frag_pickle_memory((uint64_t)(p - bytes)));
	assert_int_equal(frag_pickle_read(&v, &root, bytes, (size_t)(p - bytes), "s", &err), 0);
	assert_int_equal(frag_list_count(&v, &root), times + 1);
	assert_ptr_equal(frag_list_at(&v, &root, 0), frag_list_at(&v, &root, times));
	assert_int_equal(v.count, 2);
	assert_true(v.bytes < 16 * (uint64_t)times);
	frag_values_fini(&v);
	free(bytes);
}

/* Lists that end alike, and what they should hold: a model that shares nothing. */
#define NUMBERS 40
#define LISTS 400
#define LONGEST 60
#define ROOM (LISTS * (LONGEST + 8) * 5 + 1024)

struct tails {
	unsigned char bytes[ROOM], *p;
	uint32_t meant[NUMBERS];                /* by number of the memo */
	uint32_t items[LISTS][LONGEST + 1];
	uint32_t numbers[LISTS][LONGEST];       /* of the memo; those of later appends have none */
	uint32_t counts[LISTS], marked[LISTS];  /* items; those before the first APPENDS */
	uint32_t at[LISTS], outer;              /* where in the outer list; and its length */
	uint64_t random;
};

/* BININT1 and BINPUT: another meaning for a number of the memo. */
static void put_meaning(struct tails *t, uint32_t number, uint32_t value)
{
	const unsigned char op[] = { 'K', (unsigned char)value, 'q', (unsigned char)number };

	memcpy(t->p, op, sizeof(op));
	t->p += sizeof(op);
	t->meant[number] = value;
	t->outer++;
}

/* Each number is written in one way only, as a pickler does. */
static void put_number(struct tails *t, uint32_t number)
{
	const unsigned char op[] = { 'j', (unsigned char)number, 0, 0, 0 };

	if (number % 3 == 0) {
		memcpy(t->p, op, sizeof(op));
		t->p += sizeof(op);
	} else {
		*t->p++ = 'h';
		*t->p++ = (unsigned char)number;
	}
}

/* A few numbers of its own, then the rest of an older one, byte for byte. */
static void put_list(struct tails *t, uint32_t i)
{
	uint32_t own = 1 + (uint32_t)random_below(&t->random, 5), n = 0, tail = 0, from = 0;

	if (i && random_below(&t->random, 8)) {
		from = i - 1 - (uint32_t)random_below(&t->random, i < 30 ? i : 30);
		tail = t->marked[from];
		tail -= (uint32_t)random_below(&t->random, tail < 6 ? tail + 1 : 6);
	}
	if (own + tail > LONGEST)
		tail = LONGEST - own;
	for (; n < own; n++)
		t->numbers[i][n] = (uint32_t)random_below(&t->random, NUMBERS);
	for (; n < own + tail; n++)
		t->numbers[i][n] = t->numbers[from][t->marked[from] - (own + tail - n)];
	*t->p++ = ']';
	*t->p++ = '(';
	for (uint32_t k = 0; k < n; k++) {
		put_number(t, t->numbers[i][k]);
		t->items[i][k] = t->meant[t->numbers[i][k]];
	}
	*t->p++ = 'e';
	t->marked[i] = t->counts[i] = n;
	if (random_below(&t->random, 10) == 0) {
		memcpy(t->p, "K\377a", 3);
		t->p += 3;
		t->items[i][t->counts[i]++] = 255;
	}
	t->at[i] = t->outer++;
}

static void test_tails(void **state)
{
	struct tails *t = calloc(1, sizeof(*t));
	struct frag_error err = { .message = "" };
	struct frag_values v;
	struct frag_value root;
	uint64_t n, shared = 0;

	(void)state;
	assert_non_null(t);
	memcpy(t->bytes, "\x80\x04](", 4);
	t->p = t->bytes + 4;
	t->random = 1;
	for (uint32_t i = 0; i < NUMBERS; i++)
		put_meaning(t, i, i);
	for (uint32_t i = 0; i < LISTS; i++) {
		put_list(t, i);
		if (random_below(&t->random, 40) == 0)
			put_meaning(t, (uint32_t)random_below(&t->random, NUMBERS), 100 + i % 100);
	}
	*t->p++ = 'e';
	*t->p++ = '.';
	n = (uint64_t)(t->p - t->bytes);
	frag_values_init(&v, n, frag_pickle_memory(n));
	assert_int_equal(frag_pickle_read(&v, &root, (char *)t->bytes, n, "s", &err), 0);
	assert_int_equal(frag_list_count(&v, &root), t->outer);
	for (uint32_t i = 0; i < LISTS; i++) {
		const struct frag_value *list = frag_list_at(&v, &root, t->at[i]);

		assert_int_equal(frag_list_count(&v, list), t->counts[i]);
		assert_int_equal(list->depth, 1);
		shared += list->shared;
		for (uint32_t k = 0; k < t->counts[i]; k++)
			assert_true(frag_value_u64(frag_list_at(&v, list, k), &n)
				    && n == t->items[i][k]);
	}
	assert_true(shared > 20);      /* else this tests nothing */
	frag_values_fini(&v);
	free(t);
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
	frag_values_init(&v, sizeof(bytes), 20000);
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
		cmocka_unit_test(test_tails),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
