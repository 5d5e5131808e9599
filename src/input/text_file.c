/* text_file.c - a whole file in memory. */
#include "input/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output_path.h"

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
