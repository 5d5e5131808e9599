/*
 * find_move.c - examines a request that failed, in copies of its run.
 *
 * A run cannot be reversed, so a copy is kept every 65536 events. When a request has failed
 * after a copy, that copy is run up to the request.
 */
#include "explain/find_move.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "engine/sim_queries.h"
#include "engine/tape_run.h"
#include "events/id_map.h"
#include "explain/device_state.h"
#include "live_blocks/live_blocks.h"

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

/* The step of the first out-of-memory that was not passed; false: there is none. */
static bool has_failed(const struct frag_run_until_oom *run, uint64_t *step)
{
	uint32_t count;
	const struct frag_result *r = &frag_sim_results(run->sim, false, &count)[run->device];

	if (r->oom_count > run->passed)
		*step = r->ooms[run->passed].step;
	return r->oom_count > run->passed;
}

/* Plays up to event `until`, or up to an earlier request that fails. */
static int play_part(struct frag_run_until_oom *run, uint64_t until, bool *halted,
			struct frag_error *err)
{
	const uint64_t from = frag_tape_at(run->reader);
	struct frag_sim *before = NULL;
	uint64_t step = 0;
	int rc = frag_sim_copy(&before, run->sim, err);

	rc = rc ? rc : frag_tape_play(run->sim, run->reader, until, &run->job, err);
	*halted = !rc && has_failed(run, &step);
	if (*halted) {
		frag_sim_del(run->sim);
		run->sim = before;
		before = NULL;
		frag_tape_seek(run->reader, from);
		rc = frag_sim_play(run->sim, run->reader, frag_tape_event(run->tape, step), err);
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

static struct frag_next read_next(struct frag_tape_reader *reader, uint64_t event)
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
	const struct frag_next next = read_next(run->reader, at);

	frag_tape_seek(run->reader, at);
	return next;
}

int frag_sim_feed_event(struct frag_sim *sim, const struct frag_next *next, bool *failed,
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
	return frag_sim_feed_event(run->sim, &request, &failed, err);
}

int frag_until_oom_after(struct frag_run_until_oom *run, const struct frag_next *request,
			 struct frag_sim **after, struct frag_memory_state *memory,
			 struct frag_error *err)
{
	bool failed;
	int rc = frag_sim_copy(after, run->sim, err);

