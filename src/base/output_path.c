/*
 * output_path.c - where the name of an output leads.
 *
 * Links are followed by hand, and only those that the last part of the name is:
 * a file may be created where a dangling one points, and the links of /proc to our
 * own descriptors must not be taken for the files that are open under them.
 */
#include "base/output_path.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
