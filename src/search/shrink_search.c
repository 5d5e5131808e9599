/*
 * shrink_search.c - finds a minimal part of a trace with which a policy still has an OOM.
 *
 * The search passes through the groups once, those that end before the OOM first: the blocks
 * that are allocated at the OOM cause it. It removes ranges of groups, each twice as long as the
 * previous one, as long as the OOM remains without them; in a range that is needed, bisection
 * finds the first group that is needed. So a needed group costs a few tries and the others
 * nearly none. A later removal can make an earlier group superfluous: further sweeps try each
 * group alone, until all that are left are needed.
 */
#include "search/shrink_search.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/array_grow.h"

void frag_reduce_fini(struct frag_reduce *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		free(r->events[i].copy);
	free(r->events);
	free(r->group);
	free(r->group_of);
	free(r->left);
}

/* The group of the event, made where it is new. UINT32_MAX: out of memory. */
static uint32_t group_for(struct frag_reduce *r, const struct frag_record *rec,
			  const struct frag_event *ev)
{
	bool of_block = rec->members & FRAG_HAS_ID;

	if (of_block && (ev->op == FRAG_OP_FREE || ev->op == FRAG_OP_COMPLETE
			 || ev->op == FRAG_OP_RECORD_STREAM))
		return r->group_of[ev->slot];
	if (!FRAG_GROW(r->group, r->group_capacity, r->groups))
		return UINT32_MAX;
	r->group[r->groups] = (struct frag_reduce_group){ .out = false };
	if (of_block && ev->op == FRAG_OP_ALLOC) {
		if (!FRAG_GROW(r->group_of, r->slot_capacity, ev->slot))
			return UINT32_MAX;
		r->group_of[ev->slot] = r->groups;
	}
	return r->groups++;
}

bool frag_reduce_add(struct frag_reduce *r, const struct frag_record *rec,
		     const struct frag_event *ev)
{
	uint32_t group;

	FRAG_ASSERT(!r->left);
	if (!FRAG_GROW(r->events, r->capacity, r->count))
		return false;
	group = group_for(r, rec, ev);
	if (group == UINT32_MAX)
		return false;
	r->events[r->count] = (struct frag_reduce_event){
		.copy = frag_record_copy(rec, ev->step), .group = group,
	};
	return r->events[r->count++].copy != NULL;
}

uint32_t frag_reduce_next(const struct frag_reduce *r, uint32_t i)
{
	FRAG_ASSERT(i <= r->count);
	while (i < r->count && r->group[r->events[i].group].out)
		i++;
	return i;
}

/* Where the source is. */
struct reading {
	const struct frag_reduce *reduce;
	uint32_t at;                    /* the next event */
};

static int shrink_search_source_refill(void *state, struct frag_error *err)
{
	const struct reading *r = state;

	(void)err;
	return r->at < r->reduce->count;
}

static int shrink_search_source_next(void *state, struct frag_record *rec, const char **kind,
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
	.form = "reduced",
	.refill = shrink_search_source_refill,
	.next = shrink_search_source_next,
};

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
		rc = rc ? rc : frag_job_check(&c->job, err);
		/* the first trial always completes, as it decides whether there is an OOM at all */
		trial->cut = r->tries > 1 && r->enough && r->enough(r->enough_ctx);
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
static int candidate_try(void *ctx, const struct frag_reduce *r, struct frag_shrink_trial *trial,
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

static int try(struct frag_reduce *r, struct frag_shrink_trial *trial, struct frag_error *err)
{
	int rc;

	*trial = (struct frag_shrink_trial){ .events = 0 };
	r->tries++;
	rc = (r->try ? r->try : candidate_try)(r->try_ctx, r, trial, err);
	r->simulated += trial->events;
	return rc;
}

/*
 * Removes permanently the groups that are out, and all events after the first `events` that are
 * left.
 */
static void shrink_search_keep(struct frag_reduce *r, uint64_t events)
{
	uint32_t kept = 0, left = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		if (kept == events || r->group[r->events[i].group].out)
			free(r->events[i].copy);
		else
			r->events[kept++] = r->events[i];
	}
	r->count = kept;
	for (uint32_t i = 0; i < r->left_count; i++)
		r->group[r->left[i]].out = true;
	for (uint32_t i = 0; i < r->count; i++)
		r->group[r->events[i].group].out = false;
	for (uint32_t i = 0; i < r->left_count; i++)
		if (!r->group[r->left[i]].out)
			r->left[left++] = r->left[i];
	r->left_count = left;
	r->version++;
}

struct place {
	uint32_t end, group;
};

static int by_end(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return frag_order_two(x->end, y->end, x->group, y->group);
}

