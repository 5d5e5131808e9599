/*
 * record.c - fragsim record: becomes the program, with the recorder loaded before all else.
 *
 * The library does the work (src/preload). It is beside the program where it was built, and in
 * ../lib/fragsim where it was installed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command.h"

enum { OPT_OUTPUT, OPT_STACKS };

#define LIBRARY "libfragsim-record.so"
#define STATUS_CANNOT_RUN 126           /* as shells, env and nohup have them */
#define STATUS_NOT_FOUND 127

static const struct frag_opt opts[] = {
	{ 'o', "output", "FILE", "write the trace to FILE (trace.ndjson.zst)", OPT_OUTPUT },
	{ 0, "stacks", NULL, "tag allocations with the whole stack, not the caller alone",
	  OPT_STACKS },
	{ 0 },
};

struct record {
	const char *output;
	bool stacks;
};

static int set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct record *r = ctx;

	(void)err;
	if (id == OPT_STACKS)
		r->stacks = true;
	else
		r->output = value;
	return 0;
}

/* Where the program's words begin: behind "--", or at the first that is no option of ours. */
static int program_at(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0)
			return i + 1;
		if (strcmp(argv[i], "-o") == 0 || strcmp(argv[i], "--output") == 0)
			i++;
		else if (argv[i][0] != '-')
			return i;
	}
	return argc;
}

/* Beside this program, or where make install puts it; the environment goes before both. */
static int find_library(char path[PATH_MAX], struct frag_error *err)
{
	static const char *const places[] = { "", "../lib/fragsim/" };
	const char *given = getenv("FRAGSIM_RECORD_LIBRARY");
	char here[PATH_MAX], beside[PATH_MAX + 64];
	const ssize_t n = readlink("/proc/self/exe", here, sizeof(here) - 1);
	char *slash;

	if (given && *given && !realpath(given, path))
		return frag_fail(err, FRAG_EUSAGE, "FRAGSIM_RECORD_LIBRARY: %s: %s", given,
				 strerror(errno));
	if (given && *given)
		return 0;
	here[n < 0 ? 0 : n] = '\0';
	slash = strrchr(here, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		slash[1] = '\0';
		snprintf(beside, sizeof(beside), "%s%s" LIBRARY, here, places[i]);
		if (realpath(beside, path))
			return 0;
	}
	return frag_fail(err, FRAG_EUSAGE, LIBRARY " is neither in %s nor in %s../lib/fragsim;"
			 " FRAGSIM_RECORD_LIBRARY may name it", here, here);
}

/* What was preloaded before stays, behind ours. */
static int set_preload(struct frag_error *err)
{
	const char *others = getenv("LD_PRELOAD");
	char library[PATH_MAX], *all;
	size_t room;
	int rc = find_library(library, err);

	if (rc)
		return rc;
	if (strpbrk(library, " :"))
		return frag_fail(err, FRAG_EUSAGE, "%s: the path has a blank or a colon, which"
				 " LD_PRELOAD cannot have", library);
	room = strlen(library) + (others ? strlen(others) : 0) + 2;
	all = malloc(room);
	if (!all)
		return frag_fail_nomem(err);
	snprintf(all, room, "%s%s%s", library, others && *others ? ":" : "", others ? others : "");
	setenv("LD_PRELOAD", all, 1);
	free(all);
	return 0;
}

/*
 * The file comes with the first event; that it can be written is known before. One of an earlier
 * recording goes, so that the first process of this one finds the name free.
 */
static int prepare_file(const char *path, char whole[PATH_MAX], struct frag_error *err)
{
	struct stat st;
	int fd;

	if (strcmp(path, "-") == 0)
		return frag_fail(err, FRAG_EUSAGE, "--output -: standard output is the program's;"
				 " a recording needs a file");
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return frag_fail(err, FRAG_EOUTPUT, "%s: not a regular file", path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || !realpath(path, whole)) {
		const int error = errno;

		if (fd >= 0)
			close(fd);
		return frag_fail(err, FRAG_EOUTPUT, "%s: %s", path, strerror(error));
	}
	close(fd);
	if (unlink(whole) != 0)
		return frag_fail(err, FRAG_EOUTPUT, "%s: %s", path, strerror(errno));
	return 0;
}

/* Handlers go by themselves when the program begins; what is ignored would stay so. */
static void restore_signals(void)
{
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
}

static int set_environment(const struct record *r, struct frag_error *err)
{
	char whole[PATH_MAX], start[32];
	struct timespec now;
	int rc = prepare_file(r->output, whole, err);

	rc = rc ? rc : set_preload(err);
	if (rc)
		return rc;
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(start, sizeof(start), "%llu", (unsigned long long)now.tv_sec * 1000000000u
		 + (unsigned long long)now.tv_nsec);
	setenv("FRAGSIM_RECORD_FILE", whole, 1);
	setenv("FRAGSIM_RECORD_START", start, 1);
	unsetenv("FRAGSIM_RECORD_STACKS");
	if (r->stacks)
		setenv("FRAGSIM_RECORD_STACKS", "1", 1);
	return 0;
}

/* Returns only where there is no program, or it cannot be run. */
static int record_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		       struct frag_error *err)
{
	struct record r = { .output = "trace.ndjson.zst" };
	const int program = program_at(argc, argv);
	int rest, rc;

	rc = frag_options(cmd, program, argv, &r, set_option, &rest, err);
	if (rc || !rest)
		return rc;
	if (program >= argc)
		return frag_usage(cmd, "which program?", err);
	rc = set_environment(&r, err);
	if (rc)
		return rc;
	restore_signals();
	execvp(argv[program], argv + program);
	*status = errno == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN;
	frag_print_message("%s: %s", argv[program], strerror(errno));
	return 0;
}

const struct frag_cmd frag_cmd_record = {
	.name = "record",
	.job = FRAG_JOB_TRACES,
	.args = "[options] -- PROGRAM [ARGUMENT]...",
	.summary = "run a CUDA program and write its trace",
	.opts = opts,
	.exec = record_exec,
};
