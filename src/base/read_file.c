/* read_file.c - reads a whole file into memory. */
#include "base/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_file_refuse(int number, struct frag_error *err)
{
	return number == ENOMEM ? frag_fail_nomem(err)
				: frag_fail(err, FRAG_EUSAGE, "%s", strerror(number));
}

/* Up to `size` bytes: a file that shrinks under the reader is as long as what was read. */
static int read_file_fill(int fd, char *to, uint64_t size, uint64_t *length, struct frag_error *err)
{
	ssize_t got = 1;

	for (*length = 0; *length < size && got; *length += (uint64_t)got) {
		do
			got = read(fd, to + *length, size - *length);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return read_file_refuse(errno, err);
	}
	return 0;
}

static int take_in(int fd, uint64_t max, void **bytes, uint64_t *length, struct frag_error *err)
{
	struct stat st;
	int rc;

	if (fstat(fd, &st))
		return read_file_refuse(errno, err);
	if (!S_ISREG(st.st_mode))
		return frag_fail(err, FRAG_EUSAGE, "not a regular file");
	if ((uint64_t)st.st_size > max)
		return frag_fail(err, FRAG_EUSAGE, "%" PRIu64 " bytes; at most %" PRIu64
				 " are read", (uint64_t)st.st_size, max);
	*bytes = malloc((size_t)st.st_size + 1);
	if (!*bytes)
		return frag_fail_nomem(err);
	rc = read_file_fill(fd, *bytes, (uint64_t)st.st_size, length, err);
	if (rc) {
		free(*bytes);
		*bytes = NULL;
	}
	return rc;
}

int frag_read_whole_file(const char *path, uint64_t max, void **bytes, uint64_t *length,
		      struct frag_error *err)
{
	/* whatever the path names, opening it must not wait for a writer */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), rc;

	if (fd < 0)
		return read_file_refuse(errno, err);
	rc = take_in(fd, max, bytes, length, err);
	close(fd);
	return rc;
}

int frag_require_regular_file(const char *path, struct frag_error *err)
{
	struct stat now;

	if (stat(path, &now) != 0 || S_ISREG(now.st_mode))
		return 0;
	return frag_fail(err, FRAG_ETRACE, "%s: not a regular file: remove it", path);
}
