/* input.c - a window over the bytes of a trace, and whole inputs in memory. */
#include "input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/atomic_file.h"
#include "base/word64.h"
#include "input/unpack.h"

/*
 * The unpacker takes the descriptor over, also where it fails; so closing the
 * input undoes whatever was reached.
 */
int frag_input_open(struct frag_input *in, const char *path, struct frag_error *err)
{
	bool standard = strcmp(path, "-") == 0;
	int fd, rc;

	*in = (struct frag_input){ .capacity = FRAG_WINDOW_FIRST };
	in->path = strdup(frag_input_name(path));
	in->buf = malloc(in->capacity + FRAG_WINDOW_SLACK);
	if (!in->path || !in->buf) {
		frag_input_close(in);
		return frag_fail_nomem(err);
	}
	fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		rc = frag_fail(err, errno == EINTR ? FRAG_EINTERRUPTED : FRAG_ETRACE, "%s: %s",
			       in->path, strerror(errno));
	else
		rc = frag_unpacker_new(&in->unpacker, fd, in->path, err);
	if (rc) {
		frag_input_close(in);
		return rc;
	}
	in->rewindable = frag_unpacker_rewindable(in->unpacker);
	memset(in->buf, 0, FRAG_WINDOW_SLACK);
	return 0;
}

void frag_input_close(struct frag_input *in)
{
	frag_unpack_ahead_del(in->ahead);
	frag_unpacker_del(in->unpacker);
	free(in->path);
	free(in->buf);
	*in = (struct frag_input){ .path = NULL };
}

/* Sixteen bytes, a vector of GCC and clang. */
typedef unsigned char bytes16 __attribute__((vector_size(16)));

static uint64_t count_lines(const char *p, size_t n)
{
	uint64_t lines = 0;

	while (n >= sizeof(bytes16)) {
		size_t rounds = n / sizeof(bytes16) < 255 ? n / sizeof(bytes16) : 255;
		bytes16 sums = { 0 }, v;        /* of each place, which holds 255 of them */

		for (n -= rounds * sizeof(v); rounds; rounds--, p += sizeof(v)) {
			memcpy(&v, p, sizeof(v));
			sums -= (bytes16)(v == '\n');   /* true is -1 */
		}
		for (size_t i = 0; i < sizeof(sums); i++)
			lines += sums[i];
	}
	while (n--)
		lines += *p++ == '\n';
	return lines;
}

static const char *last_line_end(const char *p, size_t n)
{
	while (n > 0)
		if (p[--n] == '\n')
			return p + n;
	return NULL;
}

/* Lines up to window byte `at`, on from the place that was requested for last. */
static void count_to(struct frag_input *in, size_t at)
{
	const char *last;

	if (at < in->counted) {
		in->counted = 0;
		in->lines = in->lines_before;
		in->start = in->line_start;
	}
	last = last_line_end(in->buf + in->counted, at - in->counted);
	if (last) {
		in->lines += count_lines(in->buf + in->counted, at - in->counted);
		in->start = in->before + (uint64_t)(last - in->buf) + 1;
	}
	in->counted = at;
}

static void input_drop(struct frag_input *in, size_t used)
{
	if (!in->by_byte) {
		count_to(in, used);
		in->lines_before = in->lines;
		in->line_start = in->start;
		in->counted = 0;
	}
	memmove(in->buf, in->buf + used, in->end - used);
	in->before += used;
	in->end -= used;
}

static int input_widen(struct frag_input *in, struct frag_error *err)
{
	char *wider;

	if (in->capacity >= FRAG_INPUT_WINDOW_MAX)
		return frag_fail(err, FRAG_ETRACE,
				 "%s: byte %" PRIu64 ": an event or member longer than %zu MiB",
				 in->path, in->before, FRAG_INPUT_WINDOW_MAX >> 20);
	wider = realloc(in->buf, in->capacity * 2 + FRAG_WINDOW_SLACK);
	if (!wider)
		return frag_fail_nomem(err);
	in->buf = wider;
	in->capacity *= 2;
	return 0;
}

bool frag_input_hurry(struct frag_input *in)
{
	if (in->rewindable && !in->ahead && frag_unpacker_packed(in->unpacker))
		in->ahead = frag_unpack_ahead_new(in->unpacker);
	return frag_unpacker_abandonable(in->unpacker);
}

void frag_input_abandon(struct frag_input *in)
{
	frag_unpacker_abandon(in->unpacker);
}

static int read_bytes(struct frag_input *in, size_t *got, struct frag_error *err)
{
	char *to = in->buf + in->end;
	const size_t room = in->capacity - in->end;

	return in->ahead ? frag_unpack_ahead_read(in->ahead, to, room, got, err)
			 : frag_unpacker_read(in->unpacker, to, room, got, err);
}

