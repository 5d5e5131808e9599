/* runs.c - runs to be compared: made from results, or by simulating every policy on every trace. */
#include "compare/runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/format.h"
#include "base/parallel.h"
#include "base/platform.h"
#include "engine/workers.h"
#include "fragsim/version.h"
#include "metrics/metric.h"
#include "policy/choice.h"
#include "policy/param.h"
#include "scope/claim.h"

/*
 * Merges pairs of adjacent intervals. If the count is even, the last interval merges with a full
 * one; if the count is odd, the last interval is unchanged.
 */
static void runs_halve(struct frag_timeline *c)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		struct frag_stretch s = c->stretch[i];
		struct frag_stretch *to = &c->stretch[i / 2];

		if (i % 2 == 0) {
			*to = s;
			count++;
			continue;
		}
		to->reserved = frag_max(to->reserved, s.reserved);
		to->allocated = frag_max(to->allocated, s.allocated);
	}
	c->in_last += c->count % 2 ? 0 : c->width;
	c->count = count;
	c->width *= 2;
}

/*
 * Each interval covers `width` steps. When all intervals are used, adjacent pairs are merged and
 * the width doubles, so the size is fixed for any number of steps.
 */
static void timeline_add(struct frag_timeline *c, const struct frag_step *step)
{
	struct frag_stretch *last;

	FRAG_ASSERT(c->count <= FRAG_TIMELINE_MAX);
	if (c->width == 0)
		c->width = 1;
	if (c->count == 0 || c->in_last == c->width) {
		if (c->count == FRAG_TIMELINE_MAX)
			runs_halve(c);
		c->stretch[c->count++] = (struct frag_stretch){ .from = step->event->step };
		c->in_last = 0;
	}
	c->in_last++;
	last = &c->stretch[c->count - 1];
	last->reserved = frag_max(last->reserved, step->metrics->reserved);
	last->allocated = frag_max(last->allocated, step->metrics->allocated);
}

void frag_timeline_widen(struct frag_timeline *c, uint64_t width)
{
	FRAG_ASSERT(!c->count || c->width);
	while (c->count && c->width < width)
		runs_halve(c);
}

char *frag_params_text(const struct frag_choice *choice)
{
	const struct frag_param_spec *spec = choice->ops->params;
	char value[FRAG_PARAM_TEXT];
	const char *before = "";
	struct frag_memory m;

	if (!frag_memory_open(&m))
		return NULL;
	for (uint32_t i = 0; spec && spec[i].name; i++) {
		if (frag_param_is_omitted(choice, i))
			continue;
		fprintf(m.f, "%s%s=%s", before, spec[i].name,
			frag_param_text(&spec[i], choice->param[i], value));
		before = ",";
	}
	return frag_memory_close(&m) ? m.text : NULL;
}

/* A key begins the text or follows a comma, and '=' follows it: no value holds ",key=". */
const char *frag_params_find(const char *params, const char *key, size_t key_length,
			     size_t *length)
{
	for (const char *p = params; *p;) {
		size_t n = strcspn(p, "=");
		const char *value = p + n + (p[n] == '=');
		const char *end = value;

		/* a comma in a value, as in a list, is not followed by a key */
		for (;;) {
			end += strcspn(end, ",");
			if (!*end || end[1 + strcspn(end + 1, ",=")] == '=')
				break;
			end++;
		}
		if (n == key_length && strncmp(p, key, n) == 0) {
			*length = (size_t)(end - value);
			return value;
		}
		p = *end ? end + 1 : end;
	}
	return NULL;
}

/* Whole escapes only, and both halves of a pair of surrogates or none. */
void frag_where_json_name(char *to, size_t size, const char *json)
{
	size_t used = 0, n;

	FRAG_ASSERT(size > 0 && *json == '"');
	for (const char *p = json + 1; p[0] && p[1]; p += n) {
		n = p[0] != '\\' ? 1 : p[1] != 'u' ? 2 : 6;
		if (n == 6 && strchr("dD", p[2]) && strchr("89abAB", p[3]))
			n = 12;
		if (used + n >= size)
			break;
		memcpy(to + used, p, n);
		used += n;
	}
	to[used] = '\0';
}

struct frag_run *frag_runs_add(struct frag_runs *runs)
{
	if (!FRAG_EXTEND(runs->run, runs->capacity, runs->count, runs->count))
		return NULL;
	return &runs->run[runs->count - 1];
}

