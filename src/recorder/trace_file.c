/*
 * trace_file.c - the file of a recording: its name, header, lines and frames.
 *
 * The program is not ours: it may fill the disk, or limit the size of files. So each write is whole
 * or undone. Its descriptors are not ours either: the writing thread has its own table of them, so
 * the program can neither close the file nor see its number.
 */
#include "recorder/trace_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "fragsim/version.h"
#include "recorder/driver_calls.h"
#include "recorder/driver_devices.h"
#include "recorder/raw.h"

#define PATH_ROOM 4096
#define HEADER_ROOM (1024 + 256 * FRAG_DEVICES_MAX)
#define LEVEL 1
#define FRAME (512u << 10)      /* at least as large as a batch and its last line */

/* A frame of one raw block, whose length and text position are known beforehand. */
#define FRAME_HEAD 10

static char path[PATH_ROOM];
static int fd = -1;
static off_t written;                   /* whole lines, or frames */
static size_t header_length;            /* of the text */
static uint64_t header_lost;            /* what it says */
static bool packed;

static size_t (*zstd_compress)(void *, void *, size_t, const void *, size_t, int);
static size_t (*zstd_bound)(size_t);
static size_t (*zstd_memory)(int);
static void *(*zstd_context)(void *, size_t);
static unsigned (*zstd_is_error)(size_t);
static void *context;
static char *frame;

const char *frag_file_path(void)
{
	return path;
}

void frag_file_prepare(const char *name)
{
	const size_t length = strlen(name);
	void *library = length > 4 && strcmp(name + length - 4, ".zst") == 0
			? dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!library || !frag_is_of_c_library("memcpy") || !frag_is_of_c_library("memset"))
		return;
	zstd_compress = (size_t (*)(void *, void *, size_t, const void *, size_t, int))
		dlsym(library, "ZSTD_compressCCtx");
	zstd_bound = (size_t (*)(size_t))dlsym(library, "ZSTD_compressBound");
	zstd_is_error = (unsigned (*)(size_t))dlsym(library, "ZSTD_isError");
	zstd_memory = (size_t (*)(int))dlsym(library, "ZSTD_estimateCCtxSize");
	zstd_context = (void *(*)(void *, size_t))dlsym(library, "ZSTD_initStaticCCtx");
}

/* A context in memory of ours: libzstd's own would come from malloc. */
bool frag_file_reserve(void)
{
	void *memory;

	packed = zstd_compress && zstd_bound && zstd_is_error && zstd_memory && zstd_context;
	if (!packed)
		return true;
	memory = frag_raw_pages(zstd_memory(LEVEL));
	frame = frag_raw_pages(zstd_bound(FRAME));
	context = memory && frame ? zstd_context(memory, zstd_memory(LEVEL)) : NULL;
	return context != NULL;
}

/* At an offset: a reader of the file moves nothing of ours. 0, or an error's number. */
static int write_at(const char *from, size_t length, off_t at)
{
	while (length) {
		const long n = frag_raw(SYS_pwrite64, fd, from, length, at);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)-n;
		from += n;
		at += n;
		length -= (size_t)n;
	}
	return 0;
}

