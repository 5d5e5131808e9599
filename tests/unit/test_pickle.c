/* test_pickle.c - values out of pickles: what is shared stays shared, and what it takes. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "input/value_tree.h"
#include "support/random.h"
#include "support/unit.h"

#define READ(values, root, bytes, err)                                        \
	frag_pickle_read(values, root, bytes, sizeof(bytes) - 1, "s", NULL, err)

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
	assert_int_equal(frag_list_count(list), 8);
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
	frag_values_init(&v, (size_t)(p - bytes), 0);
	frag_values_allow(&v, (uint64_t)(p - bytes), (uint64_t)(p - bytes));
	assert_int_equal(frag_pickle_read(&v, &root, bytes, (size_t)(p - bytes), "s", NULL, &err), 0);
	assert_int_equal(frag_list_count(&root), times + 1);
	assert_ptr_equal(frag_list_at(&v, &root, 0), frag_list_at(&v, &root, times));
	assert_int_equal(v.count, 2);
	assert_true(v.bytes < 16 * (uint64_t)times);
	frag_values_fini(&v);
	free(bytes);
}

/*
 * Lists and dicts as a snapshot has them: most as others before them, in the same
 * order, but never quite all. What they should hold is known from a model that
 * shares nothing. The pickle is longer than a reader's window, so it cuts some.
 */
#define NUMBERS 40              /* of the memo, that mean integers; then come those of strings */
#define NAMES 20
#define BOXES 12000
#define MAX 60                  /* numbers of a list */
#define MEMBERS 6
#define CYCLE 30                /* so many lists come again and again */

struct box {
	bool dict;
	uint32_t at;                    /* in the outer list */
	uint32_t count, marked;         /* items; those that came between MARK and APPENDS */
	uint32_t items[MAX + 1];        /* integers; of a dict: the values of members */
	uint32_t refs[MAX];             /* numbers of the memo; of a dict: those of its keys */
	uint32_t names[MEMBERS];        /* what these meant */
	uint32_t list;                  /* behind the members comes one with this box as a list */
};

struct model {
	unsigned char *bytes, *p;
	uint32_t meant[NUMBERS + NAMES];
	struct box boxes[BOXES];
	uint32_t count, outer;
	uint32_t lists[CYCLE], list_count;      /* the last ones */
	uint64_t random;
};

static uint32_t below(struct model *m, uint32_t n)
{
	return (uint32_t)random_below(&m->random, n);
}

static void put(struct model *m, const void *bytes, size_t n)
{
	memcpy(m->p, bytes, n);
	m->p += n;
}

/* Another meaning for a number of the memo; of a string: a letter. */
static void put_meaning(struct model *m, uint32_t number, uint32_t value)
{
	const unsigned char integer[] = { 'K', (unsigned char)value, 'q', (unsigned char)number };
	const unsigned char text[] = { 0x8c, 1, (unsigned char)value, 'q', (unsigned char)number };

	if (number < NUMBERS)
		put(m, integer, sizeof(integer));
	else
		put(m, text, sizeof(text));
	m->meant[number] = value;
	m->outer++;
}

/* Each number is written in one way only, as a pickler does. */
static void put_number(struct model *m, uint32_t number)
{
	const unsigned char get[] = { 'j', (unsigned char)number, 0, 0, 0, 'h', (unsigned char)number };

	put(m, number % 3 ? get + 5 : get, number % 3 ? 2 : 5);
}

/* An integer in one of its forms. */
static void put_integer(struct model *m, uint32_t n)
{
	const unsigned char le[] = { (unsigned char)n, (unsigned char)(n >> 8),
				     (unsigned char)(n >> 16), 0 };
	static const char forms[][3] = { "K", "M", "J", "\x8a\3" };
	static const size_t bytes[] = { 1, 2, 4, 3 };
	uint32_t form = n < 256 ? 0 : n < 65536 ? 1 : n % 2 ? 2 : 3;

	put(m, forms[form], form == 3 ? 2 : 1);
	put(m, le, bytes[form]);
}

