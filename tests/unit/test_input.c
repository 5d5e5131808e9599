/* test_input.c - a window that moves over a file, and where in the file it is. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/child.h"
#include "support/files.h"
#include "support/pack.h"
#include "support/random.h"
#include "support/unit.h"
#include "input/input.h"

#define FILES(test) cmocka_unit_test_setup_teardown(test, files_begin, files_end)

static struct frag_input opened(const char *path)
{
	struct frag_input in;

	assert_int_equal(frag_input_open(&in, path, NULL), 0);
	return in;
}

/* Text of lines, `mean` bytes long on average. */
static char *lines_of(size_t n, uint64_t mean, uint64_t seed)
{
	char *text = malloc(n + 1);

	assert_non_null(text);
	for (size_t i = 0; i < n; i++)
		text[i] = random_below(&seed, mean) ? (char)('a' + i % 26) : '\n';
	return text;
}

/* The place of a byte, counted from the file's first byte on. */
static void expect_where(struct frag_input *in, const char *text, size_t at)
{
	uint64_t offset = in->before + at, line = 1, column = 1;
	char want[4500], got[4500];

	for (uint64_t i = 0; i < offset; i++) {
		column = text[i] == '\n' ? 1 : column + 1;
		line += text[i] == '\n';
	}
	snprintf(want, sizeof(want), "%s:%" PRIu64 ":%" PRIu64, in->path, line, column);
	frag_input_where(in, at, true, got, sizeof(got));
	assert_string_equal(got, want);
}

static void expect_window(const struct frag_input *in, const char *text, size_t n)
{
	static const char zeros[FRAG_WINDOW_SLACK];

	assert_true(in->before + in->end <= n);
	assert_memory_equal(in->buf, text + in->before, in->end);
	assert_memory_equal(in->buf + in->end, zeros, FRAG_WINDOW_SLACK);
	assert_true(!in->eof || in->before + in->end == n);
}

/* Moves on by random amounts; the window shows the file's bytes of its place. */
static void walk(struct frag_input *in, const char *text, size_t n, uint64_t *random)
{
	int rc;

	do {
		size_t used = (size_t)random_below(random, in->end + 1);

		if (random_below(random, 4) == 0)
			used = in->end;
		rc = frag_input_fill(in, used, NULL);
		assert_in_range(rc, 0, 1);
		expect_window(in, text, n);
		if (in->end) {          /* in any order */
			expect_where(in, text, (size_t)random_below(random, in->end));
			expect_where(in, text, (size_t)random_below(random, in->end));
		}
		expect_where(in, text, in->end);
	} while (rc);
	assert_true(in->eof);
	assert_int_equal(frag_input_fill(in, 0, NULL), 0);
}

static void test_walk(void **state)
{
	static const size_t lengths[] = {
		0, 1, 100, FRAG_WINDOW_FIRST - 1, FRAG_WINDOW_FIRST, FRAG_WINDOW_FIRST + 1,
		2 * FRAG_WINDOW_FIRST, 5 * FRAG_WINDOW_FIRST + 77,
	};
	const char *path = files_path(state, "trace");
	uint64_t random = 6;

	for (uint32_t i = 0; i < LENGTH(lengths); i++) {
		char *text = lines_of(lengths[i], i % 2 ? 40 : 100000, i);
		char *packed = malloc(PACK_ROOM(lengths[i]));

		assert_non_null(packed);
		for (int kind = 0; kind < PACKS; kind++) {
			struct frag_input in;

			files_write(path, packed,
				    pack((enum pack)kind, packed, text, lengths[i]));
			in = opened(path);
			walk(&in, text, lengths[i], &random);
			assert_true(in.rewindable);
			assert_true(frag_input_rewind(&in));
			assert_int_equal(in.end, 0);
			walk(&in, text, lengths[i], &random);
			frag_input_close(&in);
		}
		free(packed);
		free(text);
	}
}

/* Where nothing can be dropped, the window widens and keeps what it has. */
static void test_widening(void **state)
{
	const char *path = files_path(state, "trace");
	size_t n = 4 * FRAG_WINDOW_FIRST + 5;
	char *text = lines_of(n, 50, 1);
	struct frag_input in;

	files_write(path, text, n);
	in = opened(path);
	for (size_t wide = FRAG_WINDOW_FIRST; wide < n; wide *= 2) {
		assert_int_equal(frag_input_fill(&in, 0, NULL), 1);
		assert_int_equal(in.end, wide);
		expect_window(&in, text, n);
	}
	assert_int_equal(frag_input_fill(&in, 0, NULL), 1);
	assert_int_equal(in.end, n);
	expect_window(&in, text, n);
	frag_input_close(&in);
	free(text);
}