/* All of it or nothing: the file keeps no part that a full disk cut. */
static int trace_file_append(const char *from, size_t length)
{
	const int error = write_at(from, length, written);

	if (!error)
		written += (off_t)length;
	else
		frag_raw(SYS_ftruncate, fd, written);
	return error;
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int look_at(const char *name, struct stat *st)
{
	return (int)frag_raw(SYS_newfstatat, AT_FDCWD, name, st, 0);
}

/* Gives the file a name that no other has: -EEXIST where one has it. */
static int rename_to_free(const char *from, const char *to)
{
	long rc = frag_raw(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);

	/* some network file systems do not have that */
	if (rc == -EINVAL || rc == -ENOSYS) {
		rc = frag_raw(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
		if (rc == 0)
			frag_raw(SYS_unlinkat, AT_FDCWD, from, 0);
	}
	return (int)rc;
}

/*
 * Replaces the file that had the name before the recording. Several processes of the program may
 * come here at once: a lock on the old file lets one of them through, and the others then see
 * that the file is a new one.
 */
static bool replace_old(const char *from, const char *name, const struct stat *old)
{
	const int lock = (int)frag_raw(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
	bool locked = false, done = false;
	struct stat now;

	if (!old->st_ino || lock < 0)
		return false;
	for (int i = 0; i < 1000 && !locked; i++) {
		locked = frag_raw(SYS_flock, lock, LOCK_EX | LOCK_NB) == 0;
		if (!locked)
			frag_raw_sleep(1000000);
	}
	if (locked && look_at(name, &now) == 0 && same_inode(&now, old))
		done = frag_raw(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, name, 0) == 0;
	frag_raw(SYS_close, lock);
	return done;
}

/* NAME, NAME.PID, NAME.PID.2 and so on: the first that no process of this recording has. */
static int publish(const char *from, const char *name, const struct stat *old)
{
	const uint64_t pid = (uint64_t)frag_raw(SYS_getpid);
	int rc = -EEXIST;

	for (uint64_t i = 0; i < 10000; i++) {
		struct frag_raw_text to = { .at = path, .room = sizeof(path) };

		frag_raw_put(&to, name);
		frag_raw_put(&to, i ? "." : "");
		if (i)
			frag_raw_put_number(&to, pid);
		frag_raw_put(&to, i > 1 ? "." : "");
		if (i > 1)
			frag_raw_put_number(&to, i);
		rc = rename_to_free(from, frag_raw_string(&to));
		if (rc == 0 || (i == 0 && replace_old(from, name, old)))
			return 0;
		if (rc != -EEXIST && i)
			break;
	}
	return -rc;
}

/* Creates a file of a random name in the folder of the requested one. */
static int create(const char *name, char part[PATH_ROOM])
{
	struct frag_raw_text to;
	uint64_t random[2] = { 0 };

	for (int tries = 0; tries < 100; tries++) {
		if (frag_raw(SYS_getrandom, random, sizeof(random), 0) != sizeof(random))
			return ENOSYS;
		to = (struct frag_raw_text){ .at = part, .room = PATH_ROOM };
		frag_raw_put(&to, name);
		frag_raw_put(&to, ".");
		frag_raw_put_hex(&to, random[0]);
		frag_raw_put_hex(&to, random[1]);
		frag_raw_put(&to, ".part");
		fd = (int)frag_raw(SYS_openat, AT_FDCWD, frag_raw_string(&to),
				   O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (fd != -EEXIST)
			break;
	}
	if (fd < 0)
		return -fd;
	frag_raw(SYS_flock, fd, LOCK_EX | LOCK_NB);
	written = 0;
	return 0;
}

/* As wide as it ever gets, so that it can be written again when more is known. */
static size_t make_header(char *buf, uint64_t lost)
{
	struct frag_raw_text t = { .at = buf, .room = 1024 + 256u * frag_devices_count() };

	frag_raw_put(&t, "{\"format\":\"fragsim-trace\",\"version\":1,\"devices\":");
	frag_devices_write(&t);
	frag_raw_put(&t, ",\"meta\":{\"source\":\"fragsim record " FRAG_VERSION "\",\"process\":");
	frag_raw_put_number(&t, (uint64_t)frag_raw(SYS_getpid));
	if (lost) {
		frag_raw_put(&t, ",\"scope\":{\"begins\":\"start\",\"ends\":\"cut\",\"before\":null,"
			     "\"lost\":");
		frag_raw_put_number(&t, lost);
		frag_raw_put(&t, ",\"grows\":null}");
	}
	frag_raw_put(&t, "}}");
	memset(buf + t.used, ' ', t.room - t.used);
	buf[t.room - 1] = '\n';
	return t.room;
}

static void make_frame_head(uint8_t head[FRAME_HEAD], size_t length)
{
	const uint32_t size = (uint32_t)length - 256, block = (uint32_t)length << 3 | 1;

	/* magic; one segment, its size in two bytes; the size; the last block, which is raw */
	memcpy(head, (uint8_t[]){ 0x28, 0xb5, 0x2f, 0xfd, 0x60, (uint8_t)size,
				  (uint8_t)(size >> 8), (uint8_t)block, (uint8_t)(block >> 8),
				  (uint8_t)(block >> 16) }, FRAME_HEAD);
}

static int write_header(void)
{
	char text[HEADER_ROOM];
	uint8_t head[FRAME_HEAD];
	int error = 0;

	header_lost = 0;
	header_length = make_header(text, 0);
	make_frame_head(head, header_length);
	if (packed)
		error = trace_file_append((const char *)head, FRAME_HEAD);
	return error ? error : trace_file_append(text, header_length);
}

/* A device was used for the first time, or an event was lost. */
static int write_header_again(uint64_t lost)
{
	char text[HEADER_ROOM];

	make_header(text, lost);
	header_lost = lost;
	return write_at(text, header_length, packed ? FRAME_HEAD : 0);
}

/*
 * Writes the header to a temporary file first, which is then renamed: the name never leads to a
 * file without header.
 */
int frag_file_begin(const char *name, const struct stat *old)
{
	char part[PATH_ROOM];
	int error = create(name, part);

	if (error) {
		struct frag_raw_text t = { .at = path, .room = sizeof(path) };

		frag_raw_put(&t, name);
		frag_raw_string(&t);
		return error;
	}
	error = write_header();
	error = error ? error : publish(part, name, old);
	if (error)
		frag_raw(SYS_unlinkat, AT_FDCWD, part, 0);
	return error;
}

static int write_lines(const char *text, size_t length)
{
	size_t n;

	if (!packed)
		return trace_file_append(text, length);
	n = zstd_compress(context, frame, zstd_bound(FRAME), text, length, LEVEL);
	return zstd_is_error(n) ? ENOMEM : trace_file_append(frame, n);
}

/* Whole lines, of `most` bytes unless the first is longer. */
static size_t cut_lines(const char *text, size_t length, size_t most)
{
	size_t n = most;

	if (most >= length)
		return length;
	while (n && text[n - 1] != '\n')
		n--;
	for (n = n ? n : most; !n || text[n - 1] != '\n'; n++)
		continue;
	return n;
}

static uint64_t count_lines(const char *text, size_t length)
{
	uint64_t n = 0;

	for (size_t i = 0; i < length; i++)
		n += text[i] == '\n';
	return n;
}

/* Where a disk or a limit does not take all lines, the file gets as many as fit. */
int frag_file_write(const char *text, size_t length, uint64_t lost)
{
	size_t most = FRAME;
	int error = 0;

	if (frag_devices_changed() || lost != header_lost)
		error = write_header_again(lost);
	while (length && !error) {
		const size_t n = cut_lines(text, length, most);
		const int failed = write_lines(text, n);

		if (!failed) {
			text += n;
			length -= n;
		} else if (cut_lines(text, n, n / 2) < n) {
			most = n / 2;
		} else {
			error = failed;
		}
	}
	if (error)
		write_header_again(lost + count_lines(text, length));
	return error;
}