struct frag_runs *frag_run_set_add(struct frag_run_set *set)
{
	if (!FRAG_EXTEND(set->trace, set->capacity, set->count, set->count))
		return NULL;
	return &set->trace[set->count - 1];
}

static bool keep_marks(struct frag_result *to, const struct frag_result *from)
{
	to->marks = NULL;
	to->mark_count = 0;
	if (!from->mark_count)
		return true;
	to->marks = calloc(from->mark_count, sizeof(*to->marks));
	if (!to->marks)
		return false;
	while (to->mark_count < from->mark_count) {
		uint32_t i = to->mark_count++;

		if (!frag_mark_copy(&to->marks[i], &from->marks[i]))
			return false;
	}
	return true;
}

static bool keep_first_oom(struct frag_result *to, const struct frag_result *from)
{
	to->ooms = NULL;
	to->oom_count = 0;
	if (!from->oom_count)
		return true;
	to->ooms = calloc(1, sizeof(*to->ooms));
	if (!to->ooms)
		return false;
	to->oom_count = 1;
	return frag_oom_copy(to->ooms, from->ooms);
}

/*
 * The copy must share nothing with the result before the first return, as
 * releasing the run would free the result's own.
 */
bool frag_run_keep(struct frag_run *run, const struct frag_result *result)
{
	bool marks, oom;

	run->result = *result;
	memset(&run->result.choice, 0, sizeof(run->result.choice));
	/* both, so that nothing of the result's own is released with the run */
	marks = keep_marks(&run->result, result);
	oom = keep_first_oom(&run->result, result);
	if (!marks || !oom)
		return false;
	run->policy = strdup(result->choice.text);
	if (*result->choice.label)
		run->label = strdup(result->choice.label);
	run->name = strdup(result->choice.ops->name);
	run->params = frag_params_text(&result->choice);
	if (result->device_name)
		run->device_name = strdup(result->device_name);
	run->result.device_name = run->device_name;
	frag_run_round(run);
	return run->policy && run->name && run->params && (!*result->choice.label || run->label)
	       && (!result->device_name || run->device_name);
}

static void round_distribution(struct frag_distribution *d)
{
#define X(name) d->name = frag_fixed4(d->name);
	X(min) X(mean) X(p50) X(p95) X(p99) X(max) X(last) X(time_weighted_mean)
#undef X
}

void frag_run_round(struct frag_run *run)
{
	struct frag_result *r = &run->result;

	for (const struct frag_metric *k = frag_metric_table(); k->name; k++) {
		union frag_metric_value value = frag_metric_get(&r->last, k);

		if (k->unit != FRAG_METRIC_PERCENT)
			continue;
		value.d = frag_fixed4(value.d);
		frag_metric_set(&r->last, k, value);
		round_distribution(frag_metric_distribution(r, k));
	}
}

static void runs_fini(struct frag_runs *runs)
{
	for (uint32_t i = 0; i < runs->count; i++) {
		struct frag_run *run = &runs->run[i];

		frag_result_fini(&run->result);
		free(run->policy);
		free(run->label);
		free(run->name);
		free(run->params);
		free(run->device_name);
	}
	free(runs->run);
	free(runs->path);
	free(runs->content);
}

void frag_run_set_fini(struct frag_run_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		runs_fini(&set->trace[i]);
	free(set->trace);
	free(set->path);
	free(set->version);
	*set = (struct frag_run_set){ .count = 0 };
}

/*
 * Where simulations of one trace, side by side, stop being the same.
 *
 * Each is watched while it takes a batch; when all have taken it, they are
 * compared with the first, step by step. What is kept for it never exceeds a
 * batch, and a run that has diverged is watched no more.
 */
struct seen {
	const struct frag_event *event; /* valid until the next batch */
	uint64_t reserved, allocated;
	enum frag_step_status status;
};

/* A simulation on a device. */
struct watch {
	struct seen *seen;      /* of the steps of this batch */
	uint32_t count, capacity;
	bool diverged;
	struct frag_divergence_point where;
	struct frag_timeline timeline;
};

struct divergence {
	uint32_t count, devices;
	struct watch *watches;  /* simulation by simulation, device by device */
	char (*mark)[128];      /* the last one on each device */
};

static void divergence_fini(struct divergence *p)
{
	for (size_t i = 0; p->watches && i < (size_t)p->count * p->devices; i++)
		free(p->watches[i].seen);
	free(p->watches);
	free(p->mark);
}

