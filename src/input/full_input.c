/* full_input.c - whole inputs in memory, and the pickle in a page of PyTorch's viewer. */
#include "input/full_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/output_path.h"
#include "input/unpack.h"

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
