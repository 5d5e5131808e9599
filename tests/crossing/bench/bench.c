/*
 * bench.c - how fast everything is, in one run: `make bench`.
 *
 * bench [--quick | --tiny] [--only PART] [--json FILE] [--snapshot FILE]
 * [TRACE | FOLDER]...; a part is events, snapshots, recorded or growth. Files go below $BUILD
 * (default: build) and are deleted. The table goes to standard output, JSON to FILE
 * ($BUILD/bench.json). A snapshot of PyTorch that is named is loaded beside one that is made
 * up. Traces are recorded ones (default: those of traces). --tiny takes everything once, on a
 * hundredth of the events: it shows that all works, and its figures say nothing.
 */
#include "crossing/bench/bench.h"

#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define M UINT64_C(1000000)
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define BIT(kind) (1u << (kind))
#define READING                                                               \
	(BIT(BENCH_BOUND) | BIT(BENCH_READ) | BIT(BENCH_DECODE) | BIT(BENCH_BINARY) | BIT(BENCH_IDS))
#define ALL (BIT(BENCH_KINDS) - 1)
#define LONG (READING | BIT(BENCH_LINES))
#define ONLY_POLICIES (BIT(BENCH_BOUND) | BIT(BENCH_FEED) | BIT(BENCH_LINES))
#define NEED_LINES (READING | BIT(BENCH_LINES) | BIT(BENCH_THREADS))
#define NEED_TAPE (BIT(BENCH_FEED) | BIT(BENCH_ROWS) | BIT(BENCH_LEVELS))

struct bench {
	struct bench_report report;
	struct bench_measure measures[BENCH_MEASURES_MAX];
	const char *build;
	const char *json;
	const char *snapshot;
	const char *paths[BENCH_RECORDED_MAX];  /* of recorded traces */
	uint32_t path_count;
	glob_t found;                   /* owns those that were found in folders */
	const char *only;               /* NULL: all parts */
	bool quick, tiny;
};

static const struct bench_plan full[] = {
	{ "random 2000", { BENCH_RANDOM, 2000, M }, ALL, 5 },
	{ "random 50000", { BENCH_RANDOM, 50000, M }, ALL, 5 },
	{ "training 2000", { BENCH_TRAINING, 2000, M }, ALL, 5 },
	{ "training 50000", { BENCH_TRAINING, 50000, M }, ALL, 5 },
	{ "one size 1 M", { BENCH_ONE_SIZE, M, 4 * M }, ONLY_POLICIES, 3 },
	{ "random 2000", { BENCH_RANDOM, 2000, 10 * M }, LONG, 3 },
	{ "random 50000", { BENCH_RANDOM, 50000, 10 * M }, LONG, 3 },
	{ "training 2000", { BENCH_TRAINING, 2000, 10 * M }, LONG | BIT(BENCH_OBJECT), 3 },
	{ "training 50000", { BENCH_TRAINING, 50000, 10 * M }, LONG, 3 },
};

static const struct bench_plan quick[] = {
	{ "random 2000", { BENCH_RANDOM, 2000, M }, ALL, 2 },
	{ "random 50000", { BENCH_RANDOM, 50000, M }, ALL, 2 },
	{ "training 2000", { BENCH_TRAINING, 2000, M }, ALL, 2 },
	{ "training 50000", { BENCH_TRAINING, 50000, M }, ALL, 2 },
};

static const struct bench_measure before[] = {
	{ BENCH_BOUND, "bound: find line ends", { NULL }, 0, 0, bench_bound },
	{ BENCH_READ, "just read the bytes", { NULL }, 0, 0, bench_read },
	{ BENCH_DECODE, "decode", { NULL }, 0, 0, bench_decode },
	{ BENCH_BINARY, "decode the binary form", { NULL }, 0, 0, bench_binary },
	{ BENCH_IDS, "decode, ids", { NULL }, 0, 0, bench_ids },
};

