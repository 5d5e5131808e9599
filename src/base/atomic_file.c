/*
 * atomic_file.c - files that are whole or not there; bytes through gzip or zstd on their way into
 * one; where the name of an output leads; whole files in memory.
 *
 * Links are followed by hand, and only those that the last part of the name is:
 * a file may be created where a dangling one points, and the links of /proc to our
 * own descriptors must not be taken for the files that are open under them.
 */
#include "base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/platform.h"

#define LINKS_MAX 40            /* as the kernel has it */

/* The descriptor of ours that is meant by a name such as /proc/self/fd/3; -1: none does. */
static int descriptor_of(const char *name)
{
	const char *slash = strrchr(name, '/');
	char *folder, *real = NULL, *ours = NULL;
	int fd = -1;

	if (!slash || !slash[1] || strlen(slash) > sizeof("/99999999") - 1
	    || slash[1 + strspn(slash + 1, "0123456789")])
		return -1;
	folder = strndup(name, (size_t)(slash - name));
	if (folder)
		real = realpath(folder, NULL);
	if (real)
		ours = realpath("/proc/self/fd", NULL);
	if (ours && strcmp(real, ours) == 0)
		fd = (int)strtol(slash + 1, NULL, 10);
	free(folder);
	free(real);
	free(ours);
	return fd;
}

/* *Replaces the name of a symbolic link by its target; EINVAL: not a link. */
static int follow(char **name)
{
	const char *slash = strrchr(*name, '/');
	size_t folder = slash ? (size_t)(slash - *name) + 1 : 0;
	char target[PATH_MAX], *next;
	ssize_t n = readlink(*name, target, sizeof(target));

	if (n < 0)
		return errno;
	if (n > 0 && target[0] == '/')
		folder = 0;
	next = malloc(folder + (size_t)n + 1);
	if (!next)
		return ENOMEM;
	memcpy(next, *name, folder);
	memcpy(next + folder, target, (size_t)n);
	next[folder + (size_t)n] = '\0';
	free(*name);
	*name = next;
	return 0;
}

/* Past the links, but not past those of our descriptors. */
static int resolve(struct frag_output_path *d)
{
	for (int links = 0; links <= LINKS_MAX; links++) {
		int number;

		d->fd = descriptor_of(d->name);
		if (d->fd >= 0)
			return 0;
		number = follow(&d->name);
		if (number)     /* no link any more, or nothing yet */
			return number == EINVAL || number == ENOENT ? 0 : number;
	}
	return ELOOP;
}

/*
 * Symbolic links are followed to the file that will be replaced, which may not exist yet; a
 * file that no name leads to any more can only be written in place.
 */
int frag_destination_find(struct frag_output_path *d, const char *path)
{
	struct stat named;
	int number;

	*d = (struct frag_output_path){ .name = strdup(path), .fd = -1 };
	if (!d->name)
		return ENOMEM;
	d->there = stat(path, &d->now) == 0;
	if (!d->there && errno != ENOENT)
		return errno;
	number = resolve(d);
	if (number || !d->there || d->fd >= 0)
		return number;
	/* /proc has links that lead elsewhere than they say: to what has no name any more */
	if (stat(d->name, &named) != 0 || named.st_ino != d->now.st_ino) {
		free(d->name);
		d->name = strdup(path);
		number = !d->name ? ENOMEM : S_ISREG(d->now.st_mode) ? ENOENT : 0;
	}
	return number;
}

