/* run_shard.c - the runs of a shard, on all processors. */
#include "sweep/run_shard.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/parallel.h"
#include "compare/runs.h"
#include "documents/documents.h"
#include "engine/sim.h"
#include "engine/tape_run.h"
#include "fragsim/engine.h"
#include "sweep/shard_file.h"
#include "sweep/shard_results.h"

/* What run k is made of: indexes. */
struct manifest_run {
	uint32_t trace, policy, total;
};

/* Of a trace: how many of its runs are still to be done, and how many were. */
struct state {
	pthread_mutex_t lock;
	uint32_t left, done;
};

struct batch {
	struct frag_sweep_plan *p;
	struct frag_shard_run *o;
	struct frag_shard_file out;
	struct state *states;           /* one a trace */
	uint32_t *queue;                /* runs, in the order in which they are begun */
	uint32_t count;
	struct frag_error failure;      /* of the first run whose policy failed; code 0: none */
	uint32_t failed;                /* this run */
};

static int check_source(const struct frag_manifest_trace *is, const struct frag_trace_info *info,
			struct frag_error *err)
{
	if (info->content == is->content && info->events == is->events)
		return 0;
	return frag_fail(err, FRAG_ETRACE, "%s: it is not the trace of the manifest: its content is"
			 " %016" PRIx64 ", and was %016" PRIx64, is->path, info->content,
			 is->content);
}

/* The first thread reads the trace; the others wait for it. */
static int need_source(struct batch *b, uint32_t trace, struct frag_error *err)
{
	struct frag_source *source = &b->p->sources[trace];
	int rc = 0;

	pthread_mutex_lock(&b->states[trace].lock);
	if (!source->tape) {
		rc = frag_source_open(b->p, trace, err);
		if (rc)
			frag_source_close(source);
	}
	if (!rc)
		rc = check_source(&b->p->manifest.trace[trace], frag_tape_info(source->tape), err);
	pthread_mutex_unlock(&b->states[trace].lock);
	return rc;
}

static void leave_source(struct batch *b, uint32_t trace, bool done)
{
	pthread_mutex_lock(&b->states[trace].lock);
	b->states[trace].done += done;
	if (--b->states[trace].left == 0)
		frag_source_close(&b->p->sources[trace]);
	pthread_mutex_unlock(&b->states[trace].lock);
}

/* Simulates one run of the manifest on the tape of its trace. */
static int run_shard_simulate(const struct batch *b, const struct manifest_run *run,
			      struct frag_sim **sim, struct frag_error *err)
{
	const struct frag_tape *tape = b->p->sources[run->trace].tape;
	const struct frag_trace_info *info = frag_tape_info(tape);
	const uint64_t total = b->p->manifest.total[run->total];
	struct frag_devices devices;
	struct frag_sim_options options = { .level = FRAG_LEVEL_ALL };
	int rc = frag_devices_copy(&devices, info->devices, info->device_count, err);

	if (!rc && total != UINT64_MAX) {
		frag_devices_override(&devices, total, UINT64_MAX, UINT64_MAX, UINT64_MAX);
		rc = frag_devices_have_room(&devices, err);
	}
	options.devices = devices.figures;
	/* a run that has begun completes */
	rc = rc ? rc : frag_tape_run(sim, &b->p->choices[run->policy], tape, &options,
				     &(struct frag_job){ .stop = NULL }, err);
	frag_devices_fini(&devices);
	return rc;
}

/* Copies the results of one run, a row for each device. */
static int run_shard_keep_runs(struct frag_run_set *set, const struct frag_manifest_trace *trace,
			       struct frag_sim *sim, struct frag_error *err)
{
	struct frag_runs *runs = frag_run_set_add(set);
	uint32_t devices;
	const struct frag_result *results = frag_sim_results(sim, false, &devices);
	char content[17];

	if (!runs)
		return frag_fail_nomem(err);
	snprintf(content, sizeof(content), "%016" PRIx64, trace->content);
	runs->path = strdup(trace->path);
	runs->content = strdup(content);
	runs->events = trace->events;
	runs->allocs = trace->allocs;
	runs->frees = trace->frees;
	runs->complete = true;
	if (!runs->path || !runs->content)
		return frag_fail_nomem(err);
	for (uint32_t d = 0; d < devices; d++) {
		struct frag_run *run = frag_runs_add(runs);

		if (!run || !frag_run_keep(run, &results[d]))
			return frag_fail_nomem(err);
	}
	return 0;
}

static int write_run(struct batch *b, uint32_t k, const struct manifest_run *run,
		     struct frag_sim *sim, struct frag_error *err)
{
	const struct frag_manifest *m = &b->p->manifest;
	struct frag_run_set set = { .count = 0 };
	char *line = NULL;
	size_t length = 0;
	int rc = run_shard_keep_runs(&set, &m->trace[run->trace], sim, err);

	if (!rc)
		set.trace[0].scope = frag_trace_info(b->p->sources[run->trace].trace)->scope;
	rc = rc ? rc : frag_run_line_write(&set.trace[0], k, m->id, m->policy[run->policy],
					   m->total[run->total], &line, &length, err);
	rc = rc ? rc : frag_shard_append(&b->out, line, length, err);
	free(line);
	frag_run_set_fini(&set);
	return rc;
}

/* The run is written as one that failed, and the others go on; the error is returned at the end. */
static void note_failure(struct batch *b, uint32_t k, struct frag_sim *sim,
			 const struct frag_error *why)
{
	sim->failure = *why;
	pthread_mutex_lock(&b->out.lock);
	if (!b->failure.code || k < b->failed) {
		b->failure = *why;
		b->failed = k;
	}
	pthread_mutex_unlock(&b->out.lock);
}