/* One that was there, or with one number changed, or another one. */
static void put_list(struct model *m, struct box *b)
{
	const struct box *old = &m->boxes[m->lists[below(m, 20) ? m->list_count % CYCLE : 0]];
	uint32_t how = below(m, 10);

	m->lists[m->list_count++ % CYCLE] = (uint32_t)(b - m->boxes);
	b->marked = b->count = how && old->marked ? old->marked : 1 + below(m, MAX);
	for (uint32_t i = 0; i < b->count; i++)
		b->refs[i] = how && i < old->marked ? old->refs[i] : below(m, NUMBERS);
	if (how == 1)
		b->refs[below(m, b->count)] = below(m, NUMBERS);
	put(m, "](", 2);
	for (uint32_t i = 0; i < b->count; i++) {
		put_number(m, b->refs[i]);
		b->items[i] = m->meant[b->refs[i]];
	}
	put(m, "e", 1);
	if (below(m, 10) == 0) {
		put(m, "K\377a", 3);
		b->items[b->count++] = 255;
	}
}

/* Keys of one kind of dicts, at times with others among them or fewer. */
static void put_dict(struct model *m, struct box *b, struct box *list)
{
	uint32_t kind = below(m, 4);

	b->dict = true;
	b->count = 1 + kind + below(m, 8) / 7;
	put(m, "}(", 2);
	for (uint32_t i = 0; i < b->count; i++) {
		b->refs[i] = NUMBERS + (kind * 3 + i + below(m, 16) / 15) % NAMES;
		b->names[i] = m->meant[b->refs[i]];
		put_number(m, b->refs[i]);
		b->items[i] = below(m, 3) ? below(m, 1000) : below(m, 1 << 23);
		if (below(m, 3)) {
			put_integer(m, b->items[i]);
		} else {
			uint32_t number = below(m, NUMBERS);

			b->items[i] = m->meant[number];
			put_number(m, number);
		}
	}
	if (list) {
		put(m, "X\4\0\0\0list", 9);
		put_list(m, list);
	}
	put(m, "u", 1);
}

static struct model *new_model(void)
{
	struct model *m = calloc(1, sizeof(*m));
	struct box *b;

	assert_non_null(m);
	m->bytes = malloc((size_t)BOXES * (MAX * 5 + 64));
	assert_non_null(m->bytes);
	m->p = m->bytes;
	m->random = 1;
	put(m, "\x80\x04](", 4);
	for (uint32_t i = 0; i < NUMBERS + NAMES; i++)
		put_meaning(m, i, i + 40);
	while (m->count < BOXES - 1) {
		bool dict = below(m, 2), list = dict && below(m, 2);

		b = &m->boxes[m->count++];
		b->at = m->outer++;
		if (dict)
			put_dict(m, b, list ? &m->boxes[m->count] : NULL);
		else
			put_list(m, b);
		if (list) {
			b->list = m->count;
			m->boxes[m->count++].at = UINT32_MAX;
		}
		if (below(m, 300) == 0)
			put_meaning(m, below(m, NUMBERS + NAMES), 33 + m->count % 90);
	}
	put(m, "e.", 2);
	return m;
}

static void check_list(const struct frag_values *v, const struct frag_value *list,
		       const struct box *b)
{
	uint64_t n;

	assert_int_equal(frag_list_count(list), b->count);
	assert_int_equal(list->depth, 1);
	for (uint32_t i = 0; i < b->count; i++)
		assert_true(frag_value_u64(frag_list_at(v, list, i), &n) && n == b->items[i]);
}

/* As Python does: of keys that are the same the last one counts. */
static void check_dict(const struct frag_values *v, const struct frag_value *dict,
		       const struct box *b, const struct box *list)
{
	uint64_t n;

	for (unsigned char c = ' '; c < 127; c++) {
		const char name[] = { (char)c, 0 };
		const struct frag_value *found = frag_dict_get(v, dict, name);
		uint32_t after = b->count;

		while (after > 0 && b->names[after - 1] != c)
			after--;
		assert_int_equal(!found, !after);
		if (after)
			assert_true(frag_value_u64(found, &n) && n == b->items[after - 1]);
	}
	if (list)
		check_list(v, frag_dict_get(v, dict, "list"), list);
	else
		assert_null(frag_dict_get(v, dict, "list"));
	assert_int_equal(dict->depth, list ? 2 : 1);
}