const char *frag_input_name(const char *path)
{
	if (!*path)
		return "\"\"";
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

const char *frag_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

#define CHUNK ((size_t)128 << 10)
#define GZIP_LEVEL 6
#define ZSTD_LEVEL 9

struct frag_packer {
	enum frag_packing packing;
	z_stream z;
	bool have_z;
	ZSTD_CCtx *zstd;
	char chunk[CHUNK];
};

enum frag_packing frag_packing_of(const char *path, size_t *length)
{
	*length = strlen(path);
	if (*length > 3 && strcmp(path + *length - 3, ".gz") == 0) {
		*length -= 3;
		return FRAG_GZIP;
	}
	if (*length > 4 && strcmp(path + *length - 4, ".zst") == 0) {
		*length -= 4;
		return FRAG_ZSTD;
	}
	return FRAG_PLAIN;
}

const char *frag_packing_library(enum frag_packing packing)
{
	return packing == FRAG_ZSTD ? ZSTD_versionString() : zlibVersion();
}

static void packer_del(struct frag_packer *p)
{
	if (!p)
		return;
	if (p->have_z)
		deflateEnd(&p->z);
	ZSTD_freeCCtx(p->zstd);
	free(p);
}

/*
 * The same bytes always pack alike, and damage is seen: a gzip stream ends in a
 * checksum anyway, a zstd frame only when asked.
 */
static struct frag_packer *packer_new(enum frag_packing packing)
{
	struct frag_packer *p = calloc(1, sizeof(*p));

	FRAG_ASSERT(packing != FRAG_PLAIN);
	if (!p)
		return NULL;
	p->packing = packing;
	if (packing == FRAG_GZIP) {
		/* no name and no time are in the header */
		p->have_z = deflateInit2(&p->z, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 8,
					 Z_DEFAULT_STRATEGY) == Z_OK;
	} else {
		p->zstd = ZSTD_createCCtx();
		if (p->zstd) {
			ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
			ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1);
		}
	}
	if (p->have_z || p->zstd)
		return p;
	packer_del(p);
	return NULL;
}

/*
 * zlib counts in 32 bits, so large inputs are passed in parts. A full output chunk may not be
 * all, so deflate() is called again.
 */
static bool put_gzip(struct frag_packer *p, const void *bytes, size_t n, bool last,
		     void (*out)(void *ctx, const char *bytes, size_t n), void *ctx)
{
	const unsigned char *from = bytes;
	int rc = Z_OK;

	do {
		size_t some = n < CHUNK ? n : CHUNK;

		p->z.next_in = (unsigned char *)(uintptr_t)from;
		p->z.avail_in = (uInt)some;
		if (some)               /* of no bytes there is no address */
			from += some;
		n -= some;
		do {
			p->z.next_out = (unsigned char *)p->chunk;
			p->z.avail_out = CHUNK;
			rc = deflate(&p->z, last && n == 0 ? Z_FINISH : Z_NO_FLUSH);
			if (rc == Z_STREAM_ERROR)
				return false;
			out(ctx, p->chunk, CHUNK - p->z.avail_out);
		} while (p->z.avail_out == 0);
	} while (n);
	return true;
}

static bool put_zstd(struct frag_packer *p, const void *bytes, size_t n, bool last,
		     void (*out)(void *ctx, const char *bytes, size_t n), void *ctx)
{
	ZSTD_inBuffer from = { .src = bytes, .size = n };
	size_t rest;

	do {
		ZSTD_outBuffer to = { .dst = p->chunk, .size = CHUNK };

		rest = ZSTD_compressStream2(p->zstd, &to, &from,
					    last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(rest))
			return false;
		out(ctx, p->chunk, to.pos);
	} while (last ? rest != 0 : from.pos < from.size);
	return true;
}

static bool packer_put(struct frag_packer *p, const void *bytes, size_t n, bool last,
		     void (*out)(void *ctx, const char *bytes, size_t n), void *ctx)
{
	return p->packing == FRAG_GZIP ? put_gzip(p, bytes, n, last, out, ctx)
				       : put_zstd(p, bytes, n, last, out, ctx);
}

bool frag_gzip(const void *bytes, size_t n, void (*out)(void *ctx, const char *bytes, size_t n),
	       void *ctx)
{
	struct frag_packer *p = packer_new(FRAG_GZIP);
	const bool done = p && packer_put(p, bytes, n, true, out, ctx);

	packer_del(p);
	return done;
}

