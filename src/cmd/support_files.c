/* support_files.c - files of ours that the program needs while it runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/support_files.h"

int frag_find_support_file(const struct frag_support_file *what, char path[PATH_MAX],
			   struct frag_error *err)
{
	const char *const places[] = { "", what->installed };
	const char *given = getenv(what->variable);
	char here[PATH_MAX], beside[PATH_MAX + 128];
	const ssize_t n = readlink("/proc/self/exe", here, sizeof(here) - 1);
	char *slash;

	if (given && *given && !realpath(given, path))
		return frag_fail(err, FRAG_EUSAGE, "%s: %s: %s", what->variable, given,
				 strerror(errno));
	if (given && *given)
		return 0;
	here[n < 0 ? 0 : n] = '\0';
	slash = strrchr(here, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		slash[1] = '\0';
		snprintf(beside, sizeof(beside), "%s%s%s", here, places[i], what->file);
		if (realpath(beside, path))
			return 0;
	}
	return frag_fail(err, FRAG_EUSAGE, "%s is neither in %s nor in %s%.*s; %s may name it",
			 what->file, here, here, (int)strlen(what->installed) - 1, what->installed,
			 what->variable);
}
