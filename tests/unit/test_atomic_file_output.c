/* test_atomic_file_output.c - where the name of an output leads. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "support/files.h"
#include "support/unit.h"

#define FILES(test) cmocka_unit_test_setup_teardown(test, files_begin, files_end)

/* A link `name` with this text, in the test's folder; its path. */
static const char *link_to(void **state, const char *name, const char *text)
{
	const char *path = files_path(state, name);

	assert_int_equal(symlink(text, path), 0);
	return path;
}

static void test_links(void **state)
{
	const char *file = files_path(state, "file");
	char first[4096];
	struct frag_output_path d;

	snprintf(first, sizeof(first), "%s", link_to(state, "first", "second"));
	link_to(state, "second", file);
	for (int there = 0; there < 2; there++) {
		assert_int_equal(frag_destination_find(&d, first), 0);
		assert_string_equal(d.name, file);
		assert_int_equal(d.there, there);
		assert_int_equal(d.fd, -1);
		free(d.name);
		files_write(file, "", 0);
	}
}

/* 40 links are followed, as the kernel does; a loop has no end. */
static void test_loops(void **state)
{
	struct frag_output_path d;
	char name[16], text[16];

	for (int i = 0; i < 41; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		snprintf(text, sizeof(text), "l%d", i + 1);
		link_to(state, name, text);
	}
	assert_int_equal(frag_destination_find(&d, files_path(state, "l1")), 0);
	assert_string_equal(d.name, files_path(state, "l41"));
	free(d.name);
	assert_int_equal(frag_destination_find(&d, files_path(state, "l0")), ELOOP);
	free(d.name);
	assert_int_equal(frag_destination_find(&d, link_to(state, "self", "self")), ELOOP);
	free(d.name);
}

static void test_descriptors(void **state)
{
	const struct {
		const char *path;
		int fd;
	} rows[] = {
		{ "/dev/stdout", 1 }, { "/dev/stderr", 2 }, { "/dev/fd/0", 0 },
		{ "/dev/fd/12345", 12345 }, { "/proc/self/fd/7", 7 },
		{ "/proc/self/../self/fd/7", 7 },
		{ link_to(state, "out", "/dev/fd/1"), 1 },
		{ link_to(state, "12", "/dev/null"), -1 },
		{ "/proc/self/fdinfo/1", -1 }, { "/dev/null", -1 }, { "1", -1 },
	};
	struct frag_output_path d;

	for (uint32_t i = 0; i < LENGTH(rows); i++) {
		assert_int_equal(frag_destination_find(&d, rows[i].path), 0);
		assert_int_equal(d.fd, rows[i].fd);
		free(d.name);
	}
}

/* What stands behind a descriptor of somebody else, and has lost its name, is no new file. */
static void test_removed(void **state)
{
	char path[64];
	struct frag_output_path d;
	FILE *f = fopen(files_path(state, "file"), "w+");

	assert_non_null(f);
	assert_int_equal(unlink(files_path(state, "file")), 0);
	snprintf(path, sizeof(path), "/proc/self/task/%d/fd/%d", (int)getpid(), fileno(f));
	assert_int_equal(frag_destination_find(&d, path), ENOENT);
	free(d.name);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILES(test_links), FILES(test_loops), FILES(test_descriptors), FILES(test_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