/*
 * A file fills the window. Of a pipe one read is enough: waiting for more would
 * hold back events that are there already.
 */
int frag_input_fill(struct frag_input *in, size_t used, struct frag_error *err)
{
	size_t got = 0, before;
	int rc = 0;

	FRAG_ASSERT(used <= in->end);
	input_drop(in, used);
	before = in->end;
	if (in->end == in->capacity && !in->eof)
		rc = input_widen(in, err);
	while (!rc && !in->eof && in->end < in->capacity) {
		rc = read_bytes(in, &got, err);
		in->eof = !rc && got == 0;
		in->end += got;
		/* of a pipe, the available bytes suffice */
		if (!in->rewindable && got)
			break;
	}
	memset(in->buf + in->end, 0, FRAG_WINDOW_SLACK);
	return rc ? rc : in->end > before;
}

bool frag_input_rewind(struct frag_input *in)
{
	frag_unpack_ahead_del(in->ahead);
	in->ahead = NULL;
	if (!frag_unpacker_rewind(in->unpacker))
		return false;
	in->end = 0;
	in->before = in->lines_before = in->line_start = 0;
	in->counted = 0;
	in->lines = in->start = 0;
	in->eof = false;
	memset(in->buf, 0, FRAG_WINDOW_SLACK);
	return true;
}

void frag_input_amount(const struct frag_input *in, uint64_t *read, uint64_t *total)
{
	if (in->ahead)
		frag_unpack_ahead_amount(in->ahead, read, total);
	else
		frag_unpacker_amount(in->unpacker, read, total);
}

uint64_t frag_kept_max(uint64_t file)
{
	if (file >= (FRAG_KEPT_MAX - FRAG_KEPT_MIN) / FRAG_KEPT_A_BYTE)
		return FRAG_KEPT_MAX;
	return FRAG_KEPT_MIN + file * FRAG_KEPT_A_BYTE;
}

int frag_kept_too_much(const char *path, uint64_t file, struct frag_error *err)
{
	const uint64_t max = frag_kept_max(file);

	if (max == FRAG_KEPT_MAX)
		return frag_fail(err, FRAG_ETRACE, "%s: would take more than %" PRIu64 " GiB of"
				 " memory", path, max >> 30);
	return frag_fail(err, FRAG_ETRACE, "%s: would take more than %" PRIu64 " MiB of memory,"
			 " too much for a file of %" PRIu64 " bytes (256 MiB, and %u times the"
			 " file): unpack it first if it is a real one", path, max >> 20, file,
			 FRAG_KEPT_A_BYTE);
}

uint64_t frag_input_bytes(const struct frag_input *in)
{
	uint64_t read, total;

	frag_input_amount(in, &read, &total);
	return read > total ? read : total;
}

int frag_input_afford(const struct frag_input *in, uint64_t bytes, struct frag_error *err)
{
	const uint64_t file = frag_input_bytes(in);

	return bytes <= frag_kept_max(file) ? 0 : frag_kept_too_much(in->path, file, err);
}

void frag_input_where(struct frag_input *in, size_t at, bool by_line, char *buf, uint32_t size)
{
	uint64_t line;

	FRAG_ASSERT(at <= in->end);
	count_to(in, at);
	line = in->lines + 1;
	if (!by_line && line == 1 && !memchr(in->buf + at, '\n', in->end - at))
		snprintf(buf, size, "%s: byte %" PRIu64, in->path, in->before + at);
	else
		snprintf(buf, size, "%s:%" PRIu64 ":%" PRIu64, in->path, line,
			 in->before + at - in->start + 1);
}

void frag_whole_fini(struct frag_whole *w)
{
	free(w->path);
	free(w->bytes);
	*w = (struct frag_whole){ .path = NULL };
}

static int full_input_widen(struct frag_whole *w, const struct frag_input *in, size_t *capacity,
			    struct frag_error *err)
{
	/* the length of a file that is not compressed is known */
	size_t wider = (w->total > *capacity ? w->total : *capacity * 2) + FRAG_WINDOW_SLACK + 1;
	const uint64_t file = frag_input_bytes(in);
	char *bytes;

	if (w->length > frag_kept_max(file) / 2)        /* old bytes and new ones */
		return frag_kept_too_much(w->path, file, err);
	if (w->length >= FRAG_WHOLE_MAX)
		return frag_fail(err, FRAG_ETRACE, "%s: more than %u GiB of a format that must"
				 " be read into memory", w->path, (unsigned)(FRAG_WHOLE_MAX >> 30));
	bytes = frag_huge_alloc(&wider);
	if (!bytes)
		return frag_fail_nomem(err);
	memcpy(bytes, w->bytes, w->length);
	free(w->bytes);
	w->bytes = bytes;
	*capacity = wider - FRAG_WINDOW_SLACK;
	return 0;
}

