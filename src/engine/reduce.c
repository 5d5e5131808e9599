/* reduce.c - the least of a trace under which a policy still runs out of memory. */
#include "engine/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void frag_reduce_init(struct frag_reduce *r)
{
	*r = (struct frag_reduce){ .tries_most = UINT64_MAX };
}

void frag_reduce_fini(struct frag_reduce *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		free(r->events[i].copy);
	free(r->events);
	free(r->group_of);
	free(r->out);
}

bool frag_reduce_add(struct frag_reduce *r, const struct frag_record *rec,
		     const struct frag_event *ev)
{
	bool of_block = rec->members & FRAG_HAS_ID;
	uint32_t group = r->groups;

	if (!frag_grow(&r->events, &r->capacity, (uint64_t)r->count + 1, sizeof(*r->events)))
		return false;
	if (of_block && ev->op == FRAG_OP_ALLOC) {
		if (!frag_grow(&r->group_of, &r->slot_capacity, (uint64_t)ev->slot + 1,
			       sizeof(*r->group_of)))
			return false;
		r->group_of[ev->slot] = group;
	} else if (of_block && (ev->op == FRAG_OP_FREE || ev->op == FRAG_OP_COMPLETE
				|| ev->op == FRAG_OP_RECORD_STREAM)) {
		group = r->group_of[ev->slot];
	}
	r->groups += group == r->groups;
	r->events[r->count] = (struct frag_reduce_event){
		.copy = frag_record_copy(rec, ev->step), .group = group,
	};
	return r->events[r->count++].copy != NULL;
}

uint32_t frag_reduce_next(const struct frag_reduce *r, uint32_t i)
{
	while (i < r->count && r->out[r->events[i].group])
		i++;
	return i;
}

static int source_refill(void *state, struct frag_error *err)
{
	struct frag_reduce *r = state;
	bool first = !r->asked;

	(void)err;
	r->asked = true;
	return first;
}

static int source_next(void *state, struct frag_record *rec, const char **kind,
		       struct frag_error *err)
{
	struct frag_reduce *r = state;

	(void)kind;
	(void)err;
	r->at = frag_reduce_next(r, r->at);
	if (r->at == r->count)
		return 0;
	*rec = r->events[r->at++].copy->rec;
	return 1;
}

static const struct frag_source_ops source = {
	.form = "reduced", .refill = source_refill, .next = source_next,
};

/* Feeds the trace until the simulation stops. */
static int feed(struct frag_sim *sim, struct frag_trace *trace, struct frag_error *err)
{
	struct frag_batch batch;
	int rc;

	do {
		rc = frag_trace_next(trace, &batch, err);
		rc = rc ? rc : frag_sim_feed(sim, &batch, err);
	} while (!rc && batch.count && !frag_sim_stopped(sim));
	return rc;
}

/* Simulates what is left. *oom: the step of the out-of-memory; UINT64_MAX: there was none. */
static int try(struct frag_reduce *r, uint64_t *oom, struct frag_error *err)
{
	const struct frag_sim_options options = { .on_oom_continue = false };
	struct frag_trace *trace;
	struct frag_sim *sim = NULL;
	int rc;

	*oom = UINT64_MAX;
	r->at = 0;
	r->asked = false;
	r->tries++;
	rc = frag_trace_from(&trace, &source, r, r->devices, r->device_count, NULL, err);
	if (rc)
		return rc;
	rc = frag_sim_new(&sim, r->choice, trace, &options, err);
	rc = rc ? rc : feed(sim, trace, err);
	if (!rc) {
		uint32_t devices;
		const struct frag_result *results = frag_sim_results(sim, false, &devices);

		for (uint32_t i = 0; i < devices; i++)
			if (results[i].counts.ooms && results[i].oom_count
			    && results[i].ooms[0].step < *oom)
				*oom = results[i].ooms[0].step;
	}
	frag_sim_del(sim);
	frag_trace_close(trace);
	return rc;
}

/* Nothing behind the event of this step, counted among what is left, is needed. */
static void cut_tail(struct frag_reduce *r, uint64_t step)
{
	uint32_t i = frag_reduce_next(r, 0);

	while (step--)
		i = frag_reduce_next(r, i + 1);
	while (r->count > i + 1)
		free(r->events[--r->count].copy);
}

/* Leaves out these groups, if there is an out-of-memory without them. */
static int try_without(struct frag_reduce *r, uint32_t first, uint32_t end, bool *gone,
		       struct frag_error *err)
{
	bool *before = malloc(end - first);
	uint64_t oom;
	bool any = false;
	int rc;

	*gone = false;
	if (!before)
		return frag_fail_nomem(err);
	memcpy(before, r->out + first, end - first);
	for (uint32_t g = first; g < end; g++) {
		any = any || !r->out[g];
		r->out[g] = true;
	}
	rc = any ? try(r, &oom, err) : 0;
	*gone = any && !rc && oom != UINT64_MAX;
	if (*gone)
		cut_tail(r, oom);
	else
		memcpy(r->out + first, before, end - first);
	free(before);
	return rc;
}

/* All stretches of so many groups, from the last one on. */
static int pass(struct frag_reduce *r, uint32_t length, bool *any, struct frag_error *err)
{
	uint32_t end = r->groups;
	int rc = 0;

	*any = false;
	while (end && !rc && r->tries < r->tries_most) {
		uint32_t first = end > length ? end - length : 0;
		bool gone;

		rc = try_without(r, first, end, &gone, err);
		*any = *any || gone;
		end = first;
		if (!rc && r->stop && r->stop(NULL))
			rc = frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	}
	return rc;
}

/* Groups that have no event left are out, and the rest is numbered anew. */
static void renumber(struct frag_reduce *r, uint32_t *number)
{
	uint32_t groups = 0, kept = 0;

	for (uint32_t g = 0; g < r->groups; g++)
		number[g] = UINT32_MAX;
	for (uint32_t i = 0; i < r->count; i++) {
		struct frag_reduce_event *e = &r->events[i];

		if (r->out[e->group]) {
			free(e->copy);
			continue;
		}
		if (number[e->group] == UINT32_MAX)
			number[e->group] = groups++;
		r->events[kept++] = (struct frag_reduce_event){
			.copy = e->copy, .group = number[e->group],
		};
	}
	r->count = kept;
	r->groups = groups;
	memset(r->out, 0, groups);
}

int frag_reduce(struct frag_reduce *r, bool *failed, bool *least, struct frag_error *err)
{
	uint32_t *number = malloc(((size_t)r->groups + 1) * sizeof(*number));
	uint32_t length;
	uint64_t oom = UINT64_MAX;
	int rc;

	*failed = *least = false;
	r->out = calloc((size_t)r->groups + 1, 1);
	rc = number && r->out ? try(r, &oom, err) : frag_fail_nomem(err);
	*failed = !rc && oom != UINT64_MAX;
	if (*failed) {
		cut_tail(r, oom);
		renumber(r, number);
	}
	for (length = r->groups / 2 ? r->groups / 2 : 1; *failed && !rc && r->groups
	     && r->tries < r->tries_most;) {
		bool any;

		rc = pass(r, length, &any, err);
		renumber(r, number);
		*least = !any && length == 1 && r->tries < r->tries_most;
		if (*least)
			break;
		length = any || length == 1 ? length : length / 2;
		if (length > r->groups && r->groups)
			length = r->groups;
	}
	*least = *least || (*failed && !rc && !r->groups);
	free(number);
	return rc;
}
