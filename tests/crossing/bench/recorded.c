/*
 * recorded.c - recorded traces on a tape: what another run costs, once they are read.
 *
 * Under the policy pytorch: a whole run at each level, one on a device a tenth smaller than
 * what the trace holds at its peak, which stops where memory runs out, and a fork: a copy of a
 * run half way, and its end. A process of its own says what memory one run takes, and a
 * thousand of them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "crossing/bench/bench.h"

#define COPIES 20

struct recorded {
	struct frag_trace *trace;
	struct frag_tape *tape;
	struct frag_choice choice;
};

static int open_all(struct recorded *r, const char *path, struct frag_error *err)
{
	int rc = frag_choice_parse(&r->choice, "pytorch", err);

	rc = rc ? rc : frag_trace_open(&r->trace, path, NULL, err);
	rc = rc ? rc : frag_tape_new(&r->tape, r->trace, NULL, err);
	return rc ? rc : bench_agree(frag_tape_info(r->tape)->device_count, 1, "devices", err);
}

static void close_all(struct recorded *r)
{
	frag_tape_del(r->tape);
	frag_trace_close(r->trace);
}

static void keep_min(uint64_t *min, uint64_t ns)
{
	*min = *min && *min < ns ? *min : ns;
}

/* One run; *peak: of requested bytes, where the level knows it. */
static int run(const struct recorded *r, enum frag_level level, uint64_t total, uint64_t *min,
	       uint64_t *peak, struct frag_error *err)
{
	const struct frag_device_figures device = {
		.total = total, .granularity = FRAG_GRANULARITY,
	};
	const struct frag_sim_options options = { .devices = &device, .level = level };
	struct frag_tape_reader *reader = frag_tape_reader_new(r->tape);
	struct frag_sim *sim = NULL;
	const uint64_t begin = bench_now();
	uint32_t devices;
	int rc = reader ? frag_sim_on_tape(&sim, &r->choice, r->tape, &options, err)
			: frag_fail_nomem(err);

	rc = rc ? rc : frag_sim_play(sim, reader, UINT64_MAX, err);
	if (!rc) {
		const struct frag_result *result = frag_sim_results(sim, false, &devices);

		keep_min(min, bench_now() - begin);
		if (peak)
			*peak = result->lower_bound;
		rc = bench_agree(result->counts.ooms, total != 0, "OOMs", err);
	}
	frag_sim_del(sim);
	frag_tape_reader_del(reader);
	return rc;
}

static void count_live(void *ctx, const struct frag_live *live)
{
	(void)live;
	++*(uint64_t *)ctx;
}

/* A run is stopped half way, and copied so often; each copy is deleted at once. */
static int fork_run(const struct recorded *r, struct bench_recorded *to, struct frag_error *err)
{
	struct frag_tape_reader *reader = frag_tape_reader_new(r->tape);
	struct frag_sim *sim = NULL, *other = NULL;
	int rc = reader ? frag_sim_on_tape(&sim, &r->choice, r->tape, NULL, err)
			: frag_fail_nomem(err);

	rc = rc ? rc : frag_sim_play(sim, reader, frag_tape_info(r->tape)->events / 2, err);
	for (uint32_t i = 0; i < COPIES && !rc; i++) {
		const uint64_t begin = bench_now();
		uint64_t copied;

		rc = frag_sim_copy(&other, sim, err);
		copied = bench_now();
		if (!rc) {
			frag_sim_del(other);
			keep_min(&to->copy_ns, copied - begin);
			keep_min(&to->del_ns, bench_now() - copied);
		}
	}
	if (!rc)
		frag_sim_walk(sim, 0, &to->live, count_live);
	frag_sim_del(sim);
	frag_tape_reader_del(reader);
	return rc;
}

/* The peak memory of a process that runs the trace so often. */
static int memory_of(const char *path, uint32_t runs, uint64_t *bytes, struct frag_error *err)
{
	char program[512] = "", command[1200];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	FILE *f = NULL;
	int good = 0;

	snprintf(command, sizeof(command), "'%s' --rerun %u '%s'", program, runs, path);
	if (length > 0)
		f = popen(command, "r");
	if (f) {
		good = fscanf(f, "%" SCNu64, bytes) == 1;
		good = pclose(f) == 0 && good;
	}
	return good ? 0 : frag_fail(err, FRAG_ECHECK, "this failed: %s", command);
}

