/* oom_cause.c - finds the cause of a failed request. */
#include "search/oom_cause.h"

#include <stdlib.h>

#include "events/tape.h"
#include "explain/device_state.h"

static const struct frag_oom *first_oom(const struct frag_sim *sim, uint32_t device)
{
	uint32_t count;
	/* without a copy of the holders, results only read the simulation */
	const struct frag_result *r = frag_sim_results((struct frag_sim *)(uintptr_t)sim, false,
						       &count);

	return r[device].oom_count ? &r[device].ooms[0] : NULL;
}

/* Does the request succeed in a copy of the run after it has failed? */
static int retry(const struct frag_sim *after, const struct frag_next *request, bool *succeeds,
		 struct frag_error *err)
{
	struct frag_sim *sim;
	bool failed = true;
	int rc = frag_sim_copy(&sim, after, err);

	if (rc)
		return rc;
	rc = frag_sim_feed_event(sim, request, &failed, err);
	*succeeds = !failed;
	frag_sim_del(sim);
	return rc;
}

/* The same after the streams have completed all pending frees. */
static int retry_after_waiting(const struct frag_failed_state *s, bool *succeeds,
			       struct frag_error *err)
{
	const struct frag_memory_state *memory = s->memory;
	struct frag_ended *ended = calloc((size_t)memory->block_count + 1, sizeof(*ended));
	struct frag_next wait = *s->request;
	struct frag_sim *sim = NULL;
	bool failed = true;
	int rc = ended ? frag_sim_copy(&sim, s->after, err) : frag_fail_nomem(err);

	wait.event.op = FRAG_OP_COMPLETE;
	wait.event.ended = ended;
	wait.event.ended_count = 0;
	for (uint32_t i = 0; i < memory->block_count && !rc; i++)
		if (memory->blocks[i].state == FRAG_PENDING
		    && memory->blocks[i].slot != FRAG_NO_SLOT)
			ended[wait.event.ended_count++] = (struct frag_ended){
				.slot = memory->blocks[i].slot, .synced = FRAG_NEVER,
			};
	if (!rc && wait.event.ended_count) {
		rc = frag_sim_feed_event(sim, &wait, &failed, err);
		rc = rc ? rc : frag_sim_feed_event(sim, s->request, &failed, err);
	}
	*succeeds = !rc && !failed;
	frag_sim_del(sim);
	free(ended);
	return rc;
}

static int64_t usable_of(uint64_t total, uint64_t taken)
{
	if (!total)
		return -1;
	return total > taken ? (int64_t)(total - taken) : 0;
}

static struct frag_oom_diagnosis diagnosis_of(const struct frag_oom_facts *facts)
{
	struct frag_oom_diagnosis d = {
		.cause = frag_oom_cause_of(facts), .waiting_succeeds = facts->waiting_succeeds,
	};

	d.nearly_full = d.cause == FRAG_CAUSE_FRAGMENTATION && frag_oom_is_nearly_full(facts);
	return d;
}

static uint64_t pending_bytes(const struct frag_memory_state *memory)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < memory->block_count; i++)
		if (memory->blocks[i].state == FRAG_PENDING)
			sum += memory->blocks[i].bytes;
	return sum;
}

/* Gathers the facts of a failed request, and derives the cause from them. */
int frag_oom_diagnose(struct frag_oom_diagnosis *out, const struct frag_failed_state *s,
		      struct frag_error *err)
{
	const struct frag_device_figures *d = s->figures;
	const struct frag_oom *oom = first_oom(s->after, s->device);
	const int64_t left = oom->metrics.device_free > 0 ? oom->metrics.device_free : 0;
	struct frag_oom_facts facts = {
		.need = (int64_t)oom->need, .live = (int64_t)oom->metrics.active,
		.pending = (int64_t)pending_bytes(s->memory),
		.usable = usable_of(d->total, d->context + d->other),
		.lower_bound = (int64_t)s->lower_bound,
	};
	int rc = 0;