static void check_model(const struct model *m, const struct frag_values *v,
			const struct frag_value *root)
{
	uint64_t dicts = 0;

	assert_int_equal(frag_list_count(root), m->outer);
	for (uint32_t i = 0; i < m->count; i++) {
		const struct box *b = &m->boxes[i];
		const struct frag_value *value;

		if (b->at == UINT32_MAX)
			continue;
		value = frag_list_at(v, root, b->at);
		assert_int_equal(value->kind, b->dict ? FRAG_DICT : FRAG_LIST);
		dicts += b->dict && value->shared;
		if (b->dict)
			check_dict(v, value, b, b->list ? &m->boxes[b->list] : NULL);
		else
			check_list(v, value, b);
	}
	assert_true(dicts > 200);        /* else this tests nothing */
}

static void del_model(struct model *m)
{
	free(m->bytes);
	free(m);
}

static void test_boxes(void **state)
{
	struct model *m = new_model();
	size_t length = (size_t)(m->p - m->bytes);
	struct frag_error err = { .message = "" };
	struct frag_values v;
	struct frag_value root;

	(void)state;
	frag_values_init(&v, length, 0);
	frag_values_allow(&v, length, length);
	assert_int_equal(frag_pickle_read(&v, &root, (char *)m->bytes, length, "s", NULL, &err), 0);
	check_model(m, &v, &root);
	frag_values_fini(&v);
	del_model(m);
}

/* The same bytes through a window, which is smaller. */
static int stream(struct frag_values *v, struct frag_value *root, const void *bytes, size_t length,
		  struct frag_error *err)
{
	int fd = memfd_create("pickle", MFD_CLOEXEC), rc;
	struct frag_input in;
	char path[40];

	assert_true(length > 2 * FRAG_WINDOW_FIRST);
	assert_true(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(frag_input_open(&in, path, err), 0);
	rc = frag_pickle_stream(v, root, &in, NULL, err);
	frag_input_close(&in);
	close(fd);
	return rc;
}

static void test_stream(void **state)
{
	struct model *m = new_model();
	struct frag_error err = { .message = "" };
	struct frag_values v;
	struct frag_value root;

	(void)state;
	assert_int_equal(stream(&v, &root, m->bytes, (size_t)(m->p - m->bytes), &err), 0);
	check_model(m, &v, &root);
	frag_values_fini(&v);
	del_model(m);
}

/* A text that is longer than the window; and one that has all bytes but the last. */
static void test_long_text(void **state)
{
	const uint32_t length = 700001;
	unsigned char *bytes = malloc(length + 32);
	struct frag_error err = { .message = "" };
	struct frag_values v;
	struct frag_value root;
	const struct frag_value *text;

	(void)state;
	assert_non_null(bytes);
	memcpy(bytes, "\x80\x04]K\7aX\x61\xae\x0a\0", 11);
	for (uint32_t i = 0; i < length; i++)
		bytes[11 + i] = (unsigned char)('a' + i % 23);
	memcpy(bytes + 11 + length, "a.", 2);
	assert_int_equal(stream(&v, &root, bytes, 13 + length, &err), 0);
	assert_int_equal(frag_list_count(&root), 2);
	text = frag_list_at(&v, &root, 1);
	assert_true(frag_is(text, FRAG_STRING) && text->length == length);
	assert_memory_equal(text->as.text, bytes + 11, length);
	frag_values_fini(&v);
	assert_int_equal(stream(&v, &root, bytes, 10 + length, &err), -FRAG_ETRACE);
	assert_non_null(strstr(err.message, "byte 700011: truncated"));
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
	frag_values_init(&v, sizeof(bytes), 20000);
	assert_int_equal(frag_pickle_read(&v, &root, bytes, sizeof(bytes), "s", NULL, &err),
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
		cmocka_unit_test(test_boxes),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_long_text),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