int bench_rerun(uint32_t runs, const char *path)
{
	struct recorded r = { .trace = NULL };
	struct frag_error err = { .code = 0 };
	struct rusage usage;
	uint64_t ignored = 0;
	int rc = open_all(&r, path, &err);

	for (uint32_t i = 0; i < runs && !rc; i++)
		rc = run(&r, FRAG_LEVEL_SURVIVE, 0, &ignored, NULL, &err);
	close_all(&r);
	getrusage(RUSAGE_SELF, &usage);
	printf("%" PRIu64 "\n", (uint64_t)usage.ru_maxrss * 1024);
	if (rc)
		fprintf(stderr, "bench: %s\n", err.message);
	return frag_error_status(rc);
}

static int take(struct bench_recorded *to, const struct recorded *r, bool quick,
		struct frag_error *err)
{
	uint64_t peak = 0;
	int rc = run(r, FRAG_LEVEL_ALL, 0, &to->all_ns, &peak, err);

	to->total = peak / 10 * 9;
	for (uint32_t i = 0; i < (quick ? 2 : 7) && !rc; i++) {
		rc = run(r, FRAG_LEVEL_ALL, 0, &to->all_ns, NULL, err);
		rc = rc ? rc : run(r, FRAG_LEVEL_PEAKS, 0, &to->peaks_ns, NULL, err);
		rc = rc ? rc : run(r, FRAG_LEVEL_SURVIVE, 0, &to->survive_ns, NULL, err);
		rc = rc ? rc : run(r, FRAG_LEVEL_SURVIVE, to->total, &to->oom_ns, NULL, err);
	}
	return rc ? rc : fork_run(r, to, err);
}

int bench_recorded(struct bench_recorded *to, const char *path, bool quick,
		   struct frag_error *err)
{
	const char *name = strrchr(path, '/');
	struct recorded r = { .trace = NULL };
	uint64_t begin = bench_now();
	int rc = open_all(&r, path, err);

	*to = (struct bench_recorded){ .read_ns = bench_now() - begin };
	snprintf(to->name, sizeof(to->name), "%.40s", name ? name + 1 : path);
	if (!rc) {
		to->events = frag_tape_info(r.tape)->events;
		to->tape_bytes = frag_tape_bytes(r.tape);
		rc = take(to, &r, quick, err);
	}
	close_all(&r);
	rc = rc ? rc : memory_of(path, 1, &to->memory_one, err);
	return rc ? rc : memory_of(path, quick ? 50 : BENCH_RERUNS, &to->memory_many, err);
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

/* In a second, where one takes so long. */
static double rate(uint64_t ns)
{
	return ns ? 1e9 / (double)ns : 0;
}

void bench_recorded_table(const struct bench_recorded *r, uint32_t count, FILE *f)
{
	fputs("\nrecorded traces on a tape, policy pytorch: bytes an event, reading in ms; whole runs a\n"
	      "second at each level, and of those up to their OOM; live blocks half way, a copy of the\n"
	      "run there and its deletion in us; memory of one run and of many, in MiB\n", f);
	fprintf(f, "%-41s%8s%6s%7s%8s%8s%8s%8s%7s%6s%6s%7s%7s\n", "", "events", "bytes", "read",
		"all", "peaks", "survive", "oom", "live", "copy", "del", "one", "many");
	for (uint32_t i = 0; i < count; i++, r++)
		fprintf(f, "%-41s%8" PRIu64 "%6.1f%7.1f%8.1f%8.1f%8.1f%8.1f%7" PRIu64
			"%6.0f%6.0f%7.1f%7.1f\n",
			r->name, r->events, (double)r->tape_bytes / (double)r->events,
			ms(r->read_ns), rate(r->all_ns), rate(r->peaks_ns), rate(r->survive_ns),
			rate(r->oom_ns), r->live, (double)r->copy_ns / 1e3,
			(double)r->del_ns / 1e3, (double)r->memory_one / 1048576,
			(double)r->memory_many / 1048576);
}

void bench_recorded_json(const struct bench_recorded *r, struct frag_node_ref in)
{
	frag_json_text(in, "name", r->name);
	frag_json_u64(in, "events", r->events);
	frag_json_u64(in, "tape_bytes", r->tape_bytes);
	frag_json_u64(in, "ns_read", r->read_ns);
	frag_json_u64(in, "ns_all", r->all_ns);
	frag_json_u64(in, "ns_peaks", r->peaks_ns);
	frag_json_u64(in, "ns_survive", r->survive_ns);
	frag_json_u64(in, "ns_oom", r->oom_ns);
	frag_json_u64(in, "live", r->live);
	frag_json_u64(in, "ns_copy", r->copy_ns);
	frag_json_u64(in, "ns_del", r->del_ns);
	frag_json_u64(in, "memory_one", r->memory_one);
	frag_json_u64(in, "memory_many", r->memory_many);
}