static const struct bench_measure after[] = {
	{ BENCH_LEVELS, "bestfit, peaks", { "bestfit" }, 0, FRAG_LEVEL_PEAKS, bench_feed },
	{ BENCH_LEVELS, "bestfit, survive", { "bestfit" }, 0, FRAG_LEVEL_SURVIVE, bench_feed },
	{ BENCH_LEVELS, "pytorch, survive", { "pytorch" }, 0, FRAG_LEVEL_SURVIVE, bench_feed },
	{ BENCH_ROWS, "bestfit, --steps CSV", { "bestfit" }, 0, 0, bench_feed_rows },
	{ BENCH_LINES, "end to end, lines", { "bestfit" }, 1, 0, bench_whole_lines },
	{ BENCH_OBJECT, "end to end, object", { "bestfit" }, 1, 0, bench_whole_object },
	{ BENCH_THREADS, "one policy, 1 thread", { "bestfit" }, 1, 0, bench_whole_lines },
	{ BENCH_THREADS, "one policy, 2 threads", { "bestfit" }, 2, 0, bench_whole_lines },
	{ BENCH_THREADS, "two policies, 1 thread", { "bestfit", "firstfit" }, 1, 0,
	  bench_whole_lines },
	{ BENCH_THREADS, "two policies, 2 threads", { "bestfit", "firstfit" }, 2, 0,
	  bench_whole_lines },
};

static uint64_t nanoseconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t bench_now(void)
{
	return nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t bench_wall(void)
{
	return nanoseconds(CLOCK_MONOTONIC);
}

int bench_agree(uint64_t a, uint64_t b, const char *what, struct frag_error *err)
{
	return a == b ? 0 : frag_fail(err, FRAG_ECHECK, "%s: %" PRIu64 ", not %" PRIu64, what, a,
				      b);
}

/* The fixed measures, with one for each policy between them. */
static void list_measures(struct bench *b)
{
	uint32_t n = LENGTH(before);

	memcpy(b->measures, before, sizeof(before));
	for (const struct frag_policy_ops *const *p = frag_policies(); *p; p++)
		if (n + LENGTH(after) + 1 < BENCH_MEASURES_MAX)
			b->measures[n++] = (struct bench_measure){
				BENCH_FEED, (*p)->name, { (*p)->name }, 0, 0, bench_feed,
			};
	memcpy(b->measures + n, after, sizeof(after));
	b->report.measures = b->measures;
	b->report.measure_count = n + LENGTH(after);
}

static char *path_in(const char *folder, const char *name)
{
	size_t size = strlen(folder) + strlen(name) + 2;
	char *path = malloc(size);

	if (path)
		snprintf(path, size, "%s/%s", folder, name);
	return path;
}

static int prepare(struct bench_subject *s, const struct bench_case *c, struct frag_error *err)
{
	int rc = bench_write_traces(s, c->plan.kinds & NEED_LINES, c->plan.kinds & BIT(BENCH_OBJECT), err);

	if (!rc && c->plan.kinds & BIT(BENCH_BINARY))
		rc = bench_write_binary(s, err);
	return rc || !(c->plan.kinds & NEED_TAPE) ? rc : bench_tape_new(&s->tape, &c->plan.spec, err);
}

/* All repetitions of a case, round and round through its measures. */
static int repeat(const struct bench *b, struct bench_case *c, struct bench_subject *s,
		  struct frag_error *err)
{
	int rc = 0;

	for (uint32_t round = 0; round < c->plan.repeats; round++) {
		for (uint32_t m = 0; m < b->report.measure_count && !rc; m++) {
			struct bench_series *series = &c->series[m];

			if (c->plan.kinds & BIT(b->measures[m].kind))
				rc = b->measures[m].take(&b->measures[m], s,
							 &series->samples[series->count++], err);
		}
	}
	c->lines_bytes = s->lines_bytes;
	return rc;
}

static int run_case(const struct bench *b, struct bench_case *c, struct frag_error *err)
{
	struct bench_subject s = { .spec = c->plan.spec };
	int rc;

	s.lines = path_in(b->build, "bench-lines.ndjson");
	s.object = path_in(b->build, "bench-object.json");
	s.binary = path_in(b->build, "bench-binary.fsb");
	s.window = malloc(BENCH_WINDOW);
	rc = s.lines && s.object && s.binary && s.window ? prepare(&s, c, err) : frag_fail_nomem(err);
	rc = rc ? rc : repeat(b, c, &s, err);
	if (s.lines)
		unlink(s.lines);
	if (s.object)
		unlink(s.object);
	if (s.binary)
		unlink(s.binary);
	bench_tape_del(s.tape);
	free(s.window);
	free(s.binary);
	free(s.object);
	free(s.lines);
	return rc;
}

static void describe_machine(struct bench_report *r)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256];

	snprintf(r->processor, sizeof(r->processor), "unknown processor");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "model name : %127[^\n]", r->processor) == 1)
			break;
	if (f)
		fclose(f);
	r->processors = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __clang__
	snprintf(r->compiler, sizeof(r->compiler), "%s", __VERSION__);
