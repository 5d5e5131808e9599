/*
 * test_input_unpack.c - plain, gzip and zstd bytes come out whole, or are refused: what
 * is damaged anywhere never passes for something else.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/files.h"
#include "support/pack.h"
#include "support/random.h"
#include "support/unit.h"
#include "input/input.h"

#define FILES(test) cmocka_unit_test_setup_teardown(test, files_begin, files_end)

/* Text with long and short repetitions, so that packing does something. */
static char *text_of(size_t n)
{
	char *text = malloc(n + 1);
	uint64_t random = n;

	assert_non_null(text);
	for (size_t i = 0; i < n; i++)
		text[i] = i > 50 && i % 1000 < 700 ? text[i - 37]
						   : (char)('!' + random_below(&random, 90));
	return text;
}

static struct frag_unpacker *open_fd(int fd)
{
	struct frag_unpacker *u;

	assert_true(fd >= 0);
	assert_int_equal(frag_unpacker_new(&u, fd, "file", NULL), 0);
	return u;
}

/* Reads all, `room` bytes at most at a time: 0 or an error; *n: how many came. `to` has
 * room for one more than there should be. */
static int read_all(struct frag_unpacker *u, char *to, size_t max, size_t room, size_t *n,
		    struct frag_error *err)
{
	size_t got = 1;
	int rc = 0;

	*n = 0;
	while (!rc && got) {
		size_t left = max + 1 - *n;

		assert_true(*n <= max);
		rc = frag_unpacker_read(u, to + *n, room < left ? room : left, &got, err);
		assert_true(got <= room);
		*n += rc ? 0 : got;
	}
	return rc;
}

static void expect_text(struct frag_unpacker *u, const char *text, size_t n, size_t room)
{
	char *got = malloc(n + 1);
	size_t length;

	assert_non_null(got);
	assert_int_equal(read_all(u, got, n, room, &length, NULL), 0);
	assert_int_equal(length, n);
	assert_memory_equal(got, text, n);
	free(got);
}

/* Lengths about the buffer's own (128 KiB), and rooms smaller and larger than it. */
static void test_lengths(void **state)
{
	static const size_t lengths[] = {
		0, 1, 2, 3, 4, 5, 4095, 65536, 131071, 131072, 131073, 131076, 262144, 300001,
	};
	static const size_t rooms[] = { 997, 131071, 131072, 1 << 20 };
	const char *path = files_path(state, "trace");

	for (uint32_t i = 0; i < LENGTH(lengths); i++) {
		char *text = text_of(lengths[i]);
		char *packed = malloc(PACK_ROOM(lengths[i]));

		assert_non_null(packed);
		for (int kind = 0; kind < PACKS; kind++) {
			size_t n = pack((enum pack)kind, packed, text, lengths[i]);

			files_write(path, packed, n);
			for (uint32_t k = 0; k < LENGTH(rooms); k++) {
				struct frag_unpacker *u = open_fd(open(path, O_RDONLY));

				expect_text(u, text, lengths[i], rooms[k]);
				frag_unpacker_del(u);
			}
		}
		free(packed);
		free(text);
	}
}

static const size_t member_lengths[] = { 100, 0, 1, 300, 0 };

/* Members in a row; where[i] is the first byte behind member i, text_at[i] likewise. */
static size_t pack_members(enum pack kind, char *to, const char *text, size_t *where,
			   size_t *text_at)
{
	size_t n = 0, done = 0;

	for (uint32_t i = 0; i < LENGTH(member_lengths); i++) {
		n += pack(kind, to + n, text + done, member_lengths[i]);
		done += member_lengths[i];
		where[i] = n;
		text_at[i] = done;
	}
	return n;
}

/* Every length that a file of members can be cut to: good at their ends only. */
static void test_truncation(void **state)
{
	const char *path = files_path(state, "trace");
	char *text = text_of(401), packed[4096], got[1024];
	size_t where[LENGTH(member_lengths)], text_at[LENGTH(member_lengths)];

	for (int kind = PACK_GZIP; kind < PACKS; kind++) {
		size_t n = pack_members((enum pack)kind, packed, text, where, text_at);
		size_t magic = kind == PACK_GZIP ? 2 : 4;

		for (size_t cut = 0; cut <= n; cut++) {
			struct frag_unpacker *u;
			struct frag_error err = { .code = 0 };
			size_t length, whole = SIZE_MAX;
			int rc;

			files_write(path, packed, cut);
			u = open_fd(open(path, O_RDONLY));
			rc = read_all(u, got, sizeof(got) - 1, 64, &length, &err);
			frag_unpacker_del(u);
			for (uint32_t i = 0; i < LENGTH(where); i++)
				if (where[i] == cut)
					whole = text_at[i];
			if (cut < magic) {      /* nothing shows yet that it is packed */
				assert_int_equal(rc, 0);
				assert_int_equal(length, cut);
			} else if (whole != SIZE_MAX) {
				assert_int_equal(rc, 0);
				assert_int_equal(length, whole);
				assert_memory_equal(got, text, whole);
			} else {
				assert_int_equal(rc, -FRAG_ETRACE);
				assert_non_null(strstr(err.message, "file: damaged "));
				assert_memory_equal(got, text, length);
			}
		}
	}
	free(text);
}

