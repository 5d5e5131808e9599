/* find_move.c - tries moves of live blocks for a failed request, each in a copy of its run. */
#include "explain/find_move.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "events/id_map.h"
#include "events/tape.h"
#include "live_blocks/live_blocks.h"

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
	return frag_next_at(run->lookups, frag_tape_event(run->tape, origin_of(run, b)));
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
	return frag_next_feed(sim, &next, failed, err);
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
	rc = rc ? rc : frag_next_feed(sim, request, &failed, err);
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
