/* test_cards.c - the table of cards: in order, each figure what its source printed. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "device/known_cards.h"
#include "support/unit.h"

static void test_order(void **state)
{
	(void)state;
	assert_non_null(frag_cards[0].key);
	for (const struct frag_card *c = frag_cards + 1; c->key; c++) {
		assert_true(c[-1].bytes <= c->bytes);
		if (c[-1].bytes == c->bytes)
			assert_true(strcmp(c[-1].key, c->key) < 0);
	}
	for (const struct frag_card *a = frag_cards; a->key; a++)
		for (const struct frag_card *b = a + 1; b->key; b++)
			assert_string_not_equal(a->key, b->key);
}

static void test_words(void **state)
{
	(void)state;
	for (const struct frag_card *c = frag_cards; c->key; c++) {
		assert_int_equal(strspn(c->key, "abcdefghijklmnopqrstuvwxyz0123456789-:."),
				 strlen(c->key));
		assert_true(strlen(c->key) <= 19);
		assert_true(strncmp(c->source, "https://", 8) == 0);
		assert_null(strpbrk(c->source, " \"<>"));
		assert_true(*c->name != '\0');
		assert_true(strcmp(c->by, "CUDA") == 0 || strcmp(c->by, "HIP") == 0
			    || strcmp(c->by, frag_is_slice(c) ? "nvidia-smi" : "OpenCL") == 0);
	}
}

/*
 * Bytes are exact; MiB were cut off by what printed them; GiB of two decimals were rounded, so
 * the total can be half a hundredth below, and the figure is no more than a MiB above that.
 */
static void test_figures(void **state)
{
	(void)state;
	for (const struct frag_card *c = frag_cards; c->key; c++) {
		const double mib = 1 << 20, gib = 1 << 30;
		char unit[8];
		double value;

		assert_int_equal(sscanf(c->reported, "%lf %7s", &value, unit), 2);
		if (strcmp(unit, "bytes") == 0) {
			assert_true((double)c->bytes == value);
		} else if (strcmp(unit, "GiB") == 0) {
			assert_true((double)c->bytes >= (value - 0.005) * gib);
			assert_true((double)c->bytes < (value - 0.005) * gib + mib);
		} else {
			assert_true(strcmp(unit, "MB") == 0 || strcmp(unit, "MiB") == 0);
			assert_true((double)c->bytes == value * mib);
		}
	}
}

/*
 * A slice is of a card of the table. Its name says how many eighths of that memory it has (quarters
 * on an A30), in whole GB, and how many sevenths of the processors: that bounds its size and count.
 */
static void test_slices(void **state)
{
	struct frag_error err;

	(void)state;
	for (const struct frag_card *c = frag_cards; c->key; c++) {
		const size_t length = strcspn(c->key, ":");
		unsigned processors, gb;
		char key[20];

		if (!frag_is_slice(c)) {
			assert_int_equal(c->count, 1);
			continue;
		}
		assert_int_equal(sscanf(c->key + length, ":%ug.%ugb", &processors, &gb), 2);
		snprintf(key, sizeof(key), "%.*s", (int)length, c->key);
		assert_non_null(frag_card_named(key, &err));
		assert_true(c->count >= 1 && c->count * processors <= 7);
		assert_true(c->bytes < (uint64_t)gb << 30);
		assert_true((double)c->bytes > 0.85 * gb * (1 << 30));
		assert_true(c->count * c->bytes < frag_card_named(key, &err)->bytes + (1 << 28));
	}
}

/* The context is what the message says, to the MiB, and no two cards have one of the same basis. */
static void test_contexts(void **state)
{
	char basis[FRAG_BASIS_ROOM], want[FRAG_BASIS_ROOM];

	(void)state;
	for (const struct frag_card *c = frag_cards; c->key; c++) {
		const struct frag_context *context = frag_context_of(c);
		double sum[3];
		char unit[3];

		assert_non_null(frag_context_basis(c->bytes, (uint64_t)context->mib << 20, basis));
		assert_null(frag_context_basis(c->bytes, ((uint64_t)context->mib << 20) + 1, basis));
		if (!context->key) {
			assert_int_equal(context->mib, FRAG_CONTEXT_ASSUMED);
			assert_string_equal(basis, "assumed");
			continue;
		}
		snprintf(want, sizeof(want), "typical of %.*s", (int)strcspn(c->key, ":"), c->key);
		assert_string_equal(basis, want);
		assert_true(strncmp(context->source, "https://", 8) == 0);
		assert_int_equal(sscanf(context->message, "%lf GiB - %lf GiB - %lf %2[GM]iB", &sum[0],
					&sum[1], &sum[2], unit), 4);
		sum[2] *= unit[0] == 'G' ? 1024 : 1;
		assert_true(fabs(1024 * (sum[0] - sum[1]) - sum[2] - context->mib) <= 0.5);
	}
}

/* A printed total names one card, two alike none, and one without a message none. */
static void test_near(void **state)
{
	static const struct {
		double gib;
		const char *key;
	} printed[] = {
		{ 79.10, "h100-80gb" }, { 79.14, "a100-80gb" }, { 14.75, "t4" }, { 15.48, NULL },
		{ 3.80, NULL }, { 50.00, NULL },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(printed); i++) {
		const struct frag_context *context =
			frag_context_near((uint64_t)(printed[i].gib * (1 << 30)), (1 << 30) / 100);

		assert_true(!context == !printed[i].key);
		if (context)
			assert_string_equal(context->key, printed[i].key);
	}
}

static void test_names(void **state)
{
	static const struct {
		const char *key, *says;
	} unknown[] = {
		{ "h100", "did you mean h100-80gb or h100-nvl-94gb?" },
		{ "rtx-4091", "did you mean rtx-4090?" },
		{ "4070", "did you mean rtx-4070?" },
		{ "a30:3g", "did you mean a30:1g.6gb, a30:2g.12gb or a30:4g.24gb?" },
		{ "nothing-like-it", "no card \"nothing-like-it\"; fragsim list cards lists them" },
		{ "", "no card \"\"; fragsim list cards lists them" },
	};
	struct frag_error err;

	(void)state;
	assert_string_equal(frag_card_named("t4", &err)->key, "t4");
	assert_string_equal(frag_card_named("H100_80GB", &err)->key, "h100-80gb");
	assert_string_equal(frag_card_named("A30:1g.6GB", &err)->key, "a30:1g.6gb");
	for (uint32_t i = 0; i < LENGTH(unknown); i++) {
		assert_null(frag_card_named(unknown[i].key, &err));
		assert_int_equal(err.code, -FRAG_EUSAGE);
		assert_non_null(strstr(err.message, unknown[i].says));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order), cmocka_unit_test(test_words),
		cmocka_unit_test(test_figures), cmocka_unit_test(test_names),
		cmocka_unit_test(test_slices), cmocka_unit_test(test_contexts),
		cmocka_unit_test(test_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