#else
	snprintf(r->compiler, sizeof(r->compiler), "gcc %s", __VERSION__);
#endif
}

static bool parse(struct bench *b, int argc, char **argv)
{
	const char *build = getenv("BUILD");

	b->build = build && *build ? build : "build";
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0)
			b->quick = true;
		else if (strcmp(argv[i], "--tiny") == 0)
			b->quick = b->tiny = true;
		else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
			b->json = argv[++i];
		else if (strcmp(argv[i], "--snapshot") == 0 && i + 1 < argc)
			b->snapshot = argv[++i];
		else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
			b->only = argv[++i];
		else if (*argv[i] != '-' && b->path_count < BENCH_RECORDED_MAX)
			b->paths[b->path_count++] = argv[i];
		else
			return false;
	}
	if (!b->path_count)
		b->paths[b->path_count++] = "traces";
	return true;
}

/* Folders give way to the traces in them, by name. */
static int find_recorded(struct bench *b, struct frag_error *err)
{
	static const char *const endings[] = { "gz", "zst", "ndjson", "fsb" };
	char pattern[1024];
	struct stat st;

	for (uint32_t i = 0; i < b->path_count; i++) {
		const bool folder = stat(b->paths[i], &st) == 0 && S_ISDIR(st.st_mode);

		for (size_t k = 0; k < (folder ? LENGTH(endings) : 1); k++) {
			snprintf(pattern, sizeof(pattern), folder ? "%s/*.%s" : "%s", b->paths[i],
				 endings[k]);
			glob(pattern, (i || k ? GLOB_APPEND : 0) | (folder ? 0 : GLOB_NOCHECK), NULL,
			     &b->found);
		}
	}
	if (!b->found.gl_pathc || b->found.gl_pathc > BENCH_RECORDED_MAX)
		return frag_fail(err, FRAG_EUSAGE, "%s: %zu traces, not 1 to %d", b->paths[0],
				 b->found.gl_pathc, BENCH_RECORDED_MAX);
	b->path_count = (uint32_t)b->found.gl_pathc;
	for (uint32_t i = 0; i < b->path_count; i++)
		b->paths[i] = b->found.gl_pathv[i];
	return 0;
}

static int load_snapshots(struct bench *b, struct frag_error *err)
{
	struct bench_snapshot *s = b->report.snapshots;
	char *path = path_in(b->build, "bench-snapshot.pickle");
	int rc = path ? 0 : frag_fail_nomem(err);

	fprintf(stderr, "snapshots\n");
	rc = rc ? rc : bench_snapshot(s++, path, true, b->quick, err);
	if (b->snapshot && !rc)
		rc = bench_snapshot(s++, b->snapshot, false, b->quick, err);
	b->report.snapshot_count = (uint32_t)(s - b->report.snapshots);
	free(path);
	return rc;
}