/* Those that are over first come first; *over: how many there are. False: out of memory. */
static bool order_groups(struct frag_reduce *r, uint32_t *over)
{
	struct place *place = malloc(((size_t)r->left_count + 1) * sizeof(*place));

	*over = 0;
	if (!place)
		return false;
	for (uint32_t i = 0; i < r->count; i++) {
		const enum frag_op op = r->events[i].copy->rec.op;

		if (op != FRAG_OP_RECORD_STREAM)
			r->group[r->events[i].group].end = op == FRAG_OP_ALLOC ? UINT32_MAX : i;
	}
	for (uint32_t i = 0; i < r->left_count; i++) {
		place[i] = (struct place){ r->group[r->left[i]].end, r->left[i] };
		*over += place[i].end != UINT32_MAX;
	}
	FRAG_SORT(place, r->left_count, by_end);
	for (uint32_t i = 0; i < r->left_count; i++)
		r->left[i] = place[i].group;
	free(place);
	return true;
}

static bool may_go_on(struct frag_reduce *r)
{
	r->ended = r->ended || r->tries >= r->tries_max
		   || (r->enough && r->enough(r->enough_ctx));
	return !r->ended;
}

/* Removes `count` groups from index `at` of the order on, if the OOM remains without them. */
static int try_without(struct frag_reduce *r, uint32_t at, uint32_t count, bool *gone,
		       struct frag_error *err)
{
	struct frag_shrink_trial trial;
	int rc;

	FRAG_ASSERT(count && at + count <= r->left_count);
	for (uint32_t i = at; i < at + count; i++)
		r->group[r->left[i]].out = true;
	rc = try(r, &trial, err);
	r->ended = r->ended || trial.cut;
	*gone = !rc && trial.oom;
	if (*gone) {
		shrink_search_keep(r, trial.events);
		return 0;
	}
	for (uint32_t i = at; i < at + count; i++)
		r->group[r->left[i]].out = false;
	return rc;
}

/*
 * Passes once through the order, in ranges of `length` groups at first. A group is needed if it
 * alone cannot be removed, or if it is the last one of a range that could not: this is valid for
 * the present trace, until more is removed.
 */
static int shrink_search_sweep(struct frag_reduce *r, uint32_t length, struct frag_error *err)
{
	uint32_t at = 0, fails = UINT32_MAX;    /* this number from here on cannot be removed
						 * together */
	uint32_t went = 0;                      /* since the last group that is needed */
	int rc = 0;

	while (at < r->left_count && !rc && !r->ended) {
		struct frag_reduce_group *first = &r->group[r->left[at]];
		const uint32_t left = r->left_count, count = length < left - at ? length : left - at;
		const bool known = fails == 1 || (count == 1 && first->needed == r->version);
		bool gone = false;

		if (!known && may_go_on(r))
			rc = try_without(r, at, count, &gone, err);
		if (gone) {
			went += count;
			/* what the tail took with it may be what could not go */
			if (fails != UINT32_MAX && r->left_count + count == left)
				fails -= count;
			else
				fails = UINT32_MAX;
			length = fails == UINT32_MAX ? 2 * count : (fails + 1) / 2;
		} else if (count > 1 && !known) {
			fails = count;
			length = count / 2;
		} else if (!rc) {
			first->needed = r->version;
			length = went ? went : 1;
			fails = UINT32_MAX;
			went = 0;
			at++;
		}
	}
	return rc;
}

/*
 * The first trial takes everything after the out-of-memory away. Sweeps follow
 * until one changes nothing: then every group was needed in just what is left.
 */
int frag_reduce(struct frag_reduce *r, bool *failed, bool *minimal, struct frag_error *err)
{
	struct frag_shrink_trial trial;
	uint64_t before = 0;
	uint32_t over = 0;
	int rc;

	FRAG_ASSERT(!r->left);
	*failed = *minimal = false;
	r->left = malloc(((size_t)r->groups + 1) * sizeof(*r->left));
	if (!r->left)
		return frag_fail_nomem(err);
	while (r->left_count < r->groups) {
		r->left[r->left_count] = r->left_count;
		r->left_count++;
	}
	rc = try(r, &trial, err);
	*failed = !rc && trial.oom;
	if (!*failed)
		return rc;
	shrink_search_keep(r, trial.events);
	if (!order_groups(r, &over))
		return frag_fail_nomem(err);
	for (uint32_t length = over ? over : 1; before != r->version && !rc; length = 1) {
		before = r->version;
		rc = shrink_search_sweep(r, length, err);
	}
	*minimal = !rc && !r->ended;
	return rc;
}