	rc = rc ? rc : frag_sim_feed_event(*after, request, &failed, err);
	return rc ? rc : frag_memory_state_read(memory, *after, run->device, err);
}

/* The step at which a block was first allocated: the simulation has that of its last move. */
static uint64_t origin_of(const struct frag_run_until_oom *run, const struct frag_state_block *b)
{
	uint64_t step = b->birth;

	for (uint32_t i = 0; i < run->moved_count; i++)
		if (run->moved[i].slot == b->slot && run->moved[i].birth == step)
			step = run->moved[i].origin;
	return step;
}

/* The request that a block is of. */
static struct frag_next find_request(struct frag_run_until_oom *run,
				     const struct frag_state_block *b)
{
	return read_next(run->lookups, frag_tape_event(run->tape, origin_of(run, b)));
}

/* The block is freed, or allocated again, at the step of the request; it may be anywhere. */
static int feed_again(struct frag_run_until_oom *run, struct frag_sim *sim,
		      const struct frag_state_block *b, enum frag_op op, uint64_t step,
		      bool *failed, struct frag_error *err)
{
	struct frag_next next = find_request(run, b);

	next.event.op = (uint8_t)op;
	next.event.step = step;
	next.event.place = NULL;
	next.event.waits = false;
	next.event.ended_count = 0;
	return frag_sim_feed_event(sim, &next, failed, err);
}

/* Does every request succeed in this copy of the run? The moved blocks are freed first. */
static int try_candidate(struct frag_run_until_oom *run, struct frag_sim *sim,
		      const struct frag_memory_state *memory,
		      const struct frag_move_candidate *candidate, const struct frag_next *request,
		      bool *served, struct frag_error *err)
{
	const uint64_t step = request->event.step;
	bool failed = false;
	int rc = 0;

	for (uint32_t i = 0; i < candidate->count && !rc; i++)
		rc = feed_again(run, sim, &memory->blocks[candidate->blocks[i]], FRAG_OP_FREE, step,
				&failed, err);
	rc = rc ? rc : frag_sim_feed_event(sim, request, &failed, err);
	for (uint32_t i = 0; i < candidate->count && !rc && !failed; i++)
		rc = feed_again(run, sim, &memory->blocks[candidate->blocks[i]], FRAG_OP_ALLOC, step,
				&failed, err);
	*served = !rc && !failed;
	return rc == -FRAG_EPOLICY ? 0 : rc;    /* where the policy fails it is none */
}

static bool note_moved(struct frag_run_until_oom *run, const struct frag_state_block *b,
		       uint64_t step)
{
	const uint64_t origin = origin_of(run, b);

	if (!FRAG_GROW(run->moved, run->moved_capacity, run->moved_count))
		return false;
	run->moved[run->moved_count++] = (struct frag_moved_block){
		.birth = step, .origin = origin, .slot = b->slot,
	};
	return true;
}

/* Which segments lose blocks of these, in the order of their ordinals. */
static void list_left_segments(struct frag_move *move, const struct frag_memory_state *memory,
			 const struct frag_move_candidate *candidate)
{
	for (uint32_t s = 0; s < memory->segment_count; s++) {
		const struct frag_state_segment *seg = &memory->segments[s];
		bool left = false;

		for (uint32_t i = 0; i < move->blocks && !left; i++)
			left = candidate->blocks[i] >= seg->first
			       && candidate->blocks[i] - seg->first < seg->count;
		if (left)
			move->from[move->from_count++] = seg->ordinal;
	}
}

/* Describes the moved blocks by id, tag and size, and where they were. */
static int describe_move(struct frag_run_until_oom *run, const struct frag_memory_state *memory,
			 const struct frag_move_candidate *candidate, uint64_t step,
			 struct frag_move *move)
{
	*move = (struct frag_move){ .bytes = candidate->bytes, .step = step };
	move->ids = calloc(candidate->count, sizeof(*move->ids));
	move->from = calloc(candidate->count, sizeof(*move->from));
	move->tags = calloc(candidate->count, sizeof(*move->tags));
	move->sizes = calloc(candidate->count, sizeof(*move->sizes));
	if (!move->ids || !move->from || !move->tags || !move->sizes)
		return -FRAG_ENOMEM;
	for (uint32_t i = 0; i < candidate->count; i++) {
		const struct frag_state_block *b = &memory->blocks[candidate->blocks[i]];
		const struct frag_next of = find_request(run, b);

		move->blocks++;
		move->sizes[i] = b->bytes;
		move->ids[i] = frag_id_json(&of.event.id);
		if (!move->ids[i] || !note_moved(run, b, step)
		    || !frag_tag_json(frag_tape_symbols(run->tape), b->tag, &move->tags[i]))
			return -FRAG_ENOMEM;
	}
	list_left_segments(move, memory, candidate);
	return 0;
}

/* Tries each candidate on a copy of the run; the first that succeeds replaces the run. */
int frag_until_oom_move(struct frag_run_until_oom *run, const struct frag_memory_state *memory,
			const struct frag_move_candidates *candidates, struct frag_move *move,
			bool *found, uint32_t *tried, struct frag_error *err)
{
	const uint64_t at = frag_tape_at(run->reader);
	const struct frag_next request = frag_until_oom_next(run);
	int rc = 0;

	*found = false;
	*move = (struct frag_move){ .blocks = 0 };
	for (uint32_t i = 0; i < candidates->count && !rc && !*found; i++) {
		struct frag_sim *sim;

		rc = frag_job_check(&run->job, err);
		if (rc)
			return rc;
		frag_job_show(&run->job, "candidates", i, candidates->count);
		rc = frag_sim_copy(&sim, run->sim, err);
		if (rc)
			return rc;
		++*tried;
		rc = try_candidate(run, sim, memory, &candidates->candidates[i], &request, found, err);
		if (!*found) {
			frag_sim_del(sim);
			continue;
		}
		frag_sim_del(run->sim);
		run->sim = sim;
		if (describe_move(run, memory, &candidates->candidates[i], request.event.step,
				  move))
			rc = frag_fail_nomem(err);
	}
	frag_tape_seek(run->reader, at + (*found ? 1 : 0));
	return rc;
}
