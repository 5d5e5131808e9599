/*
 * input.c - bytes of a file descriptor, gunzipped or unzstd'ed where they are packed; a window over
 * them; whole inputs in memory.
 *
 * The packing is recognised by the first bytes, again for each member or frame: several
 * in a row are one stream, as gzip and zstd themselves read them.
 */
#include "input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/atomic_file.h"
#include "base/platform.h"
#include "base/word64.h"
#include "input/inflate.h"

#define CHUNK ((size_t)128 << 10)

enum kind { UNKNOWN, PLAIN, GZIP, ZSTD };

#define PIECES 4
#define PIECE_BYTES ((size_t)128 << 10)

struct piece {
	char bytes[PIECE_BYTES];
	size_t length;          /* 0 and no rc: the end of the file */
	uint64_t read;          /* of the file then */
	int rc;
	struct frag_error err;
};

/* A thread that unpacks some pieces ahead of the reader. */
struct ahead {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t filled, used;
	uint64_t filled_count, used_count;      /* pieces so far */
	bool quit;
	size_t at;              /* bytes that are taken of the piece that is read */
	uint64_t read;          /* of the file, for the pieces that were begun to be read */
	struct piece pieces[PIECES];
};

struct frag_unpacker {
	int fd;
	int abandoned[2];       /* a pipe that ends the wait once it has a byte; -1: none */
	const char *path;       /* borrowed */
	unsigned char *chunk;   /* behind FRAG_INFLATE_BEHIND bytes of what was read before */
	size_t at, end;         /* unread bytes of the chunk */
	uint64_t read;          /* bytes that came from fd */
	uint64_t total;         /* size of the file, 0 unknown */
	off_t start;            /* where fd stood; -1: it cannot be sought */
	enum kind kind;
	bool inside;            /* a member or frame has begun and not ended */
	bool eof;
	bool torn_allowed;
	struct ahead *ahead;    /* NULL: none */
	struct frag_inflater *inflater;
	ZSTD_DStream *zstd;
};

/*
 * Only a regular file is rewindable: lseek() succeeds on some devices too, whose bytes are gone
 * once read.
 */
int frag_unpacker_new(struct frag_unpacker **out, int fd, const char *path, struct frag_error *err)
{
	struct frag_unpacker *u = calloc(1, sizeof(*u));
	struct stat st;

	if (!u) {
		close(fd);
		return frag_fail_nomem(err);
	}
	u->fd = fd;
	u->abandoned[0] = u->abandoned[1] = -1;
	u->path = path;
	u->start = lseek(fd, 0, SEEK_CUR);
	u->chunk = calloc(1, FRAG_INFLATE_BEHIND + CHUNK + FRAG_INFLATE_BEHIND);
	if (!u->chunk) {
		frag_unpacker_del(u);
		return frag_fail_nomem(err);
	}
	u->chunk += FRAG_INFLATE_BEHIND;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > u->start)
		u->total = (uint64_t)(st.st_size - u->start);
	else if (u->start >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)))
		u->start = -1;
	*out = u;
	return 0;
}

static struct piece *piece_at(struct ahead *a, uint64_t i)
{
	return &a->pieces[i % PIECES];
}

static void free_ahead(struct frag_unpacker *u)
{
	pthread_cond_destroy(&u->ahead->used);
	pthread_cond_destroy(&u->ahead->filled);
	pthread_mutex_destroy(&u->ahead->lock);
	free(u->ahead);
	u->ahead = NULL;
}

/* Ends the thread and drops the bytes that it read ahead. */
static void end_ahead(struct frag_unpacker *u)
{
	if (!u->ahead)
		return;
	pthread_mutex_lock(&u->ahead->lock);
	u->ahead->quit = true;
	pthread_cond_signal(&u->ahead->used);
	pthread_mutex_unlock(&u->ahead->lock);
	pthread_join(u->ahead->thread, NULL);
	free_ahead(u);
}

void frag_unpacker_del(struct frag_unpacker *u)
{
	if (!u)
		return;
	end_ahead(u);
	frag_inflater_del(u->inflater);
	ZSTD_freeDStream(u->zstd);
	if (u->fd != STDIN_FILENO)
		close(u->fd);
	for (int i = 0; i < 2; i++)
		if (u->abandoned[i] >= 0)
			close(u->abandoned[i]);
	free(u->chunk ? u->chunk - FRAG_INFLATE_BEHIND : NULL);
	free(u);
}