static int atomic_file_fail(const struct frag_outfile *f, int number, struct frag_error *err)
{
	const char *name = strcmp(f->path, "-") == 0 ? "standard output" : f->path;

	if (number == EPIPE)
		return frag_fail(err, FRAG_EPIPE, "%s: its reader closed it", name);
	return frag_fail(err, FRAG_EOUTPUT, "%s: %s", name, strerror(number));
}

/* A name, if there is one, is not to be used any more. */
static void atomic_file_forget(char *volatile *name)
{
	char *old = *name;

	*name = NULL;
	free(old);
}

static bool atomic_file_start(struct frag_outfile *f, const char *path)
{
	*f = (struct frag_outfile){ .fd = -1, .capacity = FRAG_OUT_BUFFER };
	f->path = strdup(path);
	f->buf = malloc(f->capacity);
	return f->path && f->buf;
}

/* Creates a temporary file in the folder of `path`, readable by this user only. */
static int open_beside(struct frag_outfile *f, const char *path)
{
	char *name = malloc(strlen(path) + sizeof(".XXXXXX"));
	int number;

	if (!name)
		return ENOMEM;
	memcpy(name, path, strlen(path));
	memcpy(name + strlen(path), ".XXXXXX", sizeof(".XXXXXX"));
	f->fd = frag_temporary_create(name);
	if (f->fd < 0) {
		number = errno;
		free(name);
		return number;
	}
	f->temporary = name;
	fcntl(f->fd, F_SETFD, FD_CLOEXEC);
	return 0;
}

/*
 * Duplicates a descriptor that the caller passed (/dev/fd/N), so that all writers share its
 * position. Descriptors that this file opened are closed on exec.
 */
static int atomic_file_share(struct frag_outfile *f, int fd)
{
	int flags = fcntl(fd, F_GETFL), ours = fcntl(fd, F_GETFD);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || ours & FD_CLOEXEC)
		return EBADF;
	f->fd = frag_descriptor_copy(fd);
	return f->fd < 0 ? errno : 0;
}

static int atomic_file_open_file(struct frag_outfile *f, struct frag_output_path *to)
{
	int number;

	if (to->there && access(to->name, W_OK) != 0)
		return errno;
	f->final = to->name;
	to->name = NULL;
	number = open_beside(f, f->final);
	if (!number && to->there)
		frag_file_look_like(f->fd, &to->now);
	else if (!number)
		frag_file_look_new(f->fd);
	return number;
}

/*
 * A regular file, or a new one, is written to a temporary file in the same folder. For a
 * symbolic link that is the folder of its target, so the link itself is kept.
 */
static int open_path(struct frag_outfile *f)
{
	struct frag_output_path to;
	int number;

	if (strcmp(f->path, "-") == 0) {
		f->fd = STDOUT_FILENO;
		return 0;
	}
	if (!*f->path)
		return ENOENT;          /* else only the renaming would find out */
	number = frag_destination_find(&to, f->path);
	if (!number && to.fd >= 0) {
		number = atomic_file_share(f, to.fd);
	} else if (!number && to.there && S_ISDIR(to.now.st_mode)) {
		number = EISDIR;
	} else if (!number && to.there && !S_ISREG(to.now.st_mode)) {
		f->fd = open(to.name, O_WRONLY | O_CLOEXEC);
		number = f->fd < 0 ? errno : 0;
	} else if (!number) {
		number = atomic_file_open_file(f, &to);
	}
	free(to.name);
	return number;
}

int frag_outfile_open(struct frag_outfile *f, const char *path, struct frag_error *err)
{
	int number, rc;

	if (!atomic_file_start(f, path)) {
		frag_outfile_abandon(f);
		return frag_fail_nomem(err);
	}
	number = open_path(f);
	if (!number)
		return 0;
	/* an input that is not there sounds the same */
	rc = frag_fail(err, FRAG_EOUTPUT, "%s: cannot be written: %s", path, strerror(number));
	frag_outfile_abandon(f);
	return rc;
}