/* Every bit behind the magic bytes turned over: refused, or it did not matter. */
static void test_corruption(void **state)
{
	const char *path = files_path(state, "trace");
	char *text = text_of(300), packed[1024], got[4096];
	uint32_t refused = 0;

	for (int kind = PACK_GZIP; kind < PACKS; kind++) {
		size_t n = pack((enum pack)kind, packed, text, 300);

		for (size_t bit = kind == PACK_GZIP ? 16 : 32; bit < n * 8; bit++) {
			struct frag_unpacker *u;
			size_t length;
			int rc;

			packed[bit / 8] ^= (char)(1 << bit % 8);
			files_write(path, packed, n);
			packed[bit / 8] ^= (char)(1 << bit % 8);
			u = open_fd(open(path, O_RDONLY));
			rc = read_all(u, got, sizeof(got) - 1, 4096, &length, NULL);
			frag_unpacker_del(u);
			refused += rc == -FRAG_ETRACE;
			if (!rc) {
				assert_int_equal(length, 300);
				assert_memory_equal(got, text, 300);
			}
		}
		/* the checksum's 32 bits at least; gzip's header has some that are free */
		assert_true(refused >= 32);
		refused = 0;
	}
	free(text);
}

/* What may follow what: the same kind, and nothing else. */
static void test_neighbours(void **state)
{
	static const char skippable[] = "\x53\x2a\x4d\x18\x03\0\0\0abc";
	const char *path = files_path(state, "trace");

	for (int first = PACK_GZIP; first < PACKS; first++) {
		for (int second = 0; second < PACKS; second++) {
			char packed[512], got[64];
			size_t n = pack((enum pack)first, packed, "one ", 4), length;
			struct frag_unpacker *u;
			int rc;

			n += pack((enum pack)second, packed + n, "two two", 7);
			files_write(path, packed, n);
			u = open_fd(open(path, O_RDONLY));
			rc = read_all(u, got, sizeof(got) - 1, 64, &length, NULL);
			frag_unpacker_del(u);
			assert_int_equal(rc, first == second ? 0 : -FRAG_ETRACE);
			assert_int_equal(length, first == second ? 11 : 4);
			assert_memory_equal(got, "one two two", length);
		}
	}
	for (uint32_t places = 1; places < 4; places++) {       /* before, behind, both */
		char packed[512];
		size_t n = 0;
		struct frag_unpacker *u;

		for (uint32_t place = 0; place < 3; place++) {
			if (place == 1)
				n += pack(PACK_ZSTD, packed + n, "text", 4);
			if (!(places & 1U << place / 2) || place == 1)
				continue;
			memcpy(packed + n, skippable, sizeof(skippable) - 1);
			n += sizeof(skippable) - 1;
		}
		files_write(path, packed, n);
		u = open_fd(open(path, O_RDONLY));
		expect_text(u, "text", 4, 64);
		frag_unpacker_del(u);
	}
}

/* Bytes that only look packed further in are plain. */
static void test_plain_is_plain(void **state)
{
	static const char *const texts[] = {
		"\x1f", "\x1f\x8c gzip?", "\x28\xb5\x2f\xfc", "\x28\xb5\x2f", "x\x1f\x8b\x08",
		"\x50\x2a\x4d", "\x60\x2a\x4d\x18",
	};
	const char *path = files_path(state, "trace");

	for (uint32_t i = 0; i < LENGTH(texts); i++) {
		struct frag_unpacker *u;

		files_write(path, texts[i], strlen(texts[i]));
		u = open_fd(open(path, O_RDONLY));
		expect_text(u, texts[i], strlen(texts[i]), 64);
		frag_unpacker_del(u);
	}
}

