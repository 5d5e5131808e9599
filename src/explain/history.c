/* history.c - what a program had done when a request failed: requests, steps, failures. */
#include "explain/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/parse.h"
#include "events/recording_info.h"
#include "events/tape.h"

struct reading {
	struct frag_history *h;
	const struct frag_symbols *symbols;
	const struct frag_snapshot *snapshot;   /* NULL: none, so failures are not known */
	uint32_t *at;           /* by slot: one more than the request that it has; 0: none */
	uint32_t slot_count, slot_capacity, device;
	uint64_t oom_step;      /* the recording ended with this failed request; UINT64_MAX: no */
};

static bool begins_with(struct frag_text text, const char *with)
{
	const size_t n = strlen(with);

	return text.length >= n && memcmp(text.text, with, n) == 0;
}

/* Ends of steps are marks, too. */
static bool history_note_mark(struct frag_history *h, uint64_t at, struct frag_text name)
{
	if (!begins_with(name, "Optimizer.step") || frag_text_find(name, " (end)"))
		return true;
	if (!FRAG_GROW(h->steps, h->step_capacity, h->step_count))
		return false;
	h->steps[h->step_count++] = at;
	return true;
}

/* Step numbers are numbers of the snapshot's plan. */
static bool is_planned(const struct reading *r, uint64_t step, enum frag_plan_kind kind)
{
	return r->snapshot && step < r->snapshot->plan_count
	       && r->snapshot->plan[step].kind == kind;
}

static bool history_note_alloc(struct reading *r, const struct frag_event *ev, uint32_t stack)
{
	struct frag_history *h = r->h;
	const uint32_t number = stack ? frag_call_stacks_add(&h->stacks, r->symbols, stack) : 0;
	struct frag_past_request *request;

	if (number == UINT32_MAX
	    || !FRAG_GROW(h->requests, h->request_capacity, h->request_count)
	    || !FRAG_EXTEND(r->at, r->slot_capacity, r->slot_count, ev->slot))
		return false;
	request = &h->requests[h->request_count++];
	*request = (struct frag_past_request){
		.born = ev->step, .died = FRAG_STILL, .bytes = ev->bytes, .tag = ev->tag,
		.stack = number, .maker = (uint8_t)frag_maker_of(ev->members),
		.before = ev->place || is_planned(r, ev->step, FRAG_PLAN_INITIAL),
		.failed = ev->step == r->oom_step || is_planned(r, ev->step, FRAG_PLAN_OOM),
	};
	r->at[ev->slot] = request->failed ? 0 : h->request_count;
	return true;
}

static bool history_note_event(struct reading *r, const struct frag_event *ev, uint32_t stack)
{
	if (ev->op == FRAG_OP_MARK)
		return history_note_mark(r->h, ev->step, ev->text);
	if (ev->device != r->device)
		return true;
	if (ev->op == FRAG_OP_ALLOC)
		return history_note_alloc(r, ev, stack);
	if (ev->op == FRAG_OP_FREE && ev->slot < r->slot_count && r->at[ev->slot]) {
		r->h->requests[r->at[ev->slot] - 1].died = ev->step;
		r->at[ev->slot] = 0;
	}
	return true;
}

/* The tape's first `until` events. */
static int read_until(struct frag_history *h, const struct frag_tape *tape, uint32_t device,
		      uint64_t until, struct frag_error *err)
{
	const struct frag_trace_info *info = frag_tape_info(tape);
	struct reading r = {
		.h = h, .symbols = frag_tape_symbols(tape), .device = device,
		.snapshot = frag_trace_snapshot(tape->trace),
		.oom_step = info->scope.ends == FRAG_ENDS_OOM ? info->oom_step : UINT64_MAX,
	};
	struct frag_tape_reader *reader = frag_tape_reader_new(tape);
	struct frag_batch batch;
	bool good;

	*h = (struct frag_history){ .tape = tape, .device = device };
	good = reader && frag_call_stacks_init(&h->stacks);
	while (good && (frag_tape_next(reader, until, &batch), batch.count))
		for (uint32_t i = 0; i < batch.count && good; i++)
			good = history_note_event(&r, &batch.events[i],
						  batch.whole ? batch.whole[i] : 0);
	free(r.at);
	frag_tape_reader_del(reader);
	return good ? 0 : frag_fail_nomem(err);
}

int frag_history_read_whole(struct frag_history *h, const struct frag_tape *tape, uint32_t device,
			    struct frag_error *err)
{
	*h = (struct frag_history){ .tape = NULL };
	return frag_trace_snapshot(tape->trace)
	       ? read_until(h, tape, device, UINT64_MAX, err) : 0;
}

int frag_history_read_before(struct frag_history *h, const struct frag_tape *tape, uint32_t device,
			     uint64_t at, struct frag_error *err)
{
	return h->tape ? 0 : read_until(h, tape, device, frag_tape_event(tape, at) + 1, err);
}

void frag_history_fini(struct frag_history *h)
{
	frag_call_stacks_fini(&h->stacks);
	free(h->requests);
	free(h->steps);
	*h = (struct frag_history){ .request_count = 0 };
}

uint32_t frag_history_find(const struct frag_history *h, uint64_t at)
{
	uint32_t i;

	FRAG_COUNT_WHILE(i, h->request_count, h->requests[i].born < at);
	return i;
}

uint32_t frag_history_framed(const struct frag_history *h, uint64_t at)
{
	uint32_t i = frag_history_find(h, at);

	i = i < h->request_count && h->requests[i].born == at ? i + 1 : i;
	while (i-- > 0)
		if (frag_calls_of(&h->stacks, h->requests[i].stack).count)
			return i;
	return FRAG_ALL;
}

struct frag_recorded_failures frag_history_failures(const struct frag_history *h)
{
	struct frag_recorded_failures f = { .count = 0 };

	for (uint32_t i = 0; i < h->request_count; i++) {
		if (!h->requests[i].failed)
			continue;
		f.at[f.count < FRAG_FAILURES_SHOWN ? f.count : FRAG_FAILURES_SHOWN - 1] =
			h->requests[i].born;
		f.count++;
	}
	return f;
}

uint64_t frag_history_live(const struct frag_history *h, uint64_t at)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < h->request_count && h->requests[i].born < at; i++)
		bytes += frag_was_alive(&h->requests[i], at) ? h->requests[i].bytes : 0;
	return bytes;
}
