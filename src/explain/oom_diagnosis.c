/* oom_diagnosis.c - judges a failed request, in copies of its simulation. */
#include "explain/oom_diagnosis.h"

#include <stdlib.h>

#include "device/usable.h"
#include "engine/sim_queries.h"

/* Does the request succeed in a copy of the run after it has failed? */
static int retry(const struct frag_sim *after, const struct frag_next *request, bool *succeeds,
		 struct frag_error *err)
{
	struct frag_sim *sim;
	bool failed = true;
	int rc = frag_sim_copy(&sim, after, err);

	if (rc)
		return rc;
	rc = frag_next_feed(sim, request, &failed, err);
	*succeeds = !rc && !failed;
	frag_sim_del(sim);
	return rc == -FRAG_EPOLICY ? 0 : rc;       /* what the policy fails to simulate stays unknown */
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
		rc = frag_next_feed(sim, &wait, &failed, err);
		rc = rc ? rc : frag_next_feed(sim, s->request, &failed, err);
	}
	*succeeds = !rc && !failed;
	frag_sim_del(sim);
	free(ended);
	return rc == -FRAG_EPOLICY ? 0 : rc;       /* what the policy fails to simulate stays unknown */
}

struct frag_oom_diagnosis frag_oom_diagnosis_of(const struct frag_oom_facts *facts)
{
	struct frag_oom_diagnosis d = {
		.verdict = frag_oom_verdict_of(facts), .waiting_succeeds = facts->waiting_succeeds,
	};

	d.nearly_full = d.verdict == FRAG_VERDICT_FRAGMENTATION && frag_oom_is_nearly_full(facts);
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

/* Gathers the facts of a failed request, and derives the verdict from them. */
int frag_oom_diagnose(struct frag_oom_diagnosis *out, const struct frag_failed_state *s,
		      struct frag_error *err)
{
	const struct frag_device_figures *d = s->figures;
	const struct frag_oom *oom = frag_sim_last_oom(s->after, s->device);
	const int64_t left = oom->metrics.device_free > 0 ? oom->metrics.device_free : 0;
	struct frag_oom_facts facts = {
		.need = (int64_t)oom->need, .live = (int64_t)oom->metrics.active,
		.pending = (int64_t)pending_bytes(s->memory),
		.usable = d->total ? (int64_t)frag_usable(d->total, d->context, d->other) : -1,
		.lower_bound = (int64_t)s->lower_bound,
	};
	struct frag_oom_past past = { .attempt.bytes = 0 };
	int rc = 0;

	facts.limited = facts.usable < 0
			|| left >= (int64_t)frag_heap_round(frag_sim_heap(s->after, s->device),
							    oom->demand);
	if (s->request) {
		rc = retry(s->after, s->request, &facts.retry_succeeds, err);
		rc = rc ? rc : retry_after_waiting(s, &facts.waiting_succeeds, err);
	}
	if (!rc && s->request && s->history)
		rc = frag_oom_past_find(&past, s->history, oom->step, oom->need, (uint64_t)left,
					oom->metrics.free, err);
	facts.failed_attempt = past.attempt.bytes > 0;
	facts.accumulation = past.accumulation.bytes > 0;
	facts.leak = past.leak.bytes > 0;
	*out = frag_oom_diagnosis_of(&facts);
	out->past = past;
	/* the policy obtains its initial pool in one piece, and no block can block it */
	if (!s->request && out->verdict == FRAG_VERDICT_FRAGMENTATION)
		*out = (struct frag_oom_diagnosis){ .verdict = FRAG_VERDICT_CAPACITY };
	return rc;
}