/*
 * The window's buffer becomes the first part; the remaining input is read directly behind it.
 */
int frag_whole_read(struct frag_whole *w, struct frag_input *in, struct frag_error *err)
{
	size_t capacity = in->capacity, got = 1;
	int rc = 0;

	FRAG_ASSERT(in->buf && in->unpacker);
	*w = (struct frag_whole){ .path = in->path, .bytes = in->buf, .length = in->end };
	in->path = in->buf = NULL;
	frag_unpacker_amount(in->unpacker, &w->read, &w->total);
	while (!rc && !in->eof && got) {
		if (w->length == capacity)
			rc = full_input_widen(w, in, &capacity, err);
		if (rc)
			break;
		rc = frag_unpacker_read(in->unpacker, w->bytes + w->length, capacity - w->length,
					&got, err);
		w->length += got;
	}
	frag_unpacker_amount(in->unpacker, &w->read, &w->total);
	frag_input_close(in);
	if (rc) {
		frag_whole_fini(w);
		return rc;
	}
	memset(w->bytes + w->length, 0, FRAG_WINDOW_SLACK);
	return 0;
}

/* The 6 bits of a digit of base64; or a negative number. */
static int full_input_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* After `"base64": "`; NULL where there is none. */
static const char *find_base64(const struct frag_whole *w)
{
	static const char name[] = "\"base64\"";
	const char *p = w->bytes, *end = w->bytes + w->length;

	while (p < end && (p = memchr(p, '"', (size_t)(end - p))) != NULL) {
		if ((size_t)(end - p) < sizeof(name) || memcmp(p, name, sizeof(name) - 1) != 0) {
			p++;
			continue;
		}
		p += sizeof(name) - 1;
		while (*p == ' ' || *p == ':')
			p++;
		if (*p == '"')
			return p + 1;
	}
	return NULL;
}

/*
 * In place: four digits of base64 make three bytes, so the writer never passes the
 * reader.
 */
int frag_whole_unwrap(struct frag_whole *w, struct frag_error *err)
{
	const char *from = find_base64(w), *end = w->bytes + w->length;
	char *to = w->bytes;
	uint32_t bits = 0;
	int count = 0;

	FRAG_ASSERT(w->bytes && w->path);
	if (!from)
		return frag_fail(err, FRAG_ETRACE,
				 "%s: a web page, but no \"base64\" member in it: PyTorch's"
				 " viewer keeps the snapshot there",
				 w->path);
	for (; from < end && *from != '"' && *from != '='; from++) {
		int six = full_input_digit(*from);

		if (six < 0)
			return frag_fail(err, FRAG_ETRACE, "%s: byte %zu: no digit of base64",
					 w->path, (size_t)(from - w->bytes));
		bits = bits << 6 | (uint32_t)six;
		count += 6;
		if (count >= 8)
			*to++ = (char)(bits >> (count -= 8) & 0xff);
	}
	if (from == end)
		return frag_fail(err, FRAG_ETRACE,
				 "%s: byte %zu: truncated: the base64 of the snapshot"
				 " ends here",
				 w->path, w->length);
	w->length = (size_t)(to - w->bytes);
	memset(to, 0, FRAG_WINDOW_SLACK);
	return 0;
}

#define FIRST_ROOM ((size_t)64 << 10)
#define SLACK 64        /* zeros, which the scanner looks ahead into */

/*
 * Returns 0 or an errno; the caller writes the message. The buffer doubles, because the length
 * of a pipe is unknown.
 */
static int text_file_read_all(int fd, char **text, size_t *length)
{
	size_t room = 0;

	for (;;) {
		ssize_t n;

		if (room < *length + SLACK + 1) {
			char *more = realloc(*text, room ? 2 * room : FIRST_ROOM);

			if (!more)
				return ENOMEM;
			room = room ? 2 * room : FIRST_ROOM;
			*text = more;
		}
		n = read(fd, *text + *length, room - SLACK - *length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		if (n == 0)
			break;
		*length += (size_t)n;
	}
	memset(*text + *length, 0, SLACK);
	return 0;
}

int frag_text_file(char **text, size_t *length, const char *path, struct frag_error *err)
{
	const bool standard = strcmp(path, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	int number;

	*text = NULL;
	*length = 0;
	number = fd < 0 ? errno : text_file_read_all(fd, text, length);
	if (fd >= 0 && !standard)
		close(fd);
	if (!number)
		return 0;
	free(*text);
	*text = NULL;
	if (number == ENOMEM)
		return frag_fail_nomem(err);
	return frag_fail(err, FRAG_ETRACE, "%s: %s", frag_input_name(path), strerror(number));
}
