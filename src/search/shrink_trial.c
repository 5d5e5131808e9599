/* shrink_trial.c - what is left of a trace that is being reduced, simulated. */
#include "search/shrink_trial.h"

/* Where the source is. */
struct reading {
	const struct frag_reduce *reduce;
	uint32_t at;                    /* the next event */
	bool started;
};

static int source_refill(void *state, struct frag_error *err)
{
	struct reading *r = state;
	bool first = !r->started;

	(void)err;
	r->started = true;
	return first;
}

static int source_next(void *state, struct frag_record *rec, const char **kind,
		       struct frag_error *err)
{
	struct reading *r = state;

	(void)kind;
	(void)err;
	r->at = frag_reduce_next(r->reduce, r->at);
	if (r->at == r->reduce->count)
		return 0;
	*rec = r->reduce->events[r->at++].copy->rec;
	return 1;
}

static const struct frag_source_ops source = {
	.form = "reduced", .refill = source_refill, .next = source_next,
};

/* The first trial has to say whether there is an out-of-memory at all. */
static bool is_over(const struct frag_reduce *r)
{
	return r->tries > 1 && r->enough && r->enough(r->enough_ctx);
}

/* Feeds the trace until the simulation stops, or it is enough. Counts whole batches. */
static int shrink_trial_feed(const struct frag_candidate *c, const struct frag_reduce *r,
			     struct frag_sim *sim, struct frag_trace *trace,
			     struct frag_shrink_trial *trial, struct frag_error *err)
{
	struct frag_batch batch;
	int rc;

	do {
		rc = frag_trace_next(trace, &batch, err);
		rc = rc ? rc : frag_sim_feed(sim, &batch, err);
		trial->events += rc ? 0 : batch.count;
		if (!rc && c->stop && c->stop(NULL))
			rc = frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
		trial->cut = is_over(r);
	} while (!rc && batch.count && !frag_sim_stopped(sim) && !trial->cut);
	return rc;
}

/* Where the first device ran out of memory; other devices may have gone on. */
static void find_oom(struct frag_sim *sim, struct frag_shrink_trial *trial)
{
	uint32_t devices;
	const struct frag_result *results = frag_sim_results(sim, false, &devices);

	for (uint32_t i = 0; i < devices; i++) {
		if (!results[i].oom_count
		    || (trial->oom && results[i].ooms[0].step >= trial->events))
			continue;
		trial->oom = true;
		trial->events = results[i].ooms[0].step + 1;
	}
}

/*
 * Each trial is a new trace and simulation, so what it shows depends on the events
 * alone. The trace borrows the reading, and ends before it.
 */
int frag_candidate_try(void *ctx, const struct frag_reduce *r, struct frag_shrink_trial *trial,
		       struct frag_error *err)
{
	const struct frag_candidate *c = ctx;
	const struct frag_sim_options options = { .level = FRAG_LEVEL_SURVIVE };
	struct reading reading = { .reduce = r };
	struct frag_trace *trace;
	struct frag_sim *sim = NULL;
	int rc = frag_trace_from(&trace, &source, &reading, c->devices, c->device_count, NULL,
				 err);

	if (rc)
		return rc;
	rc = frag_sim_new(&sim, c->choice, trace, &options, err);
	rc = rc ? rc : shrink_trial_feed(c, r, sim, trace, trial, err);
	if (!rc)
		find_oom(sim, trial);
	frag_sim_del(sim);
	frag_trace_close(trace);
	return rc;
}
