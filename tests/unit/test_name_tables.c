/* test_name_tables.c - interning: the same name the same index, also where hashes collide. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "support/unit.h"
#include "trace/name_tables.h"

static struct frag_handle number(uint64_t n)
{
	return (struct frag_handle){ .number = n };
}

static struct frag_handle text(const char *s)
{
	return (struct frag_handle){ .text = s, .number = strlen(s) };
}

static struct frag_text words(const char *s)
{
	return (struct frag_text){ .text = s, .length = (uint32_t)strlen(s) };
}

static uint32_t acquired(struct frag_tags *t, struct frag_text text)
{
	uint32_t tag;

	assert_true(frag_tags_acquire(t, text, &tag));
	return tag;
}

/* Integers and strings are different, and strings are all of their bytes. */
static void test_kinds(void **state)
{
	const struct frag_handle handles[] = {
		number(0), text("0"), number(1), text("1"), text(""), number(UINT64_MAX),
		{ .text = "1\0", .number = 2 }, { .text = "1\0x", .number = 3 }, text("11"),
		text("a longer name than eight bytes"), text("a longer name than eight bytez"),
		number((UINT64_C(1) << 53) - 1),
	};
	struct frag_handles h;

	(void)state;
	assert_true(frag_handles_init(&h, 5));
	for (uint32_t i = 0; i < LENGTH(handles); i++) {
		assert_int_equal(frag_handles_find(&h, &handles[i]), i ? UINT32_MAX : 0);
		assert_int_equal(frag_handles_index(&h, &handles[i]), i);
	}
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < LENGTH(handles); i++) {
			assert_int_equal(frag_handles_find(&h, &handles[i]), i);
			assert_int_equal(frag_handles_intern(&h, &handles[i]), i);
			assert_int_equal(frag_handles_index(&h, &handles[i]), i);
			assert_int_equal(frag_handles_index(&h, &handles[i]), i);
		}
	assert_int_equal(h.count, LENGTH(handles));
	frag_handles_fini(&h);
}

/* The last integer is at hand: it must be that of its own index after any mixture. */
static void test_random_handles(void **state)
{
	uint32_t index_of[2][50];
	struct frag_handles h;
	uint64_t random = 3;
	uint32_t next = 1;

	(void)state;
	memset(index_of, 0xff, sizeof(index_of));
	index_of[0][0] = 0;
	assert_true(frag_handles_init(&h, 9));
	for (uint32_t i = 0; i < 10000; i++) {
		uint32_t which = (uint32_t)random_below(&random, 50);
		bool name = random_below(&random, 2);
		struct frag_handle handle = number(which);
		char buf[32];

		if (name) {
			snprintf(buf, sizeof(buf), "%u", which);
			handle = text(buf);
		}
		if (index_of[name][which] == UINT32_MAX)
			index_of[name][which] = next++;
		assert_int_equal(frag_handles_index(&h, &handle), index_of[name][which]);
		memset(buf, '#', sizeof(buf));          /* what was interned is a copy */
	}
	assert_int_equal(h.count, next);
	frag_handles_fini(&h);
}

/* A string whose hash is that of another: the map is made to say so. */
static void test_colliding_handles(void **state)
{
	const struct frag_handle a = text("one"), b = text("two"), c = text("twofold");
	struct frag_handles h;
	uint32_t first;

	(void)state;
	assert_true(frag_handles_init(&h, 1));
	first = frag_handles_intern(&h, &a);
	assert_true(frag_map_add(&h.texts, frag_hash_text("two", 3, h.texts.seed), first));
	assert_true(frag_map_add(&h.texts, frag_hash_text("twofold", 7, h.texts.seed), first));
	assert_int_equal(frag_handles_find(&h, &b), UINT32_MAX);
	assert_int_equal(frag_handles_intern(&h, &b), first + 1);
	assert_int_equal(frag_handles_intern(&h, &c), first + 2);
	assert_int_equal(frag_handles_intern(&h, &b), first + 1);
	assert_int_equal(frag_handles_find(&h, &c), first + 2);
	assert_int_equal(frag_handles_find(&h, &a), first);
	frag_handles_fini(&h);
}

static bool has_text(const struct frag_tags *t, uint32_t tag, const char *want)
{
	return tag && frag_tag_at(t, tag)->length == strlen(want)
	       && memcmp(frag_tag_at(t, tag)->text, want, strlen(want)) == 0;
}

static void test_colliding_tags(void **state)
{
	struct frag_tags t;
	uint32_t a, b;

	(void)state;
	assert_true(frag_tags_init(&t, 1));
	a = acquired(&t, words("one"));
	assert_true(frag_map_add(&t.map, frag_hash_text("two", 3, t.seed), a));
	b = acquired(&t, words("two"));
	assert_int_not_equal(a, b);
	assert_int_equal(acquired(&t, words("two")), b);
	assert_int_equal(acquired(&t, words("one")), a);
	assert_true(has_text(&t, a, "one") && has_text(&t, b, "two"));
	frag_tags_fini(&t);
}

