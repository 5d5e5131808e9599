/*
 * test_input_ahead.c - a packed file through a thread is the bytes that were packed, and ends
 * where it ends without the thread; and who waits for a pipe can be told not to.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/files.h"
#include "support/pack.h"
#include "support/random.h"
#include "support/unit.h"
#include "input/input.h"

#define FILES(test) cmocka_unit_test_setup_teardown(test, files_begin, files_end)
#define LONG 3000000    /* bytes: many times what is there ahead */

/* Text that packs to about a third. */
static char *text_of(size_t n)
{
	char *text = malloc(n + 1);
	uint64_t random = n + 1;

	assert_non_null(text);
	for (size_t i = 0; i < n; i++)
		text[i] = i > 50 && i % 1000 < 700 ? text[i - 37]
						   : (char)('!' + random_below(&random, 90));
	return text;
}

static struct frag_unpacker *unpacker_of(const char *path)
{
	struct frag_unpacker *u;

	assert_int_equal(frag_unpacker_new(&u, open(path, O_RDONLY), "file", NULL), 0);
	return u;
}

/* Reads to the end or to an error, through a thread or not; *n: how many came. */
static int read_all(const char *path, bool ahead, char *to, size_t max, size_t room, size_t *n,
		    uint64_t *amount, struct frag_error *err)
{
	struct frag_unpacker *u = unpacker_of(path);
	uint64_t total;
	size_t got = 1;
	int rc = 0;

	assert_true(!ahead || frag_unpacker_ahead(u));
	for (*n = 0; !rc && got; *n += got) {
		size_t left = max + 1 - *n, now = room < left ? room : left;

		rc = frag_unpacker_read(u, to + *n, now, &got, err);
		got = rc ? 0 : got;
		assert_true(got <= now && *n + got <= max);
	}
	/* asked once more, it says the same */
	if (ahead)
		assert_int_equal(frag_unpacker_read(u, to, 1, &got, NULL), rc);
	frag_unpacker_amount(u, amount, &total);
	frag_unpacker_del(u);
	return rc;
}

static void test_same_bytes(void **state)
{
	static const size_t lengths[] = { 0, 1, 131071, 131072, 131073, 131072 * 4, LONG };
	static const size_t rooms[] = { 997, 131072, 1 << 20 };
	const char *path = files_path(state, "trace");
	char *got = malloc(LONG + 1);

	assert_non_null(got);
	for (uint32_t i = 0; i < LENGTH(lengths); i++) {
		char *text = text_of(lengths[i]), *packed = malloc(PACK_ROOM(lengths[i]));

		assert_non_null(packed);
		for (int kind = 0; kind < PACKS; kind++) {
			size_t n, bytes = pack((enum pack)kind, packed, text, lengths[i]);
			uint64_t amount;

			files_write(path, packed, bytes);
			for (uint32_t k = 0; k < LENGTH(rooms); k++) {
				assert_int_equal(read_all(path, true, got, lengths[i], rooms[k], &n,
							  &amount, NULL), 0);
				assert_int_equal(n, lengths[i]);
				assert_memory_equal(got, text, n);
				assert_int_equal(amount, bytes);
			}
		}
		free(packed);
		free(text);
	}
	free(got);
}

/* Cut or changed anywhere, the same error after the same bytes. */
static void test_damaged(void **state)
{
	const char *path = files_path(state, "trace");
	char *text = text_of(LONG), *packed = malloc(PACK_ROOM(LONG));
	char *got[2] = { malloc(LONG + 1), malloc(LONG + 1) };
	uint32_t errors = 0;

	assert_true(packed && got[0] && got[1]);
	for (int kind = PACK_GZIP; kind < PACKS; kind++) {
		size_t bytes = pack((enum pack)kind, packed, text, LONG);

		for (uint32_t i = 1; i < 12; i++) {
			size_t n[2], where = bytes / 12 * i;
			struct frag_error err[2] = { { .code = 0 } };
			uint64_t amount;
			int rc[2];

			packed[where] = (char)~packed[where];
			files_write(path, packed, i % 2 ? bytes : where);
			packed[where] = (char)~packed[where];
			for (int ahead = 0; ahead < 2; ahead++)
				rc[ahead] = read_all(path, ahead, got[ahead], LONG, 131072,
						     &n[ahead], &amount, &err[ahead]);
			assert_int_equal(rc[1], rc[0]);
			assert_string_equal(err[1].message, err[0].message);
			assert_int_equal(n[1], n[0]);
			assert_memory_equal(got[1], got[0], n[0]);
			errors += rc[0] != 0;
		}
	}
	/* what is cut off is always missed; what is changed, by the checksum at the latest */
	assert_int_equal(errors, 22);
	free(got[0]);
	free(got[1]);
	free(packed);
	free(text);
}

/* Ended anywhere, as after an error of who reads; and read again from its start. */
static void test_left_early(void **state)
{
	const char *path = files_path(state, "trace");
	char *text = text_of(LONG), *packed = malloc(PACK_ROOM(LONG));
	size_t used;

	assert_non_null(packed);
	files_write(path, packed, pack(PACK_GZIP, packed, text, LONG));
	for (uint32_t reads = 0; reads < 16; reads += 5) {
		struct frag_input in;

		assert_int_equal(frag_input_open(&in, path, NULL), 0);
		assert_int_equal(frag_input_fill(&in, 0, NULL), 1);
		assert_true(frag_input_hurry(&in));
		assert_false(frag_unpacker_ahead(in.unpacker));         /* already */
		for (uint32_t i = 0; i < reads && in.before + in.end < LONG; i++) {
			used = in.end - 7;
			assert_int_equal(frag_input_fill(&in, used, NULL), 1);
			assert_memory_equal(in.buf, text + in.before, in.end);
		}
		assert_true(frag_input_rewind(&in));
		for (used = 0; frag_input_fill(&in, used, NULL) == 1; used = in.end)
			assert_memory_equal(in.buf, text + in.before, in.end);
		assert_int_equal(in.before + in.end, LONG);
		frag_input_close(&in);
	}
	free(packed);
	free(text);
}

static void *abandon(void *unpacker)
{
	usleep(20000);
	frag_unpacker_abandon(unpacker);
	return NULL;
}

/* A pipe whose producer says nothing, and does not go. */
static void test_abandon(void **state)
{
	struct frag_unpacker *u;
	struct frag_error err;
	pthread_t thread;
	char bytes[16];
	size_t got;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(frag_unpacker_new(&u, ends[0], "pipe", NULL), 0);
	assert_true(frag_unpacker_abandonable(u));
	assert_int_equal(write(ends[1], "some", 4), 4);
	assert_int_equal(frag_unpacker_read(u, bytes, sizeof(bytes), &got, &err), 0);
	assert_int_equal(got, 4);
	assert_int_equal(pthread_create(&thread, NULL, abandon, u), 0);
	assert_int_equal(frag_unpacker_read(u, bytes, sizeof(bytes), &got, &err),
			 -FRAG_EINTERRUPTED);
	pthread_join(thread, NULL);
	/* for good, even where there is more */
	assert_int_equal(write(ends[1], "more", 4), 4);
	assert_int_equal(frag_unpacker_read(u, bytes, sizeof(bytes), &got, &err),
			 -FRAG_EINTERRUPTED);
	close(ends[1]);
	frag_unpacker_del(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILES(test_same_bytes),
		FILES(test_damaged),
		FILES(test_left_early),
		cmocka_unit_test(test_abandon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