/*
 * The name is removed at once, so the file disappears however the program ends. The folder of
 * the destination has space for the bytes that will be appended there.
 */
int frag_outfile_spool(struct frag_outfile *spool, const struct frag_outfile *f,
		       struct frag_error *err)
{
	const char *folder = getenv("TMPDIR");
	char name[4096];
	int number, rc;

	if (f->final)
		snprintf(name, sizeof(name), "%s", f->final);
	else
		snprintf(name, sizeof(name), "%s/fragsim", folder && *folder ? folder : "/tmp");
	if (!atomic_file_start(spool, f->path)) {
		frag_outfile_abandon(spool);
		return frag_fail_nomem(err);
	}
	number = open_beside(spool, name);
	if (!number) {
		unlink(spool->temporary);
		atomic_file_forget(&spool->temporary);
		return 0;
	}
	rc = atomic_file_fail(spool, number, err);
	frag_outfile_abandon(spool);
	return rc;
}

static void atomic_file_put_plain(void *ctx, const char *bytes, size_t n)
{
	struct frag_outfile *f = ctx;

	while (n && !f->failed) {
		ssize_t written = write(f->fd, bytes, n);

		if (written < 0 && errno != EINTR)
			f->failed = errno;
		if (written > 0) {
			bytes += written;
			n -= (size_t)written;
		}
	}
}

static void atomic_file_put(struct frag_outfile *f, const char *bytes, size_t n)
{
	if (!f->packer)
		atomic_file_put_plain(f, bytes, n);
	else if (!f->failed
		 && !packer_put(f->packer, bytes, n, false, atomic_file_put_plain, f))
		f->failed = ENOMEM;
}

static void atomic_file_flush(struct frag_outfile *f)
{
	atomic_file_put(f, f->buf, f->used);
	f->used = 0;
}

char *frag_outfile_room(struct frag_outfile *f, size_t n)
{
	if (f->capacity - f->used < n)
		atomic_file_flush(f);
	if (f->capacity < n) {
		char *larger = realloc(f->buf, n);

		if (!larger) {
			f->failed = f->failed ? f->failed : ENOMEM;
			return NULL;
		}
		f->buf = larger;
		f->capacity = n;
	}
	return f->buf + f->used;
}

void frag_outfile_write(struct frag_outfile *f, const void *bytes, size_t n)
{
	if (n > f->capacity - f->used)
		atomic_file_flush(f);
	if (n > f->capacity) {
		atomic_file_put(f, bytes, n);
		return;
	}
	memcpy(f->buf + f->used, bytes, n);
	f->used += n;
}

FILE *frag_outfile_stream(struct frag_outfile *f)
{
	FILE *stream = frag_descriptor_stream(f->fd);

	/* EINVAL: it is not open for writing, as where standard output was closed */
	if (!stream && !f->failed)
		f->failed = errno == EINVAL ? EBADF : errno;
	atomic_file_flush(f);
	errno = 0;
	return stream;
}

void frag_outfile_stream_end(struct frag_outfile *f, FILE *stream)
{
	/* the number is that of the failure: nothing else fails while one prints */
	int number = ferror(stream) ? errno : 0;

	if (ferror(stream) && !number)
		number = EIO;
	if (fclose(stream) != 0 && !number)
		number = errno;
	f->failed = f->failed ? f->failed : number;
}

int frag_outfile_status(const struct frag_outfile *f, struct frag_error *err)
{
	return f->failed ? atomic_file_fail(f, f->failed, err) : 0;
}

int frag_outfile_append(struct frag_outfile *f, struct frag_outfile *spool, struct frag_error *err)
{
	ssize_t n = 1;

	atomic_file_flush(spool);
	if (!spool->failed && lseek(spool->fd, 0, SEEK_SET) < 0)
		spool->failed = errno;
	while (n > 0 && !spool->failed) {
		n = read(spool->fd, spool->buf, spool->capacity);
		if (n < 0 && errno != EINTR)
			spool->failed = errno;
		if (n > 0)
			frag_outfile_write(f, spool->buf, (size_t)n);
	}
	if (spool->failed && !f->failed)
		f->failed = spool->failed;
	frag_outfile_abandon(spool);
	return frag_outfile_status(f, err);
}