/* A producer that hands over one byte at a time: a socket keeps the pieces apart. */
static void test_byte_by_byte(void **state)
{
	(void)state;
	for (int kind = 0; kind < PACKS; kind++) {
		char packed[256];
		size_t n = pack((enum pack)kind, packed, "a short text", 12);
		uint64_t read, total;
		struct frag_unpacker *u;
		int ends[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(send(ends[1], packed + i, 1, MSG_DONTWAIT), 1);
		close(ends[1]);
		u = open_fd(ends[0]);
		assert_false(frag_unpacker_rewindable(u));
		assert_false(frag_unpacker_rewind(u));
		expect_text(u, "a short text", 12, 64);
		frag_unpacker_amount(u, &read, &total);
		assert_int_equal(read, n);
		assert_int_equal(total, 0);
		frag_unpacker_del(u);
	}
}

/* Members in a row, of which a pipe hands over pieces of a few bytes, and little is taken at a time. */
static void test_pieces(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (uint32_t round = 0; round < repeats(400, 4000); round++) {
		char packed[4096], *text = text_of(2000);
		const enum pack kind = round % 8 ? PACK_GZIP : PACK_ZSTD;
		const size_t most = 1 + random_below(&random, 40), room = 1 + random_below(&random, 70);
		size_t n = 0, length = 0;
		struct frag_unpacker *u;
		int ends[2];

		while (n < 120) {
			const size_t more = random_below(&random, random_below(&random, 100) + 1);

			n += pack(kind, packed + n, text + length, more);
			length += more;
		}
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
		for (size_t i = 0, piece; i < n; i += piece) {
			piece = 1 + random_below(&random, most);
			piece = piece < n - i ? piece : n - i;
			assert_int_equal(send(ends[1], packed + i, piece, MSG_DONTWAIT), piece);
		}
		close(ends[1]);
		u = open_fd(ends[0]);
		expect_text(u, text, length, room);
		frag_unpacker_del(u);
		free(text);
	}
}

/* Members about as long as the buffer, so that they end near its end. */
static void test_long_members(void **state)
{
	const char *path = files_path(state, "trace");
	char *text = text_of(700000), *packed = malloc(4 * PACK_ROOM(700000));
	uint64_t random = 2;

	assert_non_null(packed);
	for (uint32_t round = 0; round < repeats(60, 600); round++) {
		size_t n = 0, length = 0;
		struct frag_unpacker *u;

		for (uint32_t i = 0; i < 4; i++) {
			const size_t more = random_below(&random, 2) ? random_below(&random, 20)
								     : 170000 + random_below(&random, 100);

			n += pack(PACK_GZIP, packed + n, text + length, more);
			length += more;
		}
		files_write(path, packed, n);
		u = open_fd(open(path, O_RDONLY));
		expect_text(u, text, length, 1 + random_below(&random, 3000));
		frag_unpacker_del(u);
	}
	free(packed);
	free(text);
}

/* From any place back to where the descriptor stood at first. */
static void test_rewind(void **state)
{
	const char *path = files_path(state, "trace");
	char *text = text_of(400000), *packed = malloc(10 + PACK_ROOM(400000));

	assert_non_null(packed);
	memcpy(packed, "0123456789", 10);
	for (int kind = 0; kind < PACKS; kind++) {
		size_t n = pack((enum pack)kind, packed + 10, text, 400000), got;
		uint64_t read, total;
		struct frag_unpacker *u;
		char some[5000];
		int fd;

		files_write(path, packed, 10 + n);
		fd = open(path, O_RDONLY);
		assert_int_equal(lseek(fd, 10, SEEK_SET), 10);
		u = open_fd(fd);
		assert_true(frag_unpacker_rewindable(u));
		for (uint32_t reads = 0; reads < 40; reads += 13) {
			for (uint32_t i = 0; i < reads; i++)
				assert_int_equal(frag_unpacker_read(u, some, sizeof(some), &got,
								    NULL), 0);
			assert_true(frag_unpacker_rewind(u));
			expect_text(u, text, 400000, 1 << 18);
			frag_unpacker_amount(u, &read, &total);
			assert_int_equal(read, n);
			assert_int_equal(total, n);
			assert_true(frag_unpacker_rewind(u));
		}
		frag_unpacker_del(u);
	}
	free(packed);
	free(text);
}

static void test_unreadable(void **state)
{
	struct frag_unpacker *u = open_fd(open(*state, O_RDONLY));
	struct frag_error err;
	size_t got;
	char byte;

	assert_int_equal(frag_unpacker_read(u, &byte, 1, &got, &err), -FRAG_ETRACE);
	assert_string_equal(err.message, "file: Is a directory");
	frag_unpacker_del(u);
	frag_unpacker_del(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILES(test_lengths),
		FILES(test_truncation),
		FILES(test_corruption),
		FILES(test_neighbours),
		FILES(test_plain_is_plain),
		FILES(test_byte_by_byte),
		FILES(test_pieces),
		FILES(test_long_members),
		FILES(test_rewind),
		FILES(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