/* False: out of memory. divergence_fini() is called in either case. */
static bool divergence_init(struct divergence *p, uint32_t count, uint32_t devices)
{
	p->count = count;
	p->devices = devices;
	p->watches = calloc((size_t)count * devices + 1, sizeof(*p->watches));
	p->mark = calloc((size_t)devices + 1, sizeof(*p->mark));
	/* a single one has none to be compared with */
	for (uint32_t d = 0; p->watches && count == 1 && d < devices; d++)
		p->watches[d].diverged = true;
	return p->watches && p->mark;
}

static struct watch *watch_of(const struct divergence *p, uint32_t i, uint32_t device)
{
	FRAG_ASSERT(i < p->count && device < p->devices);
	return &p->watches[(size_t)i * p->devices + device];
}

static int observe(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	struct watch *watch = (struct watch *)ctx + step->device;

	timeline_add(&watch->timeline, step);
	if (watch->diverged)
		return 0;
	if (!FRAG_GROW(watch->seen, watch->capacity, watch->count))
		return frag_fail_nomem(err);
	watch->seen[watch->count++] = (struct seen){
		.event = step->event, .reserved = step->metrics->reserved,
		.allocated = step->metrics->allocated, .status = step->status,
	};
	return 0;
}

/* Copies a name, which is any text, cut to `size`. */
static void where_name(char *to, size_t size, const char *text, size_t length)
{
	char json[6 * 192 + 3];
	const size_t max = size - 1 < 192 ? size - 1 : 192;

	*frag_put_json(json, text, length < max ? length : max) = '\0';
	frag_where_json_name(to, size, json);
}

/* "alloc of 4096 bytes, id 7" */
static void describe_event(char *buf, size_t size, const struct frag_event *ev)
{
	char name[64];
	int used = snprintf(buf, size, "%s", frag_op_name((enum frag_op)ev->op));

	if (ev->op == FRAG_OP_ALLOC)
		used += snprintf(buf + used, size - (size_t)used, " of %" PRIu64 " byte%s",
				 ev->bytes, frag_s(ev->bytes));
	if (!(ev->members & FRAG_HAS_ID))
		return;
	if (ev->id.text) {
		where_name(name, sizeof(name), ev->id.text, (size_t)ev->id.number);
		snprintf(buf + used, size - (size_t)used, ", id '%s'", name);
	} else {
		snprintf(buf + used, size - (size_t)used, ", id %" PRIu64, ev->id.number);
	}
}

static void divergence_part(struct watch *watch, const struct watch *first, uint32_t at,
			    const char *mark)
{
	const struct seen *a = &first->seen[at], *b = &watch->seen[at];

	watch->diverged = true;
	watch->where = (struct frag_divergence_point){
		.kind = FRAG_WHERE_STEP, .step = b->event->step, .last = b->event->step,
		.base_reserved = a->reserved, .base_allocated = a->allocated,
		.reserved = b->reserved, .allocated = b->allocated,
	};
	snprintf(watch->where.mark, sizeof(watch->where.mark), "%s", mark);
	describe_event(watch->where.event, sizeof(watch->where.event), b->event);
}

/*
 * A simulation that stopped early has fewer steps: it is compared as far as it
 * went. A mark is noted after its own step, so places name the one before them.
 */
static void compare_device(struct divergence *p, uint32_t device)
{
	struct watch *first = watch_of(p, 0, device);

	for (uint32_t at = 0; at < first->count; at++) {
		const struct frag_event *ev = first->seen[at].event;

		for (uint32_t i = 1; i < p->count; i++) {
			struct watch *watch = watch_of(p, i, device);

			/* as many steps as the first has, until they diverge */
			if (!watch->diverged && at < watch->count
			    && (first->seen[at].reserved != watch->seen[at].reserved
				|| first->seen[at].allocated != watch->seen[at].allocated
				|| first->seen[at].status != watch->seen[at].status))
				divergence_part(watch, first, at, p->mark[device]);
		}
		if (ev->op == FRAG_OP_MARK)
			where_name(p->mark[device], sizeof(p->mark[device]), ev->text.text,
					ev->text.length);
	}
	for (uint32_t i = 0; i < p->count; i++)
		watch_of(p, i, device)->count = 0;
}

/* When all the others have diverged, the first needs no watching either. */
static void rest(struct divergence *p, uint32_t device)
{
	bool all = true;

	for (uint32_t i = 1; i < p->count; i++)
		all &= watch_of(p, i, device)->diverged;
	watch_of(p, 0, device)->diverged = all;
}