bool frag_unpacker_rewindable(const struct frag_unpacker *u)
{
	return u->start >= 0;
}

bool frag_unpacker_packed(const struct frag_unpacker *u)
{
	return u->kind == GZIP || u->kind == ZSTD;
}

bool frag_unpacker_abandonable(struct frag_unpacker *u)
{
	if (u->start < 0 && u->abandoned[0] < 0)
		frag_pipe_open(u->abandoned);
	return u->start >= 0 || u->abandoned[0] >= 0;
}

void frag_unpacker_abandon(struct frag_unpacker *u)
{
	/* it cannot fail: the pipe is empty */
	if (u->abandoned[1] >= 0 && write(u->abandoned[1], "", 1) < 0)
		return;
}

bool frag_unpacker_rewind(struct frag_unpacker *u)
{
	end_ahead(u);
	if (u->start < 0 || lseek(u->fd, u->start, SEEK_SET) < 0)
		return false;
	u->at = u->end = 0;
	u->read = 0;
	u->kind = UNKNOWN;
	u->inside = u->eof = false;
	return true;
}

void frag_unpacker_amount(const struct frag_unpacker *u, uint64_t *read, uint64_t *total)
{
	*read = u->ahead ? u->ahead->read : u->read - (u->end - u->at);
	*total = u->total;
}

/* Waits until a pipe has bytes or ends. -1: the reading was ended, or a signal arrived. */
static int wait_for_pipe(const struct frag_unpacker *u)
{
	struct pollfd fds[] = {
		{ .fd = u->fd, .events = POLLIN }, { .fd = u->abandoned[0], .events = POLLIN },
	};

	if (poll(fds, 2, -1) < 0)
		return -1;
	errno = EINTR;
	return fds[1].revents ? -1 : 0;
}

/* Reads the next bytes of the file; *got is 0 only at its end. */
static int unpack_read_file(struct frag_unpacker *u, void *to, size_t room, size_t *got,
			    struct frag_error *err)
{
	ssize_t n = 0;

	*got = 0;
	if (!u->eof && u->abandoned[0] >= 0)
		n = wait_for_pipe(u);
	if (!u->eof && n == 0)
		n = read(u->fd, to, room);
	/* a signal that does not end the reading restarts the call */
	if (n < 0 && errno == EINTR)
		return frag_fail(err, FRAG_EINTERRUPTED, "%s: interrupted", u->path);
	if (n < 0)
		return frag_fail(err, FRAG_ETRACE, "%s: %s", u->path, strerror(errno));
	u->eof = n == 0;
	u->read += (uint64_t)n;
	*got = (size_t)n;
	return 0;
}

/* Reads until at least `want` bytes are unread, or the file ends. */
static int unpack_fetch(struct frag_unpacker *u, size_t want, struct frag_error *err)
{
	if (u->end - u->at >= want || u->eof)
		return 0;
	memmove(u->chunk - FRAG_INFLATE_BEHIND, u->chunk + u->at - FRAG_INFLATE_BEHIND,
		FRAG_INFLATE_BEHIND + u->end - u->at);
	u->end -= u->at;
	u->at = 0;
	while (u->end < want) {
		size_t n;
		int rc = unpack_read_file(u, u->chunk + u->end, CHUNK - u->end, &n, err);

		if (rc || u->eof)
			return rc;
		u->end += n;
	}
	return 0;
}

static int damaged(const struct frag_unpacker *u, const char *what, struct frag_error *err)
{
	return frag_fail(err, FRAG_ETRACE, "%s: damaged %s stream near byte %" PRIu64
			 " of the file: %s", u->path, u->kind == GZIP ? "gzip" : "zstd",
			 u->read - (u->end - u->at), what);
}

