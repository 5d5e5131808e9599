/*
 * preload.c - a library to be loaded before all others, in which one call fails.
 *
 * FAULT_CALL names the kind: alloc (malloc, calloc, realloc, posix_memalign), read,
 * write, sync, rename, open (of a file beside another) or thread; shrink and garble are reads
 * before which the file loses its second half, or gets other bytes in its middle;
 * once and twice are reads, writes, openings and renamings before which so many
 * SIGINT come.
 * FAULT_AT is the number of the first that fails, from 1; FAULT_ALL lets the later
 * ones fail too. Where FAULT_AT was reached, the file FAULT_MARK comes to be. At the end, the file
 * FAULT_LIVE receives the number of blocks that were never freed, and the number of these calls.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* what the C library does itself, without asking the names below */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *old);

static const char *kind;
static long at, calls, live;
static bool all;

/* the first in the process: nothing that the program does is missed */
__attribute__((constructor)) static void begin(void)
{
	const char *number = getenv("FAULT_AT");

	all = getenv("FAULT_ALL") != NULL;
	at = number ? strtol(number, NULL, 10) : 0;
	kind = getenv("FAULT_CALL");
}

/* The last in the process, but for what the C library frees itself. */
__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("FAULT_LIVE");
	long fd = path ? syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600)
		       : -1;
	char text[48];

	if (fd < 0)
		return;
	syscall(SYS_write, fd, text, (size_t)snprintf(text, sizeof(text), "%ld %ld", live, calls));
	syscall(SYS_close, fd);
}

static void leave_mark(void)
{
	const char *path = getenv("FAULT_MARK");
	long fd = path ? syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT, 0600) : -1;

	if (fd >= 0)
		syscall(SYS_close, fd);
}

static bool fails(const char *call, int number)
{
	long now;

	if (!kind || strcmp(kind, call) != 0)
		return false;
	now = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	if (now != at && !(all && now > at))
		return false;
	if (now == at)
		leave_mark();
	errno = number;
	return true;
}

static void *counted(void *block)
{
	__atomic_add_fetch(&live, block != NULL, __ATOMIC_RELAXED);
	return block;
}

static void interrupt(void)
{
	const int number = errno;

	if (fails("once", number))
		raise(SIGINT);
	if (fails("twice", number)) {
		raise(SIGINT);
		raise(SIGINT);
	}
	errno = number;
}

void *malloc(size_t size)
{
	return fails("alloc", ENOMEM) ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
	return fails("alloc", ENOMEM) ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
	void *block;

	if (fails("alloc", ENOMEM))
		return NULL;
	block = __libc_realloc(old, size);
	/* a block that moved is one as before; of size 0 it is freed */
	if (!old)
		return counted(block);
	__atomic_sub_fetch(&live, !block && !size, __ATOMIC_RELAXED);
	return block;
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	void *block;

	if (fails("alloc", ENOMEM))
		return ENOMEM;
	block = counted(__libc_memalign(alignment, size));
	if (!block)
		return ENOMEM;
	*out = block;
	return 0;
}

void free(void *block)
{
	__atomic_sub_fetch(&live, block != NULL, __ATOMIC_RELAXED);
	__libc_free(block);
}

/* What another program may do to a file while it is read. */
static void spoil(int fd, bool cut)
{
	char path[40];
	struct stat st;
	long own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY);
	if (own < 0 || fstat((int)own, &st) != 0 || !S_ISREG(st.st_mode))
		return;
	if (cut)
		syscall(SYS_ftruncate, own, st.st_size / 2);
	else
		syscall(SYS_pwrite64, own, "\5\5\5\5\5\5\5\5", 8L, st.st_size / 2);
	syscall(SYS_close, own);
}

ssize_t read(int fd, void *to, size_t n)
{
	interrupt();
	if (fails("shrink", errno))
		spoil(fd, true);
	if (fails("garble", errno))
		spoil(fd, false);
	return fails("read", EIO) ? -1 : syscall(SYS_read, fd, to, n);
}

ssize_t write(int fd, const void *from, size_t n)
{
	interrupt();
	return fails("write", ENOSPC) ? -1 : syscall(SYS_write, fd, from, n);
}

int fsync(int fd)
{
	interrupt();
	return fails("sync", EIO) ? -1 : (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
	interrupt();
	return fails("rename", EACCES) ? -1
		: (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int mkstemp64(char *name)
{
	char *end = name + strlen(name) - 1;

	interrupt();
	if (fails("open", EMFILE))
		return -1;
	/* one letter is enough where nobody else makes files */
	for (*end = 'a'; *end <= 'z'; (*end)++) {
		long fd = syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CREAT | O_EXCL, 0600);

		if (fd >= 0 || errno != EEXIST)
			return (int)fd;
	}
	return -1;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*work)(void *), void *arg)
{
	(void)thread;
	(void)attr;
	(void)work;
	(void)arg;
	/* there is no other door to the real one but dlsym, and none is needed */
	return fails("thread", EAGAIN), EAGAIN;
}
