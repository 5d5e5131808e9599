/*
 * sweep.c - a thousand simulations on all processors: recorded traces under many settings.
 *
 * The settings are those that `fit --settings all` tries, and more of max_split_size_mb. Each trace is read
 * onto a tape once; a task is one whole run from it, on a device without a limit, so nothing is
 * saved by a run that fails early, as a search would.
 */
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/platform.h"
#include "crossing/bench/bench.h"
#include "search/settings_grid.h"

#define REPEATS 3
#define QUICK_SETTINGS 10

/* MiB, none of them in the grid */
static const uint32_t more_splits[] = {
	24, 40, 48, 80, 96, 112, 160, 192, 224, 320, 384, 448, 640, 768, 896, 1024, 2048,
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

struct sweep {
	const char *const *paths;
	uint32_t count;                 /* of traces */
	struct frag_trace *traces[BENCH_RECORDED_MAX];
	struct frag_tape *tapes[BENCH_RECORDED_MAX];
	struct frag_choice *choices;
	uint32_t choice_count;
	enum frag_level level;
};

static bool is_new(const struct frag_grid *grid, uint32_t line)
{
	for (uint32_t i = 0; i < line; i++)
		if (strcmp(grid->lines[i], grid->lines[line]) == 0)
			return false;
	return true;
}

static int choose(struct sweep *s, const struct frag_grid *grid, uint32_t most,
		  struct frag_error *err)
{
	int rc = 0;

	s->choices = calloc(grid->count, sizeof(*s->choices));
	if (!s->choices)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < grid->count && s->choice_count < most && !rc; i++) {
		struct frag_choice *choice = &s->choices[s->choice_count];

		if (!is_new(grid, i))
			continue;
		rc = frag_choice_parse(choice, "pytorch", err);
		rc = rc ? rc : frag_choice_settings(choice, grid->lines[i], err);
		s->choice_count += !rc;
	}
	return rc;
}

static int choose_all(struct sweep *s, bool quick, struct frag_error *err)
{
	struct frag_grid grid;
	bool good = frag_grid_init(&grid, "default");
	char line[FRAG_GRID_TEXT];
	int rc;

	for (size_t i = 0; i < LENGTH(more_splits) && good; i++) {
		snprintf(line, sizeof(line), "max_split_size_mb:%u", more_splits[i]);
		good = frag_grid_add(&grid, line);
	}
	rc = good ? choose(s, &grid, quick ? QUICK_SETTINGS : UINT32_MAX, err)
		  : frag_fail_nomem(err);
	frag_grid_fini(&grid);
	return rc;
}

static int read_task(void *ctx, uint32_t index, struct frag_error *err)
{
	struct sweep *s = ctx;
	int rc = frag_trace_open(&s->traces[index], s->paths[index], NULL, err);

	return rc ? rc : frag_tape_new(&s->tapes[index], s->traces[index], NULL, err);
}

/* A whole run; that nothing was left out is checked. */
static int run_task(void *ctx, uint32_t index, struct frag_error *err)
{
	const struct sweep *s = ctx;
	const struct frag_tape *tape = s->tapes[index % s->count];
	const struct frag_device_figures device = { .granularity = FRAG_GRANULARITY };
	const struct frag_sim_options options = { .devices = &device, .level = s->level };
	struct frag_tape_reader *reader = frag_tape_reader_new(tape);
	struct frag_sim *sim = NULL;
	uint32_t count;
	int rc = reader ? frag_sim_on_tape(&sim, &s->choices[index / s->count], tape, &options, err)
			: frag_fail_nomem(err);

	rc = rc ? rc : frag_sim_play(sim, reader, UINT64_MAX, err);
	rc = rc ? rc : bench_agree(frag_sim_results(sim, false, &count)->steps,
				   frag_tape_info(tape)->events, "steps of a re-run", err);
	frag_sim_del(sim);
	frag_tape_reader_del(reader);
	return rc;
}

/* All of them, by the clock on the wall; the least of the repetitions. */
static int run_level(struct sweep *s, enum frag_level level, uint32_t repeats, uint64_t *ns,
		     struct frag_error *err)
{
	const struct frag_tasks tasks = {
		.count = s->count * s->choice_count, .task = run_task, .ctx = s,
	};
	int rc = 0;

	s->level = level;
	for (uint32_t i = 0; i < repeats && !rc; i++) {
		const uint64_t begin = bench_wall();

		rc = frag_tasks_run(&tasks, err);
		if (!*ns || bench_wall() - begin < *ns)
			*ns = bench_wall() - begin;
	}
	return rc;
}

static int read_all(struct sweep *s, uint64_t *ns, struct frag_error *err)
{
	const struct frag_tasks tasks = { .count = s->count, .task = read_task, .ctx = s };
	const uint64_t begin = bench_wall();
	int rc = frag_tasks_run(&tasks, err);

	*ns = bench_wall() - begin;
	return rc;
}

int bench_sweep(struct bench_sweep *to, const char *const *paths, uint32_t count, bool quick,
		struct frag_error *err)
{
	struct sweep s = { .paths = paths, .count = count };
	int rc = choose_all(&s, quick, err);

	*to = (struct bench_sweep){
		.traces = count, .settings = s.choice_count, .threads = frag_processors(),
	};
	rc = rc ? rc : read_all(&s, &to->read_ns, err);
	for (int level = FRAG_LEVEL_ALL; level <= FRAG_LEVEL_SURVIVE && !rc; level++)
		rc = run_level(&s, (enum frag_level)level, quick ? 1 : REPEATS, &to->ns[level],
			       err);
	for (uint32_t i = 0; i < count; i++) {
		if (!rc)
			to->events += frag_tape_info(s.tapes[i])->events * s.choice_count;
		frag_tape_del(s.tapes[i]);
		frag_trace_close(s.traces[i]);
	}
	free(s.choices);
	return rc;
}

void bench_sweep_table(const struct bench_sweep *s, FILE *f)
{
	fprintf(f, "\n%u simulations (%u traces x %u settings) in %u threads, seconds on the wall:\n"
		"%.2f to read the traces, then at level all %.2f, peaks %.2f, survive %.2f\n",
		s->traces * s->settings, s->traces, s->settings, s->threads,
		(double)s->read_ns / 1e9, (double)s->ns[FRAG_LEVEL_ALL] / 1e9,
		(double)s->ns[FRAG_LEVEL_PEAKS] / 1e9, (double)s->ns[FRAG_LEVEL_SURVIVE] / 1e9);
}

void bench_sweep_json(const struct bench_sweep *s, struct frag_node_ref in)
{
	frag_json_u64(in, "traces", s->traces);
	frag_json_u64(in, "settings", s->settings);
	frag_json_u64(in, "threads", s->threads);
	frag_json_u64(in, "events", s->events);
	frag_json_u64(in, "ns_read", s->read_ns);
	frag_json_u64(in, "ns_all", s->ns[FRAG_LEVEL_ALL]);
	frag_json_u64(in, "ns_peaks", s->ns[FRAG_LEVEL_PEAKS]);
	frag_json_u64(in, "ns_survive", s->ns[FRAG_LEVEL_SURVIVE]);
}
