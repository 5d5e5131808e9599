/*
 * record.c - fragsim record: becomes the program, with the recorder loaded before all else.
 *
 * The library does the work (src/recorder); with --torch, Python does (python/recorder).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/platform.h"
#include "cmd/command.h"
#include "cmd/model.h"
#include "cmd/progress.h"
#include "fragsim/error.h"

struct record {
	const char *output;     /* NULL: the name of that kind of recording */
	bool stacks, torch, explain;
	struct frag_model model;        /* whose steps are also those of torch: of an optimizer,
					 * after which the recording ends; 0: it does not */
	uint64_t max_entries;   /* kept of each device; 0: the recorder's default */
};

#define SUFFIX ".pickle"
#define RECORDING "trace.ndjson.zst"

static const struct frag_support_file module = {
	.file = "python/recorder/sitecustomize.py",
	.installed = "../share/fragsim/",
	.variable = "FRAGSIM_RECORD_PYTHON",
};
static const struct frag_support_file library = {
	.file = "libfragsim-record.so",
	.installed = "../lib/fragsim/",
	.variable = "FRAGSIM_RECORD_LIBRARY",
};

/* The path of a file from its folder, which is there, and its name. */
static int whole_name(const char *name, char whole[PATH_MAX])
{
	const char *base = frag_file_name(name);
	const size_t length = (size_t)(base - name);
	char folder[PATH_MAX], found[PATH_MAX];

	errno = ENAMETOOLONG;
	if (length >= sizeof(folder))
		return -1;
	memcpy(folder, name, length);
	folder[length] = '\0';
	if (!realpath(length ? folder : ".", found))
		return -1;
	errno = ENAMETOOLONG;
	return snprintf(whole, PATH_MAX, "%s%s%s", found, found[1] ? "/" : "", base) < PATH_MAX
	       ? 0 : -1;
}

/* Checks, before the program runs, that a temporary file can be written in the folder. */
static int try_folder(const char *whole)
{
	char beside[PATH_MAX + 32];
	int fd;

	snprintf(beside, sizeof(beside), "%s.XXXXXX", whole);
	fd = frag_temporary_create(beside);
	if (fd < 0)
		return -1;
	close(fd);
	return unlink(beside);
}