/* Reads the magic bytes and prepares their decompressor. */
static int recognise(struct frag_unpacker *u, struct frag_error *err)
{
	enum kind kind = PLAIN;
	const unsigned char *p = u->chunk + u->at;
	size_t n = u->end - u->at;

	if (n >= 2 && p[0] == 0x1f && p[1] == 0x8b)
		kind = GZIP;
	else if (n >= 4 && ((p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd)
			    || ((p[0] & 0xf0) == 0x50 && p[1] == 0x2a && p[2] == 0x4d
				&& p[3] == 0x18)))
		kind = ZSTD;
	if (u->kind != UNKNOWN && kind != u->kind)
		return damaged(u, "other bytes after its end", err);
	u->kind = kind;
	u->inside = true;
	if (kind == GZIP)
		return frag_inflater_begin(&u->inflater, err);
	if (kind == ZSTD) {
		if (!u->zstd)
			u->zstd = ZSTD_createDStream();
		if (!u->zstd)
			return frag_fail_nomem(err);
		ZSTD_DCtx_reset(u->zstd, ZSTD_reset_session_only);
	}
	return 0;
}

/* A member may have ended before the bytes of this chunk, which then begins with those behind it. */
static int read_gzip(struct frag_unpacker *u, char *to, size_t room, size_t *got,
		     struct frag_error *err)
{
	struct frag_inflate step = {
		.in = u->chunk + u->at, .in_end = u->chunk + u->end, .out = to,
		.space = room < CHUNK ? room : CHUNK,
	};
	const char *why = frag_inflater_step(u->inflater, &step);

	if (step.in < u->chunk) {
		const size_t back = (size_t)(u->chunk - step.in);

		FRAG_ASSERT(back <= FRAG_INFLATE_BEHIND && u->end <= CHUNK);
		memmove(u->chunk, step.in, u->end + back);
		u->end += back;
		step.in = u->chunk;
	}
	*got = step.got;
	u->at = (size_t)(step.in - u->chunk);
	u->inside = !step.over;
	if (why == FRAG_INFLATE_NOMEM)
		return frag_fail_nomem(err);
	return why ? damaged(u, why, err) : 0;
}

static int read_zstd(struct frag_unpacker *u, char *to, size_t room, size_t *got,
		     struct frag_error *err)
{
	ZSTD_inBuffer in = { .src = u->chunk, .size = u->end, .pos = u->at };
	ZSTD_outBuffer out = { .dst = to, .size = room };
	size_t rc = ZSTD_decompressStream(u->zstd, &out, &in);

	*got = out.pos;
	u->at = in.pos;
	if (ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation)
		return frag_fail_nomem(err);
	if (ZSTD_isError(rc))
		return damaged(u, ZSTD_getErrorName(rc), err);
	u->inside = rc != 0;
	return 0;
}

/* What is there of the chunk; after it the file's bytes need no stop on their way. */
static int read_plain(struct frag_unpacker *u, char *to, size_t room, size_t *got,
		      struct frag_error *err)
{
	size_t n = u->end - u->at;

	if (n == 0)
		return unpack_read_file(u, to, room, got, err);
	if (n > room)
		n = room;
	memcpy(to, u->chunk + u->at, n);
	u->at += n;
	*got = n;
	return 0;
}

void frag_unpacker_allow_torn(struct frag_unpacker *u)
{
	u->torn_allowed = true;
}

/*
 * A round may consume input and give nothing, a member's header say, so it goes on
 * until there are bytes or the file ends. Inside a member, no progress with bytes
 * left, or with none to come, means that the stream is damaged. The longest magic
 * has 4 bytes.
 */
static int unpack(struct frag_unpacker *u, char *to, size_t room, size_t *got,
		  struct frag_error *err)
{
	*got = 0;
	while (*got == 0) {
		size_t before;
		int rc;

		if (u->inside && u->kind == PLAIN)
			return read_plain(u, to, room, got, err);
		rc = unpack_fetch(u, u->inside ? 1 : 4, err);
		if (rc)
			return rc;
		before = u->end - u->at;
		if (before == 0 && !u->inside)
			return 0;
		if (!u->inside)
			rc = recognise(u, err);
		if (rc)
			return rc;
		if (u->kind == PLAIN)
			return read_plain(u, to, room, got, err);
		rc = u->kind == GZIP ? read_gzip(u, to, room, got, err)
				     : read_zstd(u, to, room, got, err);
		if (rc)
			return rc;
		if (*got == 0 && u->inside && before == u->end - u->at && (u->eof || before))
			return u->torn_allowed && u->kind == ZSTD && u->eof
				       ? 0
				       : damaged(u, "it ends too early", err);
	}
	return 0;
}

