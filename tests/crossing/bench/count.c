/*
 * count.c - one trace read, or run once from a tape: for who counts instructions.
 *
 * counts.py runs it under callgrind, which counts within frag_trace_next() or within
 * frag_sim_play(), and nothing else of it. Both are called for the one purpose only: a tape is
 * made of a trace too, but of one without lines.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crossing/bench/bench.h"

static const char *const shapes[] = { [BENCH_RANDOM] = "random", [BENCH_TRAINING] = "training" };
static const char *const levels[] = {
	[FRAG_LEVEL_ALL] = "all", [FRAG_LEVEL_PEAKS] = "peaks", [FRAG_LEVEL_SURVIVE] = "survive",
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Its place in the list; past the end where it is not there. */
static size_t find(const char *const *names, size_t count, const char *name)
{
	size_t i = 0;

	while (i < count && strcmp(names[i], name) != 0)
		i++;
	return i;
}

/* From the tape; what the workload holds is known since its lines were written. */
static int run_once(struct bench_subject *s, const char *policy, enum frag_level level,
		    struct frag_error *err)
{
	const struct bench_measure m = { .policies = { policy }, .level = level };
	struct bench_sample sample = { .ns = 0 };
	int rc = bench_tape_new(&s->tape, &s->spec, err);

	rc = rc ? rc : bench_feed(&m, s, &sample, err);
	bench_tape_del(s->tape);
	return rc;
}

/* argv: SHAPE LIVE EVENTS POLICY LEVEL FILE; level "reading": no run. The exit status. */
int bench_count(char **argv)
{
	const size_t shape = find(shapes, LENGTH(shapes), argv[0]);
	const size_t level = find(levels, LENGTH(levels), argv[4]);
	struct bench_subject s = {
		.spec = { (enum bench_shape)shape, (uint32_t)strtoul(argv[1], NULL, 10),
			  strtoull(argv[2], NULL, 10) },
		.lines = argv[5],
	};
	const bool reading = strcmp(argv[4], "reading") == 0;
	struct bench_sample sample = { .ns = 0 };
	struct frag_error err = { .code = 0 };
	int rc;

	if (shape == LENGTH(shapes) || (level == LENGTH(levels) && !reading))
		return frag_error_status(-FRAG_EUSAGE);
	rc = bench_write_traces(&s, true, false, &err);
	if (!rc)
		rc = reading ? bench_ids(NULL, &s, &sample, &err)
			     : run_once(&s, argv[3], (enum frag_level)level, &err);
	unlink(s.lines);
	if (rc)
		fprintf(stderr, "bench: %s\n", err.message);
	return frag_error_status(rc);
}
