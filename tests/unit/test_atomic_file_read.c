/* test_atomic_file_read.c - whole files in memory: what is in them, and what is refused. */
#include "base/atomic_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/files.h"
#include "support/unit.h"

#define MAX 100000

static void test_bytes(void **state)
{
	static const size_t lengths[] = { 0, 1, 2, 4096, MAX - 1, MAX };
	static char bytes[MAX];

	for (size_t i = 0; i < MAX; i++)
		bytes[i] = (char)(i * 7);
	for (uint32_t i = 0; i < LENGTH(lengths); i++) {
		const char *path = files_path(state, "some");
		uint64_t length = 5;
		void *got = NULL;

		files_write(path, bytes, lengths[i]);
		assert_int_equal(frag_read_whole_file(path, MAX, &got, &length, NULL), 0);
		assert_non_null(got);
		assert_int_equal(length, lengths[i]);
		assert_memory_equal(got, bytes, length);
		free(got);
	}
}

static void expect_refused(const char *path, const char *says)
{
	struct frag_error err = { .code = 0 };
	uint64_t length;
	void *got;

	assert_int_equal(frag_read_whole_file(path, 10, &got, &length, &err), -FRAG_EUSAGE);
	assert_string_equal(err.message, says);
}

static void test_refused(void **state)
{
	const char *path = files_path(state, "eleven");

	files_write(path, "0123456789A", 11);
	expect_refused(path, "11 bytes; at most 10 are read");
	expect_refused(files_path(state, "none"), "No such file or directory");
	expect_refused(files_path(state, "."), "not a regular file");
	path = files_path(state, "pipe");
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_refused(path, "not a regular file");
	expect_refused("", "No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bytes, files_begin, files_end),
		cmocka_unit_test_setup_teardown(test_refused, files_begin, files_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