static int set_name(const char *output, struct frag_error *err)
{
	size_t length = strlen(output);
	char name[PATH_MAX], whole[PATH_MAX];

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

/* What the variable had before stays, behind ours. */
static int put_in_front(const char *variable, const char *path, struct frag_error *err)
{
	const char *others = getenv(variable);
	const size_t room = strlen(path) + (others ? strlen(others) : 0) + 2;
	char *all = malloc(room);

	if (!all)
		return frag_fail_nomem(err);
	snprintf(all, room, "%s%s%s", path, others && *others ? ":" : "", others ? others : "");
	setenv(variable, all, 1);
	free(all);
	return 0;
}

static int set_path(struct frag_error *err)
{
	char folder[PATH_MAX];
	int rc = frag_find_support_file(&module, folder, err);

	if (rc)
		return rc;
	*strrchr(folder, '/') = '\0';
	if (strchr(folder, ':'))
		return frag_fail(err, FRAG_EUSAGE, "%s: the path has a colon, which PYTHONPATH"
				 " cannot have", folder);
	return put_in_front("PYTHONPATH", folder, err);
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

/* Which program answers where memory runs out: this one. */
static int set_explain(bool explain, struct frag_error *err)
{
	char self[PATH_MAX];

	unsetenv("FRAGSIM_TORCH_EXPLAIN");
	if (!explain)
		return 0;
	if (!frag_executable_path(self))
		return frag_fail(err, FRAG_EUSAGE, "--explain: /proc does not name this program");
	setenv("FRAGSIM_TORCH_PROGRAM", self, 1);
	setenv("FRAGSIM_TORCH_EXPLAIN", "1", 1);
	return 0;
}

static void set_start(const char *variable, clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	set_number(variable, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}

static int prepare_torch(const struct record *r, struct frag_error *err)
{
	int rc = set_name(r->output ? r->output : r->explain ? "oom" SUFFIX : "trace" SUFFIX, err);

	rc = rc ? rc : set_path(err);
	rc = rc ? rc : set_explain(r->explain, err);
	if (rc)
		return rc;
	set_start("FRAGSIM_TORCH_START", CLOCK_REALTIME);
	set_number("FRAGSIM_TORCH_STEPS", r->model.steps);
	set_number("FRAGSIM_TORCH_ENTRIES", r->max_entries);
	/* of a recording that this one is within */
	unsetenv("FRAGSIM_TORCH_FIRST");
	unsetenv("FRAGSIM_TORCH_OWNER");
	unsetenv("FRAGSIM_TORCH_RANK_OWNER");
	return 0;
}

#define STATUS_CANNOT_RUN 126           /* as shells, env and nohup have them */

static const struct frag_opt opts[] = {
	{ 'o', "output", "FILE", "write the trace to FILE (trace.ndjson.zst, or trace.pickle)",
	  FRAG_TEXT(struct record, output) },
	{ 0, "stacks", NULL, "tag allocations with the whole stack, not the caller alone",
	  FRAG_FLAG(struct record, stacks) },
	{ 0, "torch", NULL, "record PyTorch's allocator instead: a memory snapshot of each process",
	  FRAG_FLAG(struct record, torch) },
	{ 0, "explain", NULL, "with --torch: write and explain an out-of-memory, and nothing else",
	  FRAG_FLAG(struct record, explain) },
	{ 0, "max-entries", "N", "with --torch: keep the last N events of each device (1000000)",
	  FRAG_COUNT(struct record, max_entries, 1, FRAG_COUNT_MAX) },
	FRAG_MODEL_ROWS(struct record, "iterations of --model (3); with --torch: where the recording ends"),
	{ 0 },
};

static const struct frag_refusal refusals[] = {
	FRAG_MODEL_REFUSALS,
	{ "model torch|stacks|explain|max-entries", "=--model is without --%s: a model needs no program" },
	{ "model TRACE", "=--model is without a program: a model needs no program" },
	{ "!model !TRACE", "missing argument: PROGRAM" },
	{ "torch stacks", "=--stacks is not for --torch: a snapshot has whole stacks" },
	{ "iterations explain", "=--explain is without --%s: nothing is written before memory runs out" },
	{ "iterations|explain|max-entries !torch !model", "=--%s is for --torch" },
	{ "output=- !model", "=--output -: standard output is the program's; a recording needs a file" },
	{ 0 },
};

static int set_preload(struct frag_error *err)
{
	char path[PATH_MAX];
	int rc = frag_find_support_file(&library, path, err);

	if (rc)
		return rc;
	if (strpbrk(path, " :"))
		return frag_fail(err, FRAG_EUSAGE, "%s: LD_PRELOAD cannot hold a path with a blank or"
				 " a colon; copy that file elsewhere and set"
				 " FRAGSIM_RECORD_LIBRARY to the copy", path);
	return put_in_front("LD_PRELOAD", path, err);
}

/* Passes the identity of the file that the recorder replaces at the first event. */
static void name_old(int fd)
{
	char text[64];
	struct stat st;

	if (fstat(fd, &st) != 0)
		return;
	snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("FRAGSIM_RECORD_OLD", text, 1);
}

/*
 * Checks that the file can be written; the recorder creates the file at the first event. An older
 * file is unchanged until then. A file that another recorder writes, and has locked, is refused.
 */
static int prepare_file(const char *path, char whole[PATH_MAX], struct frag_error *err)
{
	struct stat st;
	int fd, rc = 0;

	unsetenv("FRAGSIM_RECORD_OLD");
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return frag_fail(err, FRAG_EOUTPUT, "%s: not a regular file", path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		/* the name itself stays free until the first event */
		if (errno == ENOENT && whole_name(path, whole) == 0 && try_folder(whole) == 0)
			return 0;
		return frag_fail(err, FRAG_EOUTPUT, "%s: %s", path, strerror(errno));
	}
	if (!frag_file_lock(fd))
		rc = frag_fail(err, FRAG_EOUTPUT, "%s: another recording is writing this file;"
			       " give another name: -o FILE", path);
	else if (!realpath(path, whole))
		rc = frag_fail(err, FRAG_EOUTPUT, "%s: %s", path, strerror(errno));
	else
		name_old(fd);
	close(fd);
	return rc;
}

static int prepare_library(const struct record *r, struct frag_error *err)
{
	char whole[PATH_MAX];
	int rc = prepare_file(r->output ? r->output : RECORDING, whole, err);

	rc = rc ? rc : set_preload(err);
	/* gcc's address sanitizer ends a program in which another library comes before its own */
	rc = rc ? rc : put_in_front("ASAN_OPTIONS", "verify_asan_link_order=0", err);
	if (rc)
		return rc;
	set_start("FRAGSIM_RECORD_START", CLOCK_MONOTONIC);
	set_number("FRAGSIM_RECORD_PROCESS", (uint64_t)getpid());
	set_number("FRAGSIM_RECORD_STACKS", r->stacks);
	setenv("FRAGSIM_RECORD_FILE", whole, 1);
	return 0;
}

/* Returns only where the program, or the Python that records a model, cannot be run. */
static int record_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	const struct record *r = own;
	int rc;

	if (!frag_has_programs)
		return frag_fail(err, FRAG_EUSAGE, "%s", FRAG_NO_PROGRAMS);
	if (r->model.config)
		return frag_model_exec(&r->model, r->output ? r->output : RECORDING, args->status, err);
#ifdef FRAG_NO_RECORDER
	if (!r->torch)
		return frag_fail(err, FRAG_EUSAGE, "this build has no recorder, as CUDA is on Linux with"
				 " glibc alone: record there, where the program runs, and analyse the"
				 " trace here");
#endif
	rc = r->torch ? prepare_torch(r, err) : prepare_library(r, err);
	if (rc)
		return rc;
	frag_release_signals();
	frag_program_exec(args->words);
	*args->status = errno == ENOENT ? FRAG_STATUS_NOT_FOUND : STATUS_CANNOT_RUN;
	frag_print_message("%s: %s", args->words[0], strerror(errno));
	return 0;
}

const struct frag_cmd frag_cmd_record = {
	.name = "record",
	.group = FRAG_GROUP_FAILURE,
	.args = "[options] -- PROGRAM [ARGUMENT]... | --model CONFIG",
	.summary = "record a PyTorch or CUDA program, or a model, as a trace",
	.opts = opts,
	.refusals = refusals,
	.needs = FRAG_NEEDS_PROGRAM,
	.size = sizeof(struct record),
	.exec = record_exec,
};
