/*
 * run_until_oom.c - a run that halts before the next request that fails, and copies of it after that.
 *
 * A run cannot be reversed, so a copy is kept every 65536 events. When a request has failed
 * after a copy, that copy is run up to the request.
 */
#include "explain/run_until_oom.h"

#include <stdlib.h>

#include "engine/sim_queries.h"
#include "engine/tape_run.h"
#include "explain/state_owners.h"

#define BETWEEN_COPIES 65536           /* events from one copy to the next */

int frag_until_oom_begin(struct frag_run_until_oom *run, const struct frag_fit_case *on,
			 struct frag_error *err)
{
	const struct frag_sim_options options = {
		.level = FRAG_LEVEL_SURVIVE, .on_oom_continue = true, .devices = on->devices,
	};
	int rc;

	*run = (struct frag_run_until_oom){
		.tape = on->tape, .device = on->device, .job = on->job,
		.reader = frag_tape_reader_new(on->tape),
		.lookups = frag_tape_reader_new(on->tape),
	};
	rc = run->reader && run->lookups ? 0 : frag_fail_nomem(err);
	rc = rc ? rc : frag_sim_on_tape(&run->sim, on->choice, on->tape, &options, err);
	return rc ? rc : frag_sim_begin(run->sim, err);
}

void frag_until_oom_fini(struct frag_run_until_oom *run)
{
	frag_sim_del(run->sim);
	frag_tape_reader_del(run->reader);
	frag_tape_reader_del(run->lookups);
	free(run->moved);
	*run = (struct frag_run_until_oom){ .sim = NULL };
}

/* Plays up to event `until`, or up to an earlier request that fails. */
static int play_part(struct frag_run_until_oom *run, uint64_t until, bool *halted,
			struct frag_error *err)
{
	const uint64_t from = frag_tape_at(run->reader);
	const struct frag_oom *oom;     /* the first that was not passed */
	struct frag_sim *before = NULL;
	int rc = frag_sim_copy(&before, run->sim, err);

	rc = rc ? rc : frag_tape_play(run->sim, run->reader, until, &run->job, err);
	oom = rc ? NULL : frag_sim_oom(run->sim, run->device, run->passed);
	*halted = oom != NULL;
	if (oom) {
		const uint64_t event = frag_tape_event(run->tape, oom->step);

		frag_sim_del(run->sim);
		run->sim = before;
		before = NULL;
		frag_tape_seek(run->reader, from);
		rc = frag_sim_play(run->sim, run->reader, event, err);
	}
	frag_sim_del(before);
	return rc;
}

int frag_until_oom_play(struct frag_run_until_oom *run, uint64_t until, bool *halted,
			struct frag_error *err)
{
	const uint64_t events = frag_tape_info(run->tape)->events;
	int rc = 0;

	*halted = false;
	until = until < events ? until : events;
	while (!rc && !*halted && frag_tape_at(run->reader) < until) {
		const uint64_t end = frag_tape_at(run->reader) + BETWEEN_COPIES;

		rc = play_part(run, end < until ? end : until, halted, err);
	}
	return rc;
}

struct frag_next frag_next_at(struct frag_tape_reader *reader, uint64_t event)
{
	struct frag_batch batch;

	frag_tape_seek(reader, event);
	frag_tape_next(reader, event + 1, &batch);
	return (struct frag_next){
		.event = batch.events[0], .stack = batch.stacks ? batch.stacks[0] : 0,
	};
}

struct frag_next frag_until_oom_next(struct frag_run_until_oom *run)
{
	const uint64_t at = frag_tape_at(run->reader);
	const struct frag_next next = frag_next_at(run->reader, at);

	frag_tape_seek(run->reader, at);
	return next;
}

int frag_next_feed(struct frag_sim *sim, const struct frag_next *next, bool *failed,
		  struct frag_error *err)
{
	const struct frag_batch batch = {
		.events = &next->event, .count = 1, .stacks = &next->stack,
	};
	const uint64_t before = frag_sim_ooms(sim, next->event.device);
	const int rc = frag_sim_feed(sim, &batch, err);

	*failed = !rc && frag_sim_ooms(sim, next->event.device) > before;
	return rc;
}

int frag_until_oom_pass(struct frag_run_until_oom *run, struct frag_error *err)
{
	const struct frag_next request = frag_until_oom_next(run);
	bool failed;

	frag_tape_seek(run->reader, frag_tape_at(run->reader) + 1);
	run->passed++;
	return frag_next_feed(run->sim, &request, &failed, err);
}

int frag_until_oom_after(struct frag_run_until_oom *run, const struct frag_next *request,
			 struct frag_sim **after, struct frag_memory_state *memory,
			 struct frag_error *err)
{
	bool failed;
	int rc = frag_sim_copy(after, run->sim, err);

	rc = rc ? rc : frag_next_feed(*after, request, &failed, err);
	return rc ? rc : frag_memory_state_read(memory, *after, run->device, err);
}