	facts.limited = facts.usable < 0
			|| left >= (int64_t)frag_sight_rounded(s->after, s->device, oom->demand);
	if (s->request) {
		rc = retry(s->after, s->request, &facts.retry_succeeds, err);
		rc = rc ? rc : retry_after_waiting(s, &facts.waiting_succeeds, err);
	}
	*out = diagnosis_of(&facts);
	/* the policy obtains its initial pool in one piece, and no block can block it */
	if (!s->request && out->cause == FRAG_CAUSE_FRAGMENTATION)
		*out = (struct frag_oom_diagnosis){ .cause = FRAG_CAUSE_CAPACITY };
	return rc;
}

struct frag_oom_diagnosis frag_oom_diagnose_record(const struct frag_result *run)
{
	const struct frag_oom *oom = run->oom_count ? &run->ooms[0] : NULL;

	if (!oom)
		return (struct frag_oom_diagnosis){ .cause = FRAG_CAUSE_NONE };
	return diagnosis_of(&(struct frag_oom_facts){
		.need = (int64_t)oom->need, .live = (int64_t)oom->metrics.active,
		.usable = usable_of(run->total, run->context + run->other),
		.limited = !run->total || frag_oom_is_limit(oom),
	});
}

/* The run halts before the request that fails; a copy makes the request. */
static int diagnose_halted(struct frag_oom_diagnosis *out, struct frag_run_until_oom *run,
			   const struct frag_fit_case *subject, uint64_t lower_bound,
			   struct frag_error *err)
{
	const struct frag_next request = frag_halting_next(run);
	struct frag_memory_state memory = { .segment_count = 0 };
	struct frag_failed_state state = {
		.device = subject->device, .figures = &subject->devices[subject->device],
		.memory = &memory, .request = &request, .lower_bound = lower_bound,
	};
	struct frag_sim *after = NULL;
	bool failed;
	int rc = frag_sim_copy(&after, run->sim, err);

	rc = rc ? rc : frag_sim_feed_event(after, &request, &failed, err);
	rc = rc ? rc : frag_memory_state_read(&memory, after, subject->device, err);
	state.after = after;
	rc = rc ? rc : frag_oom_diagnose(out, &state, err);
	frag_scene_fini(&memory);
	frag_sim_del(after);
	return rc;
}

/* Repeats the run up to its first OOM, and diagnoses the state there. */
int frag_oom_find_cause(struct frag_oom_diagnosis *out, const struct frag_fit_case *subject,
			uint64_t lower_bound, struct frag_error *err)
{
	const struct frag_sim_options options = {
		.level = FRAG_LEVEL_SURVIVE, .on_oom_continue = true, .devices = subject->devices,
	};
	const struct frag_memory_state empty = { .segment_count = 0 };
	struct frag_run_until_oom run = { .sim = NULL };
	struct frag_sim *sim = NULL;
	bool halted = false;
	int rc = frag_sim_on_tape(&sim, subject->choice, subject->tape, &options, err);

	*out = (struct frag_oom_diagnosis){ .cause = FRAG_CAUSE_NONE };
	if (rc)
		return rc;
	rc = frag_halting_init(&run, subject->tape, subject->device, sim, err);
	run.stop = subject->stop;
	run.ctx = subject->ctx;
	rc = rc ? rc : frag_sim_begin(sim, err);
	if (!rc && first_oom(sim, subject->device))
		rc = frag_oom_diagnose(out, &(struct frag_failed_state){
			.after = sim, .device = subject->device,
			.figures = &subject->devices[subject->device], .memory = &empty,
			.lower_bound = lower_bound,
		}, err);
	else if (!rc)
		rc = frag_halting_play(&run, UINT64_MAX, &halted, err);
	if (!rc && halted)
		rc = diagnose_halted(out, &run, subject, lower_bound, err);
	frag_halting_fini(&run);
	return rc;
}