int frag_outfile_pack(struct frag_outfile *f, enum frag_packing packing, struct frag_error *err)
{
	FRAG_ASSERT(!f->packer && !f->used);
	if (packing == FRAG_PLAIN)
		return 0;
	f->packer = packer_new(packing);
	return f->packer ? 0 : frag_fail_nomem(err);
}

/* The packer's last bytes, which show a reader that nothing is missing. */
static void end_packing(struct frag_outfile *f)
{
	if (f->packer && !f->failed
	    && !packer_put(f->packer, NULL, 0, true, atomic_file_put_plain, f))
		f->failed = ENOMEM;
	packer_del(f->packer);
	f->packer = NULL;
}

/*
 * The bytes reach the disk before the name does; otherwise a crash could leave a name without
 * its bytes. Some file systems do not support this request.
 */
static void sync_bytes(struct frag_outfile *f)
{
	int rc;

	do
		rc = fsync(f->fd);
	while (rc != 0 && errno == EINTR);
	if (rc != 0 && errno != EINVAL && errno != ENOTSUP)
		f->failed = errno;
}

int frag_outfile_finish(struct frag_outfile *f, struct frag_error *err)
{
	atomic_file_flush(f);
	end_packing(f);
	if (f->temporary && f->fd >= 0 && !f->failed)
		sync_bytes(f);
	if (f->fd >= 0 && f->fd != STDOUT_FILENO && close(f->fd) != 0 && !f->failed)
		f->failed = errno;
	f->fd = -1;
	return frag_outfile_status(f, err);
}

/* The file that is in the place gets a second name, to come back by. */
static void set_aside(struct frag_outfile *f)
{
	const size_t n = strlen(f->temporary);
	char *name = malloc(n + 2);

	FRAG_ASSERT(f->temporary && f->final);
	f->fresh = access(f->final, F_OK) != 0;
	if (!name)
		return;
	memcpy(name, f->temporary, n);
	memcpy(name + n, "~", 2);
	if (link(f->final, name) == 0)
		f->aside = name;
	else
		free(name);
}

/*
 * Another program may create the file at the same time: link() replaces none, and rename() does.
 * Only where the file system has no hard links, a file is searched for first. Returns 0 or errno.
 */
static int atomic_file_create(const struct frag_outfile *f)
{
	if (link(f->temporary, f->final) == 0)
		return unlink(f->temporary) == 0 ? 0 : errno;
	if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS)
		return errno;
	if (access(f->final, F_OK) == 0)
		return EEXIST;
	return rename(f->temporary, f->final) == 0 ? 0 : errno;
}

static int atomic_file_take_place(struct frag_outfile *f, bool with_others, struct frag_error *err)
{
	if (!f->temporary)
		return 0;
	if (with_others)
		set_aside(f);
	if (f->only_new)
		f->failed = atomic_file_create(f);
	else if (rename(f->temporary, f->final) != 0)
		f->failed = errno;
	if (!f->failed)
		atomic_file_forget(&f->temporary);
	return frag_outfile_status(f, err);
}

/* It had taken its place, but another one could not. */
static void give_place_back(struct frag_outfile *f)
{
	if (f->aside && rename(f->aside, f->final) == 0)
		atomic_file_forget(&f->aside);
	else if (f->fresh)
		unlink(f->final);
}

/*
 * All files are written before the first is renamed: only a rename can fail then, and a rename
 * can be undone.
 */
int frag_outfile_commit_all(struct frag_outfile *const *files, uint32_t count,
			    struct frag_error *err)
{
	uint32_t placed = 0;
	int rc = 0;