/* Messages about a trace or a file contain its path; messages about a policy do not. */
static int do_run(struct batch *b, uint32_t k, struct frag_error *err)
{
	const struct frag_manifest *m = &b->p->manifest;
	const struct manifest_run run = {
		.trace = k / m->total_count / m->policy_count,
		.policy = k / m->total_count % m->policy_count, .total = k % m->total_count,
	};
	struct frag_sim *sim = NULL;
	struct frag_error why = { .code = 0 };
	int rc = need_source(b, run.trace, err);

	if (rc)
		return rc;
	rc = run_shard_simulate(b, &run, &sim, &why);
	if (rc)
		rc = frag_fail(err, (enum frag_error_code) - rc, "run %" PRIu32 " (%.300s under"
			       " %.300s): %.400s", k, m->trace[run.trace].path,
			       m->policy[run.policy], why.message);
	if (rc == -FRAG_EPOLICY && sim) {
		note_failure(b, k, sim, err);
		rc = 0;
	}
	rc = rc ? rc : write_run(b, k, &run, sim, err);
	frag_sim_del(sim);
	leave_source(b, run.trace, rc == 0);
	return rc;
}

static int run_shard_work(void *ctx, uint32_t index, struct frag_error *err)
{
	struct batch *b = ctx;

	const int rc = frag_job_check(&b->o->job, err);

	return rc ? rc : do_run(b, b->queue[index], err);
}

/* The traces, the longest first; of equals the one that was named first. */
static uint32_t *order_traces(const struct frag_manifest *m)
{
	uint32_t *order = calloc((size_t)m->trace_count + 1, sizeof(*order));

	for (uint32_t i = 0; order && i < m->trace_count; i++) {
		uint32_t at = i;

		while (at > 0 && m->trace[order[at - 1]].events < m->trace[i].events) {
			order[at] = order[at - 1];
			at--;
		}
		order[at] = i;
	}
	return order;
}

/*
 * The runs of the shard that are not there yet, trace by trace. Traces that are in memory and have
 * no such run are released now.
 */
static void fill_queue(struct batch *b, const uint32_t *order, const struct frag_collection *there)
{
	const struct frag_manifest *m = &b->p->manifest;
	const uint32_t each = m->policy_count * m->total_count;

	for (uint32_t i = 0; i < m->trace_count; i++) {
		const uint32_t first = order[i] * each;

		for (uint32_t k = first; k < first + each; k++) {
			if (k % b->o->shard.count != b->o->shard.index)
				continue;
			b->o->mine++;
			if (there->run && there->run[k].length) {
				b->o->before++;
				continue;
			}
			b->queue[b->count++] = k;
			b->states[order[i]].left++;
		}
		if (!b->states[order[i]].left)
			frag_source_close(&b->p->sources[order[i]]);
	}
}

/* Queues the runs, and simulates them on all threads. */
static int run_queue(struct batch *b, const struct frag_collection *there, struct frag_error *err)
{
	const struct frag_manifest *m = &b->p->manifest;
	struct frag_tasks tasks = {
		.job = &b->o->job, .what = "runs", .task = run_shard_work, .ctx = b,
	};
	uint32_t *order = order_traces(m);
	int rc = 0;

	b->states = calloc((size_t)m->trace_count + 1, sizeof(*b->states));
	b->queue = calloc((size_t)m->runs + 1, sizeof(*b->queue));
	if (!order || !b->states || !b->queue)
		rc = frag_fail_nomem(err);
	for (uint32_t i = 0; i < m->trace_count && !rc; i++)
		pthread_mutex_init(&b->states[i].lock, NULL);
	if (!rc) {
		fill_queue(b, order, there);
		tasks.count = b->count;
		rc = frag_tasks_run(&tasks, err);
		for (uint32_t i = 0; i < m->trace_count; i++) {
			b->o->finished += b->states[i].done;
			pthread_mutex_destroy(&b->states[i].lock);
		}
	}
	free(order);
	free(b->states);
	free(b->queue);
	return rc;
}

/* A run that another shard has completed is not simulated again. */
int frag_shard_run(struct frag_shard_run *o, struct frag_sweep_plan *p, struct frag_error *err)
{
	struct frag_collection there = { .count = 0 };
	struct batch b = { .o = o, .p = p };
	struct frag_error closing;
	char name[80];
	int rc, closed;

	snprintf(name, sizeof(name), FRAG_SHARD_BEGIN "%" PRIu32 "-of-%" PRIu32 FRAG_SHARD_END,
		 o->shard.index, o->shard.count);
	o->path = frag_sweep_path(p->folder, name);
	rc = o->path ? frag_shard_open(&b.out, o->path, o->resume, err) : frag_fail_nomem(err);
	if (rc)
		return rc;
	if (o->resume) {
		rc = frag_collection_read(&there, &p->manifest, p->folder, err);
		rc = rc ? rc : frag_shard_cut_torn(&b.out, err);
	}
	/* one line shows how far it is, and it counts runs */
	p->read.progress = NULL;
	rc = rc ? rc : run_queue(&b, &there, err);
	o->ended = !rc || rc == -FRAG_EINTERRUPTED;
	frag_collection_fini(&there);
	closed = frag_shard_close(&b.out, &closing);
	if (!rc && !closed && b.failure.code)
		rc = frag_fail(err, FRAG_EPOLICY, "%s", b.failure.message);
	if (!closed || !o->ended)
		return rc;
	*err = closing;
	return closed;
}
