/* test_atomic_file.c - an output file is whole, or what was there before is unharmed. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "support/child.h"
#include "support/files.h"
#include "support/random.h"
#include "support/unit.h"

#define FILES(test) cmocka_unit_test_setup_teardown(test, files_begin, files_end)

static struct frag_outfile opened(const char *path)
{
	struct frag_outfile f;
	struct frag_error err;

	assert_int_equal(frag_outfile_open(&f, path, &err), 0);
	return f;
}

static void write_text(struct frag_outfile *f, const char *text)
{
	frag_outfile_write(f, text, strlen(text));
}

static void commit(struct frag_outfile *f)
{
	struct frag_error err;

	assert_int_equal(frag_outfile_status(f, &err), 0);
	assert_int_equal(frag_outfile_commit(f, &err), 0);
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void test_new_file(void **state)
{
	const char *path = files_path(state, "new");
	mode_t mask = umask(027);
	struct frag_outfile f = opened(path);

	write_text(&f, "one\n");
	assert_int_not_equal(access(path, F_OK), 0);    /* not before it is whole */
	write_text(&f, "two\n");
	commit(&f);
	umask(mask);
	assert_true(files_holds(path, "one\ntwo\n"));
	assert_int_equal(mode_of(path), 0640);
	assert_int_equal(files_count(state), 1);
	frag_outfile_abandon(&f);                       /* fine on a committed one */
	assert_true(files_holds(path, "one\ntwo\n"));
}

/* Replaced in one go: whoever has the old file open still reads the old bytes. */
static void test_replace(void **state)
{
	const char *path = files_path(state, "old");
	char old[4] = "";
	struct frag_outfile f;
	int reader;

	files_write(path, "old", 3);
	assert_int_equal(chmod(path, 0604), 0);
	reader = open(path, O_RDONLY);
	f = opened(path);
	write_text(&f, "new");
	assert_true(files_holds(path, "old"));
	commit(&f);
	assert_true(files_holds(path, "new"));
	assert_int_equal(mode_of(path), 0604);
	assert_int_equal(read(reader, old, 3), 3);
	assert_string_equal(old, "old");
	close(reader);
	assert_int_equal(files_count(state), 1);
}

static void test_abandon(void **state)
{
	const char *path = files_path(state, "old");
	struct frag_outfile f, zero = { .path = NULL };

	files_write(path, "old", 3);
	f = opened(path);
	write_text(&f, "new");
	frag_outfile_abandon(&f);
	frag_outfile_abandon(&f);
	frag_outfile_abandon(&zero);
	assert_true(files_holds(path, "old"));
	f = opened(files_path(state, "another"));
	frag_outfile_abandon(&f);
	assert_int_equal(files_count(state), 1);
}

/* The file that a link names is replaced, not the link. */
static void test_link(void **state)
{
	const char *path = files_path(state, "real"), *link = files_path(state, "link");
	struct frag_outfile f;
	struct stat st;

	files_write(path, "old", 3);
	assert_int_equal(symlink("real", link), 0);
	f = opened(link);
	write_text(&f, "new");
	commit(&f);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_true(files_holds(path, "new"));
	assert_int_equal(files_count(state), 2);
}

/* The disk is full after 100,000 bytes: a limit of the process stands in for it. */
static bool full_disk(const char *path, size_t piece, struct frag_error *err)
{
	static char bytes[1 << 20];
	const struct rlimit few = { .rlim_cur = 100000, .rlim_max = RLIM_INFINITY };
	const struct rlimit any = { .rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY };
	struct frag_outfile f = opened(path);
	bool stuck;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
	for (size_t n = 0; n < sizeof(bytes); n += piece)
		frag_outfile_write(&f, bytes, piece);
	setrlimit(RLIMIT_FSIZE, &any);
	stuck = frag_outfile_status(&f, NULL) == -FRAG_EOUTPUT;
	write_text(&f, "room again, but too late");
	return stuck && frag_outfile_commit(&f, err) == -FRAG_EOUTPUT;
}

static void test_full_disk(void **state)
{
	static const size_t pieces[] = { 1 << 10, 1 << 18, 1 << 20 };
	const char *path = files_path(state, "old");
	struct frag_error err;

	files_write(path, "old", 3);
	for (uint32_t i = 0; i < LENGTH(pieces); i++) {
		assert_true(full_disk(path, pieces[i], &err));
		assert_memory_equal(err.message, path, strlen(path));
		assert_true(files_holds(path, "old"));
		assert_int_equal(files_count(state), 1);
	}
	assert_true(full_disk(files_path(state, "new"), 4096, &err));
	assert_int_equal(files_count(state), 1);
}