	for (uint32_t i = 0; i < count && !rc; i++)
		if (files[i]->path)
			rc = frag_outfile_finish(files[i], err);
	while (placed < count && !rc) {
		if (files[placed]->path)
			rc = atomic_file_take_place(files[placed], count > 1, err);
		placed += !rc;
	}
	for (uint32_t i = 0; i < placed && rc; i++)
		give_place_back(files[i]);
	for (uint32_t i = 0; i < count; i++)
		frag_outfile_abandon(files[i]);
	return rc;
}

int frag_outfile_commit(struct frag_outfile *f, struct frag_error *err)
{
	return frag_outfile_commit_all(&f, 1, err);
}

void frag_outfile_drop(const struct frag_outfile *f)
{
	if (f->temporary)
		unlink(f->temporary);
	if (f->aside)
		unlink(f->aside);
}

void frag_outfile_abandon(struct frag_outfile *f)
{
	if (f->buf && f->fd >= 0 && f->fd != STDOUT_FILENO)
		close(f->fd);
	frag_outfile_drop(f);
	packer_del(f->packer);
	atomic_file_forget(&f->temporary);
	atomic_file_forget(&f->aside);
	free(f->final);
	free(f->path);
	free(f->buf);
	*f = (struct frag_outfile){ .fd = -1 };
}

#define FIRST_ROOM ((size_t)64 << 10)
#define SLACK 64        /* zeros, which the scanner looks ahead into */

/*
 * Reads up to `most` bytes; of a file that is shorter, as many as it has. Returns 0 or an errno;
 * the caller writes the message, and frees the text then, too. The buffer has `capacity` bytes at
 * first, and doubles, because the length of a pipe is unknown.
 */
static int read_all(int fd, uint64_t most, size_t capacity, char **text, size_t *length)
{
	size_t used = 0;

	*text = malloc(capacity + SLACK);
	if (!*text)
		return ENOMEM;
	while (used < most) {
		ssize_t n;

		if (used == capacity) {
			char *more = realloc(*text, 2 * capacity + SLACK);

			if (!more)
				return ENOMEM;
			*text = more;
			capacity *= 2;
		}
		n = read(fd, *text + used, (size_t)frag_min(most, capacity) - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	memset(*text + used, 0, SLACK);
	*length = used;
	return 0;
}

int frag_read_whole_file(const char *path, uint64_t max, void **bytes, uint64_t *length,
		      struct frag_error *err)
{
	/* whatever the path names, opening it must not wait for a writer */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), number = 0, rc = 0;
	struct stat st;
	char *text = NULL;
	size_t used = 0;

	if (fd < 0 || fstat(fd, &st))
		number = errno;
	else if (!S_ISREG(st.st_mode))
		rc = frag_fail(err, FRAG_EUSAGE, "not a regular file");
	else if ((uint64_t)st.st_size > max)
		rc = frag_fail(err, FRAG_EUSAGE, "%" PRIu64 " bytes; at most %" PRIu64
			       " are read", (uint64_t)st.st_size, max);
	else
		number = read_all(fd, (uint64_t)st.st_size, (size_t)st.st_size, &text, &used);
	if (fd >= 0)
		close(fd);
	if (number) {
		free(text);
		text = NULL;
		rc = number == ENOMEM ? frag_fail_nomem(err)
				      : frag_fail(err, FRAG_EUSAGE, "%s", strerror(number));
	}
	*bytes = text;
	*length = used;
	return rc;
}

int frag_require_regular_file(const char *path, struct frag_error *err)
{
	struct stat now;

	if (stat(path, &now) != 0 || S_ISREG(now.st_mode))
		return 0;
	return frag_fail(err, FRAG_ETRACE, "%s: not a regular file: remove it", path);
}

int frag_text_file(char **text, size_t *length, const char *path, struct frag_error *err)
{
	const bool standard = strcmp(path, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	int number;

	*text = NULL;
	*length = 0;
	number = fd < 0 ? errno : read_all(fd, UINT64_MAX, FIRST_ROOM, text, length);
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
