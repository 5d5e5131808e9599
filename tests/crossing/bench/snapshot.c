/*
 * snapshot.c - loading a snapshot of PyTorch against Python's pickle.load.
 *
 * Python and we by turns, each time from the file; what Python starts up with is
 * left out. A script beside this file makes the snapshot, if no other is named.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "crossing/bench/bench.h"
#include "input/value_tree.h"

#define LOADS 3                 /* in a row, as load.py has them */
#define PYTHON "/usr/bin/python3 -B tests/crossing/bench/"

static void min(uint64_t *of, uint64_t ns)
{
	*of = *of == 0 || ns < *of ? ns : *of;
}

/* What Python does too: from the file to values. */
static int take_values(const char *path, uint64_t *ns, struct frag_error *err)
{
	uint64_t begin = bench_now();
	struct frag_values values;
	struct frag_value root;
	struct frag_input in;
	int rc = frag_input_open(&in, path, err);

	if (rc)
		return rc;
	rc = frag_pickle_stream(&values, &root, &in, NULL, err);
	min(ns, bench_now() - begin);
	frag_values_fini(&values);
	frag_input_close(&in);
	return rc;
}

/* All that is done before the first event: the first state and the plan as well. */
static int take_open(const char *path, uint64_t *ns, struct frag_error *err)
{
	const struct frag_trace_options options = { .lenient = false };
	uint64_t begin = bench_now();
	struct frag_trace *trace;
	int rc = frag_trace_open(&trace, path, &options, err);

	if (rc)
		return rc;
	min(ns, bench_now() - begin);
	frag_trace_close(trace);
	return 0;
}

static int take_python(const char *path, uint64_t *ns, struct frag_error *err)
{
	char command[1024];
	uint64_t taken = 0;
	FILE *f;
	int got = 0;

	snprintf(command, sizeof(command), PYTHON "load.py '%s'", path);
	f = popen(command, "r");
	if (f)
		got = fscanf(f, "%" SCNu64, &taken);
	if (!f || pclose(f) != 0 || got != 1)
		return frag_fail(err, FRAG_ECHECK, "this failed: %s", command);
	min(ns, taken);
	return 0;
}

static int make(const char *path, uint32_t events, struct frag_error *err)
{
	char command[1024];

	snprintf(command, sizeof(command), PYTHON "make_snapshot.py '%s' %u", path, events);
	return system(command) == 0 ? 0 : frag_fail(err, FRAG_ECHECK, "this failed: %s", command);
}

int bench_snapshot(struct bench_snapshot *s, const char *path, bool made, bool quick,
		   struct frag_error *err)
{
	struct stat st;
	int rc = made ? make(path, quick ? 20000 : 100000, err) : 0;

	*s = (struct bench_snapshot){ .name = made ? "made up" : path, .repeats = quick ? 3 : 7 };
	if (!rc && stat(path, &st) == 0)
		s->bytes = (uint64_t)st.st_size;
	for (uint32_t i = 0; i < s->repeats && !rc; i++) {
		rc = take_python(path, &s->python_ns, err);
		for (uint32_t k = 0; k < LOADS && !rc; k++)
			rc = take_values(path, &s->values_ns, err);
		for (uint32_t k = 0; k < LOADS && !rc; k++)
			rc = take_open(path, &s->open_ns, err);
	}
	rc = rc ? rc : bench_whole_memory(path, &s->memory, err);
	if (made)
		unlink(path);
	return rc;
}

static void put_line(FILE *f, const char *name, uint64_t ns, uint64_t python)
{
	fprintf(f, "%-26s%11.2f ms%7.3f\n", name, (double)ns / 1e6, (double)ns / (double)python);
}

void bench_snapshot_table(const struct bench_snapshot *s, FILE *f)
{
	fprintf(f, "\nsnapshot, %s: %.1f MiB, least of %u repetitions, and the ratio to Python\n",
		s->name, (double)s->bytes / 1048576, s->repeats);
	put_line(f, "Python's pickle.load", s->python_ns, s->python_ns);
	put_line(f, "values out of the file", s->values_ns, s->python_ns);
	put_line(f, "ready for the first event", s->open_ns, s->python_ns);
	fprintf(f, "%-26s%11.1f MiB%6.2f times the file\n", "peak memory of a run",
		(double)s->memory / 1048576, (double)s->memory / (double)s->bytes);
}

void bench_snapshot_json(const struct bench_snapshot *s, struct frag_node_ref in)
{
	frag_json_text(in, "name", s->name);
	frag_json_u64(in, "bytes", s->bytes);
	frag_json_u64(in, "repetitions", s->repeats);
	frag_json_u64(in, "ns_python", s->python_ns);
	frag_json_u64(in, "ns_values", s->values_ns);
	frag_json_u64(in, "ns_open", s->open_ns);
	frag_json_u64(in, "peak_memory_bytes", s->memory);
}