static int run_recorded(struct bench *b, struct frag_error *err)
{
	int rc = 0;

	fprintf(stderr, "recorded traces\n");
	for (uint32_t i = 0; i < b->path_count && !rc; i++)
		rc = bench_recorded(&b->report.recorded[b->report.recorded_count++], b->paths[i],
				    b->quick, err);
	return rc ? rc : bench_sweep(&b->report.sweep, b->paths, b->path_count, b->quick, err);
}

/* With --tiny as there is at least: of each a hundredth, once. */
static struct bench_plan planned(const struct bench *b, uint32_t i)
{
	struct bench_plan plan = b->quick && !b->tiny ? quick[i] : full[i];

	if (b->tiny) {
		plan.spec.events /= 100;
		plan.repeats = 1;
		if (plan.spec.shape == BENCH_ONE_SIZE)
			plan.spec.live /= 100;
	}
	return plan;
}

/* Each size ten times the one before; the first as the machine has time. */
static int run_growth(struct bench *b, struct frag_error *err)
{
	uint32_t size = b->tiny ? 100 : b->quick ? 1000 : 10000;

	for (uint32_t i = 0; i < BENCH_SIZES; i++, size *= 10)
		b->report.sizes[i] = size;
	return bench_growth(&b->report, err);
}

static bool wanted(const struct bench *b, const char *part)
{
	return !b->only || strcmp(b->only, part) == 0;
}

static int run_all(struct bench *b, struct frag_error *err)
{
	uint32_t count = !wanted(b, "events") ? 0 : b->quick && !b->tiny ? LENGTH(quick)
								    : LENGTH(full);
	struct bench_case *cases = calloc(LENGTH(full), sizeof(*cases));
	char *json = b->json ? NULL : path_in(b->build, "bench.json");
	int rc = cases && (json || b->json) ? find_recorded(b, err) : frag_fail_nomem(err);

	b->report.run = b->tiny ? "tiny" : b->quick ? "quick" : "full";
	list_measures(b);
	describe_machine(&b->report);
	for (uint32_t i = 0; i < count && !rc; i++) {
		cases[i].plan = planned(b, i);
		fprintf(stderr, "%u of %u: %s, %" PRIu64 " events\n", i + 1, count,
			cases[i].plan.name, cases[i].plan.spec.events);
		rc = run_case(b, &cases[i], err);
	}
	if (!rc && wanted(b, "snapshots"))
		rc = load_snapshots(b, err);
	if (!rc && wanted(b, "recorded"))
		rc = run_recorded(b, err);
	if (!rc && wanted(b, "growth"))
		rc = run_growth(b, err);
	b->report.cases = cases;
	b->report.case_count = count;
	if (!rc) {
		bench_table(&b->report, stdout);
		rc = bench_json(&b->report, b->json ? b->json : json, err);
	}
	globfree(&b->found);
	free(json);
	free(cases);
	return rc;
}

int main(int argc, char **argv)
{
	struct bench b = { .quick = false };
	struct frag_error err = { .code = 0 };
	int rc;

	if (argc > 2 && strcmp(argv[1], "--child") == 0)
		return bench_whole_child(argc - 2, argv + 2);
	if (argc == 4 && strcmp(argv[1], "--rerun") == 0)
		return bench_rerun((uint32_t)strtoul(argv[2], NULL, 10), argv[3]);
	if (argc == 8 && strcmp(argv[1], "--count") == 0)
		return bench_count(argv + 2);
	if (!parse(&b, argc, argv)) {
		fprintf(stderr, "usage: bench [--quick | --tiny] [--only PART] [--json FILE] "
				"[--snapshot FILE] [TRACE | FOLDER]...\n");
		return frag_error_status(-FRAG_EUSAGE);
	}
	rc = run_all(&b, &err);
	if (rc)
		fprintf(stderr, "bench: %s\n", err.message);
	return frag_error_status(rc);
}
