/*
 * descriptors.c - closing a range of descriptors leaves the recording's open.
 *
 * Daemons and launchers close all that they did not open. The C library's own calls to these do not
 * come here, and a loop of close() is seen before the next write (recording.c).
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/recording.h"

#define EXPORT __attribute__((visibility("default")))

/* Linux 5.9; an older kernel says ENOSYS, and so does this. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static int close_between(unsigned first, unsigned last, int flags)
{
	return first > last ? 0 : (int)syscall(SYS_close_range, first, last, flags);
}

EXPORT int close_range(unsigned first, unsigned last, int flags);
EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	const int ours = frag_recording_descriptor();
	int rc;

	if (ours < 0 || (unsigned)ours < first || (unsigned)ours > last)
		return (int)syscall(SYS_close_range, first, last, flags);
	rc = close_between(first, (unsigned)ours - 1, flags);
	return rc ? rc : close_between((unsigned)ours + 1, last, flags);
}

EXPORT void closefrom(int first);
EXPORT void closefrom(int first)
{
	const int from = first < 0 ? 0 : first;
	const long last = sysconf(_SC_OPEN_MAX);

	if (close_range((unsigned)from, ~0u, 0) == 0)
		return;
	for (int fd = from; fd < last; fd++)
		if (fd != frag_recording_descriptor())
			close(fd);
}
