/* shard_file.c - the file of a shard: a line for each run that has ended, soon on the disk. */
#include "sweep/shard_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/platform.h"
#include "documents/documents.h"

#define SYNC_SECONDS 4          /* a sync takes its time, too: five are promised */

static int shard_file_fail(const struct frag_shard_file *f, int number, struct frag_error *err)
{
	return frag_fail(err, FRAG_EOUTPUT, "%s: %s", f->path, strerror(number));
}

/* A separate thread syncs the lines, as a run can take longer than a line may stay unsynced. */
static void *sync_now_and_then(void *arg)
{
	struct frag_shard_file *f = arg;
	struct timespec until;
	int number;

	pthread_mutex_lock(&f->lock);
	while (!f->ends) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += SYNC_SECONDS;
		pthread_cond_timedwait(&f->ending, &f->lock, &until);
		if (!f->fresh)
			continue;
		f->fresh = false;
		pthread_mutex_unlock(&f->lock);
		number = fsync(f->fd) == 0 || errno == EINVAL ? 0 : errno;
		pthread_mutex_lock(&f->lock);
		f->failed = f->failed ? f->failed : number;
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

/* *end: behind the last line end before `size`. Returns 0 or errno. */
static int shard_file_find_end(const struct frag_shard_file *f, off_t size, off_t *end)
{
	char block[4096];

	for (*end = size; *end > 0;) {
		const size_t n = *end < (off_t)sizeof(block) ? (size_t)*end : sizeof(block);
		const ssize_t got = pread(f->fd, block, n, *end - (off_t)n);
		size_t last = n;

		if (got != (ssize_t)n)
			return got < 0 ? errno : EIO;
		while (last > 0 && block[last - 1] != '\n')
			last--;
		*end -= (off_t)(n - last);
		if (last)
			break;
	}
	return 0;
}

int frag_shard_cut_torn(struct frag_shard_file *f, struct frag_error *err)
{
	char begin[sizeof(FRAG_RUN_LINE_BEGIN) - 1];
	struct stat now;
	off_t end;
	ssize_t n;
	int number;

	if (fstat(f->fd, &now) != 0)
		return shard_file_fail(f, errno, err);
	number = shard_file_find_end(f, now.st_size, &end);
	if (number)
		return shard_file_fail(f, number, err);
	n = pread(f->fd, begin, sizeof(begin), end);
	if (n > 0 && memcmp(begin, FRAG_RUN_LINE_BEGIN, (size_t)n) != 0)
		return frag_fail(err, FRAG_ETRACE, "%s: the last line is not one of a run: remove"
				 " the line, or the file", f->path);
	return n >= 0 && ftruncate(f->fd, end) == 0 ? 0 : shard_file_fail(f, errno, err);
}

static int shard_file_begin(struct frag_shard_file *f, bool resume, struct frag_error *err)
{
	struct stat now;

	/*
	 * On a file system without locks this succeeds. A lock of fcntl() would be lost when the
	 * reader of the completed runs closes the file.
	 */
	if (!frag_file_lock(f->fd))
		return frag_fail(err, FRAG_EUSAGE, "%s: another fragsim writes this shard now",
				 f->path);
	if (fstat(f->fd, &now) != 0)
		return shard_file_fail(f, errno, err);
	if (!S_ISREG(now.st_mode))
		return frag_fail(err, FRAG_EUSAGE, "%s: it is no file", f->path);
	if (now.st_size && !resume)
		return frag_fail(err, FRAG_EUSAGE, "%s: runs are there already: --resume goes on"
				 " with them", f->path);
	return 0;
}

int frag_shard_open(struct frag_shard_file *f, const char *path, bool resume, struct frag_error *err)
{
	int rc;

	*f = (struct frag_shard_file){ .path = path };
	f->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (f->fd < 0)
		return frag_fail(err, FRAG_EOUTPUT, "%s: cannot be written: %s", path,
				 strerror(errno));
	rc = shard_file_begin(f, resume, err);
	if (rc) {
		close(f->fd);
		return rc;
	}
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->ending, NULL);
	f->has_thread = pthread_create(&f->syncing, NULL, sync_now_and_then, f) == 0;
	return 0;
}

static int shard_file_append(struct frag_shard_file *f, const char *line, size_t length)
{
	const off_t before = lseek(f->fd, 0, SEEK_END);
	size_t done = 0;

	while (done < length) {
		const ssize_t n = write(f->fd, line + done, length - done);
		const int number = errno;

		if (n < 0 && number == EINTR)
			continue;
		if (n < 0) {
			/* a torn line within the file would be a damaged one */
			if (before < 0 || ftruncate(f->fd, before) != 0)
				return number;
			return number;
		}
		done += (size_t)n;
	}
	return 0;
}

int frag_shard_append(struct frag_shard_file *f, const char *line, size_t length,
		      struct frag_error *err)
{
	int number;

	pthread_mutex_lock(&f->lock);
	number = f->failed ? f->failed : shard_file_append(f, line, length);
	/* once a line could not be written, none comes behind it */
	f->failed = number;
	f->fresh = true;
	if (!number && !f->has_thread && fsync(f->fd) != 0 && errno != EINVAL)
		number = errno;
	pthread_mutex_unlock(&f->lock);
	return number ? shard_file_fail(f, number, err) : 0;
}

int frag_shard_close(struct frag_shard_file *f, struct frag_error *err)
{
	int number;

	pthread_mutex_lock(&f->lock);
	f->ends = true;
	pthread_cond_signal(&f->ending);
	pthread_mutex_unlock(&f->lock);
	if (f->has_thread)
		pthread_join(f->syncing, NULL);
	number = f->failed;
	if (!number && fsync(f->fd) != 0 && errno != EINVAL)
		number = errno;
	if (close(f->fd) != 0 && !number)
		number = errno;
	pthread_cond_destroy(&f->ending);
	pthread_mutex_destroy(&f->lock);
	return number ? shard_file_fail(f, number, err) : 0;
}