/* Of one length, beginning and end: they look alike, and take each other's place there. */
static void test_tags_that_look_alike(void **state)
{
	static const char *const names[] = {
		"aten.mm | fwd layer", "aten.mm | bwd layer", "aten.mm | opt layer", "aten.mm | fwd laser",
		"12345678", "123456781", "1234567",
	};
	uint32_t tags[LENGTH(names)];
	struct frag_tags t;

	(void)state;
	assert_true(frag_tags_init(&t, 1));
	for (uint32_t i = 0; i < LENGTH(names); i++)
		tags[i] = acquired(&t, words(names[i]));
	for (uint32_t i = 0; i < 100; i++) {
		const uint32_t k = i * 5 % LENGTH(names);

		assert_int_equal(acquired(&t, words(names[k])), tags[k]);
		assert_true(has_text(&t, tags[k], names[k]));
		for (uint32_t j = 0; j < k; j++)
			assert_int_not_equal(tags[j], tags[k]);
	}
	frag_tags_fini(&t);
}

/* A used tag keeps its index and its text, whatever comes and goes around it. */
static void test_used_tags_stay(void **state)
{
	struct frag_tags t;
	uint32_t kept[100];
	char name[32];

	(void)state;
	assert_true(frag_tags_init(&t, 2));
	for (uint32_t i = 0; i < LENGTH(kept); i++) {
		snprintf(name, sizeof(name), "kept %u", i);
		kept[i] = acquired(&t, words(name));
		assert_int_not_equal(kept[i], 0);
	}
	for (uint32_t i = 0; i < 200000; i++) {
		uint32_t tag;

		snprintf(name, sizeof(name), "gone %u", i);
		tag = acquired(&t, words(name));
		assert_true(has_text(&t, tag, name));
		frag_tags_release(&t, tag);
		frag_tags_sweep(&t);
		if (i % 1000 == 0) {    /* a second user comes and goes */
			snprintf(name, sizeof(name), "kept %u", i / 1000 % 100);
			assert_int_equal(acquired(&t, words(name)), kept[i / 1000 % 100]);
			frag_tags_release(&t, kept[i / 1000 % 100]);
		}
	}
	for (uint32_t i = 0; i < LENGTH(kept); i++) {
		snprintf(name, sizeof(name), "kept %u", i);
		assert_true(has_text(&t, kept[i], name));
		assert_int_equal(acquired(&t, words(name)), kept[i]);
	}
	/* 200,000 have been; what is kept is of the order of a sweep's threshold */
	assert_in_range(t.count, 101, 10000);
	assert_in_range(t.map.mask, 127, 32767);
	frag_tags_fini(&t);
}

/* A tag that nobody uses stays a while, and comes back as it was. */
static void test_idle_tags(void **state)
{
	struct frag_tags t;
	uint32_t first;

	(void)state;
	assert_true(frag_tags_init(&t, 2));
	first = acquired(&t, words("common"));
	frag_tags_release(&t, first);
	frag_tags_sweep(&t);
	assert_int_equal(acquired(&t, words("common")), first);
	assert_int_equal(t.idle, 0);
	frag_tags_release(&t, first);
	assert_int_equal(t.idle, 1);
	frag_tags_release(&t, 0);                 /* no tag has no users */
	assert_int_equal(t.idle, 1);
	frag_tags_fini(&t);
}

/* `content` is what every process gives the same text, and only that. */
static void test_content(void **state)
{
	struct frag_tags a, b;

	(void)state;
	assert_true(frag_tags_init(&a, 1));
	assert_true(frag_tags_init(&b, 2));
	for (uint32_t i = 0; i < 100; i++) {
		char name[32];
		uint32_t x, y;

		snprintf(name, sizeof(name), "tag %u", i);
		x = acquired(&a, words(name));
		y = acquired(&b, words(name));
		assert_true(frag_tag_at(&a, x)->content == frag_tag_at(&b, y)->content);
		for (uint32_t k = 1; k < x; k++)
			assert_true(frag_tag_at(&a, x)->content != frag_tag_at(&a, k)->content);
	}
	frag_tags_fini(&a);
	frag_tags_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_random_handles),
		cmocka_unit_test(test_colliding_handles),
		cmocka_unit_test(test_colliding_tags),
		cmocka_unit_test(test_tags_that_look_alike),
		cmocka_unit_test(test_used_tags_stay),
		cmocka_unit_test(test_idle_tags),
		cmocka_unit_test(test_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
