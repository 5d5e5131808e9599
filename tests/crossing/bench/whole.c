/*
 * whole.c - end to end, as `run` does it, in a process of its own.
 *
 * The process is this program again, so that its peak of memory is that of the
 * run alone. It says what it took and found in one line on standard output.
 */
#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crossing/bench/bench.h"

extern char **environ;

/* What a child found. */
struct found {
	uint64_t ns, wall_ns;
	uint64_t events, allocs;
	uint64_t peak;          /* of requested bytes, the same under every policy */
	uint64_t memory;        /* bytes */
};

/* The most memory that this process has held; 0 where the system does not say. */
static uint64_t memory_peak(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	uint64_t kib = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %" SCNu64, &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib << 10;
}

static int make_sims(struct frag_sim **sims, uint32_t *count, char **policies,
		     const struct frag_trace *trace, struct frag_error *err)
{
	const struct frag_sim_options options = { .on_oom_continue = true };
	struct frag_choice choice;
	int rc = 0;

	for (*count = 0; policies[*count] && *count < 2 && !rc; *count += !rc) {
		rc = frag_choice_parse(&choice, policies[*count], err);
		rc = rc ? rc : frag_sim_new(&sims[*count], &choice, trace, &options, err);
	}
	return rc;
}

static int run(const char *path, uint32_t threads, char **policies, struct found *found,
	       struct frag_error *err)
{
	const struct frag_trace_options options = { .lenient = false };
	const struct frag_worker_options workers = { .threads = threads };
	uint64_t begin = bench_now(), wall = bench_wall();
	struct frag_sim *sims[2];
	struct frag_trace *trace;
	uint32_t count = 0, devices;
	int rc = frag_trace_open(&trace, path, &options, err);

	if (rc)
		return rc;
	rc = make_sims(sims, &count, policies, trace, err);
	rc = rc ? rc : frag_workers_run(sims, count, trace, &workers, err);
	for (uint32_t i = 0; i < count; i++) {
		const struct frag_result *r = frag_sim_results(sims[i], false, &devices);

		rc = rc ? rc : bench_agree(r->steps, frag_trace_info(trace)->events, "steps", err);
		found->peak = r->lower_bound;
		frag_sim_del(sims[i]);
	}
	found->events = frag_trace_info(trace)->events;
	found->allocs = frag_trace_info(trace)->allocs;
	frag_trace_close(trace);
	found->ns = bench_now() - begin;
	found->wall_ns = bench_wall() - wall;
	found->memory = memory_peak();
	return rc;
}

int bench_whole_child(int argc, char **argv)
{
	struct frag_error err = { .code = 0 };
	struct found f = { .ns = 0 };
	int rc;

	if (argc < 3)
		return frag_error_status(-FRAG_EUSAGE);
	rc = run(argv[0], (uint32_t)strtoul(argv[1], NULL, 10), argv + 2, &f, &err);
	if (rc)
		fprintf(stderr, "bench: %s\n", err.message);
	else
		printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		       f.ns, f.wall_ns, f.events, f.allocs, f.peak, f.memory);
	return frag_error_status(rc);
}

/* Starts this program with these arguments; its standard output comes through *out. */
static int start(const char *const *argv, pid_t *pid, FILE **out, struct frag_error *err)
{
	posix_spawn_file_actions_t actions;
	char *copy[8] = { NULL };
	int ends[2], rc;

	for (size_t i = 0; argv[i] && i < 7; i++)
		copy[i] = (char *)(uintptr_t)argv[i];
	if (pipe(ends))
		return frag_fail(err, FRAG_EOUTPUT, "pipe: %s", strerror(errno));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	posix_spawn_file_actions_addclose(&actions, ends[1]);
	rc = posix_spawn(pid, "/proc/self/exe", &actions, NULL, copy, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	*out = rc ? NULL : fdopen(ends[0], "r");
	if (*out)
		return 0;
	close(ends[0]);
	return frag_fail(err, FRAG_EOUTPUT, "cannot start a process: %s", strerror(rc));
}

static int run_child(const char *const *argv, struct found *f, struct frag_error *err)
{
	FILE *out;
	pid_t pid;
	int got, status, rc = start(argv, &pid, &out, err);

	if (rc)
		return rc;
	got = fscanf(out, "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64,
		     &f->ns, &f->wall_ns, &f->events, &f->allocs, &f->peak, &f->memory);
	fclose(out);
	if (waitpid(pid, &status, 0) != pid || status != 0 || got != 6)
		return frag_fail(err, FRAG_ECHECK, "a process that ran %s failed", argv[2]);
	return 0;
}

int bench_whole_memory(const char *path, uint64_t *memory, struct frag_error *err)
{
	const char *const argv[] = { "bench", "--child", path, "1", "bestfit", NULL };
	struct found f = { .ns = 0 };
	int rc = run_child(argv, &f, err);

	*memory = f.memory;
	return rc;
}

static int whole(const struct bench_measure *m, const struct bench_subject *s, const char *path,
		 struct bench_sample *out, struct frag_error *err)
{
	char threads[16];
	const char *const argv[] = {
		"bench", "--child", path, threads, m->policies[0], m->policies[1], NULL,
	};
	struct found f = { .ns = 0 };
	int rc;

	snprintf(threads, sizeof(threads), "%u", m->threads);
	rc = run_child(argv, &f, err);
	*out = (struct bench_sample){
		.ns = m->kind == BENCH_THREADS ? f.wall_ns : f.ns, .events = f.events,
		.memory = f.memory,
	};
	rc = rc ? rc : bench_agree(f.events, s->spec.events, "events of a whole run", err);
	rc = rc ? rc : bench_agree(f.allocs, s->allocs, "allocs of a whole run", err);
	return rc ? rc : bench_agree(f.peak, s->peak, "peak of requested bytes", err);
}

int bench_whole_lines(const struct bench_measure *m, struct bench_subject *s,
		      struct bench_sample *out, struct frag_error *err)
{
	return whole(m, s, s->lines, out, err);
}

int bench_whole_object(const struct bench_measure *m, struct bench_subject *s,
		       struct bench_sample *out, struct frag_error *err)
{
	return whole(m, s, s->object, out, err);
}