/* A file of zeros without end: the window does not take all memory. */
static void test_too_wide(void **state)
{
	const char *path = files_path(state, "trace");
	struct frag_error err;
	struct frag_input in;
	int rc;

	files_write(path, "", 0);
	assert_int_equal(truncate(path, (off_t)FRAG_INPUT_WINDOW_MAX + 1), 0);
	in = opened(path);
	while ((rc = frag_input_fill(&in, 0, &err)) == 1)
		;
	assert_int_equal(rc, -FRAG_ETRACE);
	assert_non_null(strstr(err.message, "longer than 64 MiB"));
	assert_int_equal(in.end, FRAG_INPUT_WINDOW_MAX);
	frag_input_close(&in);
}

/* A file of one line has offsets, unless its reader knows that it is one of lines. */
static void test_one_line(void **state)
{
	const char *path = files_path(state, "trace");
	char got[4500], want[4500];
	struct frag_input in;

	files_write(path, "{\"a\":1}", 7);
	in = opened(path);
	assert_int_equal(frag_input_fill(&in, 0, NULL), 1);
	assert_int_equal(frag_input_fill(&in, 3, NULL), 0);
	frag_input_where(&in, 2, false, got, sizeof(got));
	snprintf(want, sizeof(want), "%s: byte 5", path);
	assert_string_equal(got, want);
	frag_input_where(&in, 2, true, got, sizeof(got));
	snprintf(want, sizeof(want), "%s:1:6", path);
	assert_string_equal(got, want);
	frag_input_close(&in);

	files_write(path, "{\n}", 3);
	in = opened(path);
	assert_int_equal(frag_input_fill(&in, 0, NULL), 1);
	frag_input_where(&in, 2, false, got, sizeof(got));
	snprintf(want, sizeof(want), "%s:2:1", path);
	assert_string_equal(got, want);
	frag_input_where(&in, 0, false, got, sizeof(got));
	snprintf(want, sizeof(want), "%s:1:1", path);
	assert_string_equal(got, want);
	frag_input_close(&in);
}

static void test_refused_paths(void **state)
{
	static const char *const names[] = { "missing", "missing/file" };
	struct frag_error err;
	struct frag_input in;

	for (uint32_t i = 0; i < LENGTH(names); i++) {
		const char *path = files_path(state, names[i]);

		assert_int_equal(frag_input_open(&in, path, &err), -FRAG_ETRACE);
		assert_memory_equal(err.message, path, strlen(path));
		assert_non_null(strstr(err.message, "No such file"));
	}
	in = opened(*state);            /* a folder opens, but cannot be read */
	assert_int_equal(frag_input_fill(&in, 0, &err), -FRAG_ETRACE);
	assert_non_null(strstr(err.message, "Is a directory"));
	frag_input_close(&in);
}

static void test_amount(void **state)
{
	const char *path = files_path(state, "trace");
	uint64_t read, total;
	struct frag_input in;

	files_write(path, "0123456789", 10);
	in = opened(path);
	frag_input_amount(&in, &read, &total);
	assert_int_equal(read, 0);
	assert_int_equal(total, 10);
	assert_int_equal(frag_input_fill(&in, 0, NULL), 1);
	frag_input_amount(&in, &read, &total);
	assert_int_equal(read, 10);
	frag_input_close(&in);
}

/* Of a pipe, what is there is shown before more is waited for. */
static int read_pipe(void)
{
	struct frag_input in;
	int ends[2], bad = 0;

	if (pipe(ends) || dup2(ends[0], STDIN_FILENO) < 0 || frag_input_open(&in, "-", NULL))
		return 50;
	bad |= in.rewindable || strcmp(in.path, "standard input") != 0;
	bad |= (write(ends[1], "first", 5) != 5) << 1;
	bad |= (frag_input_fill(&in, 0, NULL) != 1 || in.end != 5 || in.eof) << 2;
	bad |= (write(ends[1], "second", 6) != 6) << 1;
	close(ends[1]);
	bad |= (frag_input_fill(&in, 4, NULL) != 1 || in.end != 7
		|| memcmp(in.buf, "tsecond", 8) != 0) << 3;
	bad |= (frag_input_fill(&in, 7, NULL) != 0 || !in.eof || frag_input_rewind(&in)) << 4;
	frag_input_close(&in);
	return bad;
}

static void test_pipe(void **state)
{
	(void)state;
	assert_int_equal(child_run(read_pipe), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILES(test_walk),
		FILES(test_widening),
		FILES(test_too_wide),
		FILES(test_one_line),
		FILES(test_refused_paths),
		FILES(test_amount),
		cmocka_unit_test(test_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