/* The last bytes are written by the commit only: its failure counts as well. */
static void test_failing_commit(void **state)
{
	const char *path = files_path(state, "path");
	struct frag_error err;
	struct frag_outfile f = opened(path);

	write_text(&f, "text");
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(frag_outfile_commit(&f, &err), -FRAG_EOUTPUT);
	assert_int_equal(files_count(state), 1);
	assert_int_equal(rmdir(path), 0);
	f = opened("/dev/full");
	write_text(&f, "text");
	assert_int_equal(frag_outfile_status(&f, &err), 0);
	assert_int_equal(frag_outfile_commit(&f, &err), -FRAG_EOUTPUT);
	assert_string_equal(err.message, "/dev/full: No space left on device");
}

static void test_refused_paths(void **state)
{
	static const char *const names[] = { ".", "missing/file", "file/below" };
	struct frag_outfile f;
	struct frag_error err;

	files_write(files_path(state, "file"), "", 0);
	for (uint32_t i = 0; i < LENGTH(names); i++) {
		const char *path = files_path(state, names[i]);

		assert_int_equal(frag_outfile_open(&f, path, &err), -FRAG_EOUTPUT);
		assert_memory_equal(err.message, path, strlen(path));
		frag_outfile_abandon(&f);
	}
	assert_int_equal(frag_outfile_open(&f, "", &err), -FRAG_EOUTPUT);
	assert_int_equal(files_count(state), 1);
	if (geteuid() == 0)
		return;                 /* to whom nothing is forbidden */
	assert_int_equal(chmod(files_path(state, "file"), 0400), 0);
	assert_int_equal(frag_outfile_open(&f, files_path(state, "file"), &err), -FRAG_EOUTPUT);
	assert_int_equal(files_count(state), 1);
}

