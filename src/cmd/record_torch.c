/*
 * record_torch.c - fragsim record --torch: the environment in which Python records itself.
 *
 * python/fragsim/recording.py does the work. Python imports it before the program begins, as its
 * folder is the first of PYTHONPATH and has a sitecustomize module, which loads the program's own
 * one after it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/support_files.h"
#include "cmd/record_torch.h"

#define SUFFIX ".pickle"

static const struct frag_support_file module = {
	.file = "python/recorder/sitecustomize.py",
	.installed = "../share/fragsim/",
	.variable = "FRAGSIM_RECORD_PYTHON",
};

/* The path of a file from its folder, which is there, and its name. */
static int whole_name(const char *name, char whole[PATH_MAX])
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	char folder[PATH_MAX], found[PATH_MAX];
	const size_t length = slash ? (size_t)(slash - name) + 1 : 0;

	if (length >= sizeof(folder)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(folder, name, length);
	folder[length] = '\0';
	if (!realpath(length ? folder : ".", found))
		return -1;
	if (snprintf(whole, PATH_MAX, "%s%s%s", found, found[1] ? "/" : "", base) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return 0;
}

/* Files are written beside their names; whether they can be is known before the program runs. */
static int try_folder(const char *whole)
{
	char beside[PATH_MAX + 32];
	const char *base = strrchr(whole, '/') + 1;
	int fd;

	snprintf(beside, sizeof(beside), "%.*s.%s.%ld.tmp", (int)(base - whole), whole, base,
		 (long)getpid());
	fd = open(beside, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return -1;
	close(fd);
	return unlink(beside);
}

static int set_name(const char *output, struct frag_error *err)
{
	size_t length = strlen(output);
	char name[PATH_MAX], whole[PATH_MAX];

	if (strcmp(output, "-") == 0)
		return frag_fail(err, FRAG_EUSAGE, "--output -: standard output is the program's;"
				 " a recording needs a file");
	if (length > strlen(SUFFIX) && strcmp(output + length - strlen(SUFFIX), SUFFIX) == 0)
		length -= strlen(SUFFIX);
	if (output[length - 1] == '/')
		return frag_fail(err, FRAG_EUSAGE, "--output %s: a name is required, not a folder",
				 output);
	if (length >= sizeof(name))
		return frag_fail(err, FRAG_EOUTPUT, "%s: %s", output, strerror(ENAMETOOLONG));
	memcpy(name, output, length);
	name[length] = '\0';
	if (whole_name(name, whole) != 0 || try_folder(whole) != 0)
		return frag_fail(err, FRAG_EOUTPUT, "%s" SUFFIX ": %s", name, strerror(errno));
	setenv("FRAGSIM_TORCH_FILE", whole, 1);
	return 0;
}

/* What was on the path before stays, behind ours. */
static int set_path(struct frag_error *err)
{
	const char *others = getenv("PYTHONPATH");
	char folder[PATH_MAX], *all;
	size_t room;
	int rc = frag_find_support_file(&module, folder, err);

	if (rc)
		return rc;
	*strrchr(folder, '/') = '\0';
	if (strchr(folder, ':'))
		return frag_fail(err, FRAG_EUSAGE, "%s: the path has a colon, which PYTHONPATH"
				 " cannot have", folder);
	room = strlen(folder) + (others ? strlen(others) : 0) + 2;
	all = malloc(room);
	if (!all)
		return frag_fail_nomem(err);
	snprintf(all, room, "%s%s%s", folder, others && *others ? ":" : "", others ? others : "");
	setenv("PYTHONPATH", all, 1);
	free(all);
	return 0;
}

static void set_number(const char *variable, uint64_t n)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	if (n)
		setenv(variable, text, 1);
	else
		unsetenv(variable);
}

int frag_record_torch(const struct frag_record_torch *r, struct frag_error *err)
{
	struct timespec now;
	int rc = set_name(r->output ? r->output : "trace" SUFFIX, err);

	rc = rc ? rc : set_path(err);
	if (rc)
		return rc;
	clock_gettime(CLOCK_REALTIME, &now);
	set_number("FRAGSIM_TORCH_START",
		   (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	set_number("FRAGSIM_TORCH_STEPS", r->steps);
	set_number("FRAGSIM_TORCH_ENTRIES", r->max_entries);
	/* of a recording that this one is within */
	unsetenv("FRAGSIM_TORCH_FIRST");
	unsetenv("FRAGSIM_TORCH_OWNER");
	unsetenv("FRAGSIM_TORCH_RANK_OWNER");
	return 0;
}