/* After each batch. */
static void divergence_compare(void *ctx)
{
	struct divergence *p = ctx;

	for (uint32_t d = 0; d < p->devices; d++) {
		compare_device(p, d);
		rest(p, d);
	}
}

/* The simulations of one trace, and their state. */
struct job {
	const struct frag_sweep *sweep;
	struct frag_runs *runs;
	uint32_t threads;
	struct frag_trace *trace;
	struct frag_configured configured;
	struct frag_devices devices;
	struct frag_sim **sims;
	uint32_t sim_count;
	struct divergence divergence;
	struct frag_gathered warnings;
};

void frag_gather_warning(void *gathered, const char *message)
{
	struct frag_gathered *to = gathered;
	const char *line = SHOWN(message);
	const size_t old = to->lines ? strlen(to->lines) : 0;
	char *more = realloc(to->lines, old + strlen(line) + 2);

	if (!more) {
		to->nomem = true;
		return;
	}
	snprintf(more + old, strlen(line) + 2, "%s\n", line);
	to->lines = more;
}

static bool job_stops(void *ctx)
{
	const struct job *job = ctx;

	return frag_job_is_stopped(&job->sweep->job);
}

/* What the trace suggests, a profile in its place, and options above both. */
static int sweep_set_devices(struct job *job, struct frag_error *err)
{
	const struct frag_sweep *s = job->sweep;
	const struct frag_trace_info *info = frag_trace_info(job->trace);
	int rc = frag_devices_copy(&job->devices, info->devices, info->device_count, err);

	if (!rc && s->like)
		rc = frag_devices_replace_all(&job->devices, s->like, err);
	if (rc)
		return rc;
	frag_devices_override(&job->devices, s->total, s->context, s->other, s->granularity);
	frag_devices_assume_context(&job->devices, s->card_context);
	if ((s->total & s->context & s->other) == UINT64_MAX)
		return 0;
	return frag_devices_have_room(&job->devices, err);
}

/*
 * What is made until a failure stays in the job, and close_job() ends it. A trace
 * whose opening was interrupted reports that, whatever its reader made of it.
 */
static int open_job(struct job *job, uint32_t index, struct frag_error *err)
{
	const struct frag_sweep *s = job->sweep;
	const struct frag_trace_options options = {
		.lenient = s->lenient,
		.sized = s->total != UINT64_MAX || s->like,
		.log = { .warn = frag_gather_warning, .ctx = &job->warnings },
		.configured = frag_configured_next,
		.configured_ctx = &job->configured,
	};
	struct frag_sim_options sim = s->sim;
	int rc;

	if (!frag_configured_init(&job->configured, s->choices, s->choice_count))
		return frag_fail_nomem(err);
	rc = frag_trace_open(&job->trace, s->traces[index], &options, err);
	if (rc && job_stops(job))
		return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	if (!rc && s->opened)
		rc = s->opened(job->trace, &options.log, err);
	if (!rc)
		rc = sweep_set_devices(job, err);
	if (rc)
		return rc;
	sim.devices = job->devices.figures;
	job->sims = calloc(s->choice_count, sizeof(*job->sims));
	if (!job->sims || !divergence_init(&job->divergence, s->choice_count,
					   frag_trace_info(job->trace)->device_count))
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < s->choice_count && !rc; i++) {
		const struct frag_observer observer = {
			.step = observe, .ctx = watch_of(&job->divergence, i, 0),
		};

		rc = frag_sim_new(&job->sims[i], &s->choices[i], job->trace, &sim, err);
		if (!rc) {
			job->sim_count++;
			rc = frag_sim_observe(job->sims[i], &observer);
		}
	}
	return rc;
}

/*
 * Copies the metrics, as the simulations are freed with their trace: memory does not grow with
 * the number of simulated traces.
 */