static void test_gone_reader(void **state)
{
	const char *path = files_path(state, "pipe");
	struct frag_outfile f;
	struct frag_error err;
	char got[8] = "";
	int reader;

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(mkfifo(path, 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	f = opened(path);
	write_text(&f, "text");
	commit(&f);                     /* a pipe is written as it comes, and stays one */
	assert_int_equal(read(reader, got, 8), 4);
	assert_string_equal(got, "text");
	f = opened(path);
	write_text(&f, "text");
	close(reader);
	assert_int_equal(frag_outfile_commit(&f, &err), -FRAG_EPIPE);
	assert_int_equal(files_count(state), 1);
}

static const char *captured;

/* Standard output stays open for whoever else writes to it. */
static int write_standard_output(void)
{
	struct frag_outfile f;

	if (!freopen(captured, "w", stdout) || frag_outfile_open(&f, "-", NULL))
		return 1;
	write_text(&f, "first ");
	if (frag_outfile_commit(&f, NULL))
		return 2;
	frag_outfile_abandon(&f);
	return write(STDOUT_FILENO, "second", 6) == 6 ? 0 : 3;
}

static void test_standard_output(void **state)
{
	captured = files_path(state, "captured");
	assert_int_equal(child_run(write_standard_output), 0);
	assert_true(files_holds(captured, "first second"));
	assert_int_equal(files_count(state), 1);
}

/* Lengths about the buffer's own, by both doors: every byte in its place. */
static void test_lengths(void **state)
{
	static const size_t lengths[] = {
		0, 1, 7, FRAG_OUT_BUFFER / 2, FRAG_OUT_BUFFER - 1, FRAG_OUT_BUFFER,
		FRAG_OUT_BUFFER + 1, 3 * FRAG_OUT_BUFFER,
	};
	const char *path = files_path(state, "long");
	size_t room = 64 * FRAG_OUT_BUFFER, n = 0, got;
	char *want = malloc(room), *text;
	struct frag_outfile f = opened(path);
	uint64_t random = 8;

	assert_non_null(want);
	for (uint32_t i = 0; i < 40; i++) {
		size_t length = lengths[random_below(&random, LENGTH(lengths))];

		if (n + length > room)
			break;
		for (size_t k = 0; k < length; k++)
			want[n + k] = (char)random_u64(&random);
		if (i % 2) {
			frag_outfile_write(&f, want + n, length);
		} else {
			char *to = frag_outfile_room(&f, length + 100);

			assert_non_null(to);
			memset(to, '#', length + 100);  /* room may be left unused */
			memcpy(to, want + n, length);
			frag_outfile_used(&f, to + length);
		}
		n += length;
	}
	commit(&f);
	text = files_read(path, &got);
	assert_int_equal(got, n);
	assert_memory_equal(text, want, n);
	free(text);
	free(want);
}

/* What was spooled follows what was written, in the order of the appends. */
static void test_spools(void **state)
{
	const char *path = files_path(state, "whole");
	struct frag_outfile f = opened(path), spools[3];
	struct frag_error err;
	char line[32];
	char *text, *p;
	size_t n;

	for (uint32_t i = 0; i < LENGTH(spools); i++)
		assert_int_equal(frag_outfile_spool(&spools[i], &f, &err), 0);
	assert_int_equal(files_count(state), 1);        /* they have no names */
	for (uint32_t k = 0; k < 40000; k++)
		for (uint32_t i = 0; i < LENGTH(spools); i++) {
			snprintf(line, sizeof(line), "%u %u\n", i, k);
			write_text(&spools[i], line);
		}
	write_text(&f, "head\n");
	for (uint32_t i = 0; i < LENGTH(spools); i++)
		assert_int_equal(frag_outfile_append(&f, &spools[i], &err), 0);
	write_text(&f, "tail\n");
	commit(&f);
	text = files_read(path, &n);
	assert_non_null(text);
	assert_memory_equal(text, "head\n", 5);
	p = text + 5;
	for (uint32_t i = 0; i < LENGTH(spools); i++)
		for (uint32_t k = 0; k < 40000; k++) {
			int length = snprintf(line, sizeof(line), "%u %u\n", i, k);

			assert_memory_equal(p, line, (size_t)length);
			p += length;
		}
	assert_string_equal(p, "tail\n");
	free(text);
	assert_int_equal(files_count(state), 1);
}

/* Of what has no place beside it, a pipe say, the spool lies in TMPDIR, without a name. */
static void test_spool_of_a_device(void **state)
{
	struct frag_outfile f = opened("/dev/null"), spool;
	const char *before = getenv("TMPDIR");
	char *kept = before ? strdup(before) : NULL;
	struct frag_error err;

	assert_int_equal(setenv("TMPDIR", *state, 1), 0);
	assert_int_equal(frag_outfile_spool(&spool, &f, &err), 0);
	write_text(&spool, "text");
	assert_int_equal(frag_outfile_append(&f, &spool, &err), 0);
	assert_int_equal(setenv("TMPDIR", files_path(state, "missing"), 1), 0);
	assert_int_equal(frag_outfile_spool(&spool, &f, &err), -FRAG_EOUTPUT);
	if (kept)
		setenv("TMPDIR", kept, 1);
	else
		unsetenv("TMPDIR");
	free(kept);
	commit(&f);
	assert_int_equal(files_count(state), 0);
}

/* The last one cannot take its place: the others come back, as they were or not at all. */
static void test_all_or_none(void **state)
{
	const char *old = files_path(state, "old"), *fresh = files_path(state, "fresh");
	const char *blocked = files_path(state, "blocked");
	struct frag_outfile a, b, c, none = { .path = NULL };
	struct frag_outfile *const files[] = { &a, &none, &b, &c };
	struct frag_error err;

	files_write(old, "before", 6);
	assert_int_equal(chmod(old, 0640), 0);
	for (int round = 0; round < 2; round++) {
		a = opened(old);
		b = opened(fresh);
		c = opened(blocked);
		write_text(&a, "a");
		write_text(&b, "b");
		write_text(&c, "c");
		if (round == 0)
			assert_int_equal(mkdir(blocked, 0700), 0);
		assert_int_equal(frag_outfile_commit_all(files, 4, &err),
				 round == 0 ? -FRAG_EOUTPUT : 0);
		assert_true(files_holds(old, round == 0 ? "before" : "a"));
		assert_int_equal(mode_of(old), 0640);
		if (round == 0) {
			assert_non_null(strstr(err.message, "blocked"));
			assert_int_equal(access(fresh, F_OK), -1);
			assert_int_equal(files_count(state), 2);
			assert_int_equal(rmdir(blocked), 0);
			continue;
		}
		assert_true(files_holds(fresh, "b"));
		assert_true(files_holds(blocked, "c"));
		assert_int_equal(files_count(state), 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILES(test_new_file),
		FILES(test_replace),
		FILES(test_abandon),
		FILES(test_link),
		FILES(test_full_disk),
		FILES(test_failing_commit),
		FILES(test_all_or_none),
		FILES(test_refused_paths),
		FILES(test_gone_reader),
		FILES(test_standard_output),
		FILES(test_lengths),
		FILES(test_spools),
		FILES(test_spool_of_a_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