/* False: the reader has stopped. */
static bool unpack_wait_for_room(struct ahead *a)
{
	bool more;

	pthread_mutex_lock(&a->lock);
	while (!a->quit && a->filled_count - a->used_count == PIECES)
		pthread_cond_wait(&a->used, &a->lock);
	more = !a->quit;
	pthread_mutex_unlock(&a->lock);
	return more;
}

static void *unpack_pieces(void *unpacker)
{
	struct frag_unpacker *u = unpacker;
	struct ahead *a = u->ahead;
	bool more = true;

	for (uint64_t i = 0; more && unpack_wait_for_room(a); i++) {
		struct piece *p = piece_at(a, i);

		p->rc = unpack(u, p->bytes, PIECE_BYTES, &p->length, &p->err);
		p->read = u->read - (u->end - u->at);
		more = !p->rc && p->length;
		pthread_mutex_lock(&a->lock);
		a->filled_count++;
		pthread_cond_signal(&a->filled);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

bool frag_unpacker_ahead(struct frag_unpacker *u)
{
	struct ahead *a = u->ahead ? NULL : calloc(1, sizeof(*a));

	FRAG_ASSERT(frag_unpacker_rewindable(u));
	if (!a)
		return false;
	frag_unpacker_amount(u, &a->read, &(uint64_t){ 0 });
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->filled, NULL);
	pthread_cond_init(&a->used, NULL);
	u->ahead = a;
	if (pthread_create(&a->thread, NULL, unpack_pieces, u) == 0)
		return true;
	free_ahead(u);
	return false;
}

/* The last piece, of the end or of an error, stays: it can be asked for again. */
static int take_piece(struct ahead *a, char *to, size_t room, size_t *got, struct frag_error *err)
{
	struct piece *p = piece_at(a, a->used_count);   /* only the reader changes used_count */

	pthread_mutex_lock(&a->lock);
	while (a->filled_count == a->used_count)
		pthread_cond_wait(&a->filled, &a->lock);
	pthread_mutex_unlock(&a->lock);
	a->read = p->read;
	*got = 0;
	if (p->rc)
		return frag_fail(err, (enum frag_error_code)-p->rc, "%s", p->err.message);
	if (!p->length)
		return 0;
	*got = p->length - a->at < room ? p->length - a->at : room;
	memcpy(to, p->bytes + a->at, *got);
	a->at += *got;
	if (a->at < p->length)
		return 0;
	a->at = 0;
	pthread_mutex_lock(&a->lock);
	a->used_count++;
	pthread_cond_signal(&a->used);
	pthread_mutex_unlock(&a->lock);
	return 0;
}

int frag_unpacker_read(struct frag_unpacker *u, char *to, size_t room, size_t *got,
		       struct frag_error *err)
{
	FRAG_ASSERT(room > 0);
	return u->ahead ? take_piece(u->ahead, to, room, got, err) : unpack(u, to, room, got, err);
}

/* The window. */

/* An input that another function opens next. */
static struct frag_input reopened;

void frag_input_keep_open(struct frag_input *in)
{
	frag_input_close(&reopened);
	reopened = *in;
	*in = (struct frag_input){ .path = NULL };
}

/*
 * The unpacker takes the descriptor over, also where it fails; so closing the
 * input undoes whatever was reached.
 */
int frag_input_open(struct frag_input *in, const char *path, struct frag_error *err)
{
	bool standard = strcmp(path, "-") == 0;
	int fd, rc;

	if (reopened.path && strcmp(reopened.path, frag_input_name(path)) == 0) {
		*in = reopened;
		reopened = (struct frag_input){ .path = NULL };
		return 0;
	}
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
	if (in->rewindable && frag_unpacker_packed(in->unpacker))
		frag_unpacker_ahead(in->unpacker);
	return frag_unpacker_abandonable(in->unpacker);
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
		rc = frag_unpacker_read(in->unpacker, in->buf + in->end, in->capacity - in->end,
					&got, err);
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
	if (in->unpacker)
		frag_unpacker_amount(in->unpacker, read, total);
	else
		*read = *total = in->end;
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

/* The window's buffer becomes the first part; the remaining input is read directly behind it. */
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