static int sweep_keep_runs(struct job *job, bool interrupted, struct frag_error *err)
{
	const struct frag_trace_info *info = frag_trace_info(job->trace);
	struct frag_runs *runs = job->runs;
	char content[17];

	snprintf(content, sizeof(content), "%016" PRIx64, info->content);
	runs->content = strdup(content);
	runs->events = info->events;
	runs->allocs = info->allocs;
	runs->frees = info->frees;
	runs->complete = info->whole;
	runs->scope = info->scope;
	if (!runs->content)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < job->sim_count; i++) {
		uint32_t devices;
		const char *why = frag_sim_failure(job->sims[i]);
		const struct frag_result *results = frag_sim_results(job->sims[i], interrupted,
								     &devices);

		if (why)
			frag_gather_warning(&job->warnings, why);
		for (uint32_t d = 0; d < devices; d++) {
			struct frag_run *run = frag_runs_add(runs);

			if (!run || !frag_run_keep(run, &results[d]))
				return frag_fail_nomem(err);
			run->diverged = watch_of(&job->divergence, i, d)->where;
			run->timeline = watch_of(&job->divergence, i, d)->timeline;
		}
	}
	return 0;
}

static void close_job(struct job *job)
{
	for (uint32_t i = 0; i < job->sim_count; i++)
		frag_sim_del(job->sims[i]);
	free(job->sims);
	divergence_fini(&job->divergence);
	frag_devices_fini(&job->devices);
	frag_trace_close(job->trace);
	frag_configured_fini(&job->configured);
}

/*
 * After an interruption the results so far are kept, and the interruption is
 * returned behind them.
 */
static int do_job(struct job *job, uint32_t index, struct frag_error *err)
{
	const struct frag_sweep *s = job->sweep;
	const struct frag_worker_options workers = {
		.threads = job->threads, .read = { .stop = job_stops, .ctx = job },
	};
	int rc, interrupted = 0;

	if (job_stops(job))
		return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	rc = open_job(job, index, err);
	rc = rc ? rc : frag_workers_in_step(job->sims, job->sim_count, job->trace, &workers,
					    divergence_compare, &job->divergence, err);
	if (rc == -FRAG_EINTERRUPTED)
		interrupted = rc;
	else if (rc)
		return rc;
	/* a pipe without a reader ends without a report of its last batch */
	divergence_compare(&job->divergence);
	rc = sweep_keep_runs(job, interrupted != 0, err);
	rc = rc || !s->done ? rc : s->done(s->ctx, index, job->runs, err);
	return rc ? rc : interrupted;
}

static int sweep_work(void *ctx, uint32_t index, struct frag_error *err)
{
	struct job *job = (struct job *)ctx + index;
	int rc = do_job(job, index, err);

	close_job(job);
	if (!rc && job->warnings.nomem)
		rc = frag_fail_nomem(err);
	return rc;
}

static void sweep_report_warnings(const struct frag_sweep *s, struct job *job)
{
	for (char *line = job->warnings.lines; line && *line;) {
		char *end = strchr(line, '\n');

		*end = '\0';
		if (s->log.warn)
			s->log.warn(s->log.ctx, line);
		line = end + 1;
	}
	free(job->warnings.lines);
}

static int jobs_prepare(const struct frag_sweep *s, struct frag_run_set *set,
				 struct job *jobs, uint32_t threads)
{
	set->version = strdup(FRAG_VERSION);
	if (!set->version)
		return -1;
	for (uint32_t i = 0; i < s->trace_count; i++) {
		struct frag_runs *runs = frag_run_set_add(set);

		if (!runs || !(runs->path = strdup(s->traces[i])))
			return -1;
	}
	for (uint32_t i = 0; i < s->trace_count; i++)
		jobs[i] = (struct job){ .sweep = s, .runs = &set->trace[i], .threads = threads };
	return 0;
}

/*
 * One worker a trace, up to the number of processors; the remaining processors work on the
 * policies within each trace. Warnings are printed in the order of the traces.
 */
int frag_sweep_run(const struct frag_sweep *s, struct frag_run_set *set, struct frag_error *err)
{
	const uint32_t threads = s->job.threads ? s->job.threads : frag_processors();
	const uint32_t used = threads < s->trace_count ? threads : s->trace_count;
	struct job *jobs = calloc((size_t)s->trace_count + 1, sizeof(*jobs));
	const struct frag_tasks tasks = {
		.count = s->trace_count,
		.job = &s->job,
		.what = "traces",
		.task = sweep_work,
		.ctx = jobs,
	};
	int rc;

	FRAG_ASSERT(!set->count);
	if (!jobs || jobs_prepare(s, set, jobs, used ? threads / used : 1))
		rc = frag_fail_nomem(err);
	else
		rc = frag_tasks_run(&tasks, err);
	for (uint32_t i = 0; i < s->trace_count && jobs; i++)
		sweep_report_warnings(s, &jobs[i]);
	free(jobs);
	return rc;
}
