/* checkpoints.c - where a run can begin that is not the first one. */
#include "search/checkpoints.h"

#include "base/bug.h"

/* A copy costs as much as several hundred events: the minimum number of events between two, */
#define STRIDE_LEAST 8192
/* and the minimum on a short tape. */
#define STRIDE_SHORT 64
#define SLICE 256 /* events between two calls of stop */
#define SHORT 16384
/* Bytes of all copies: this number, or the size of the tape. */
#define ROOM (UINT64_C(16) << 20)

bool frag_tape_is_short(const struct frag_tape *tape)
{
	return frag_tape_event(tape, UINT64_MAX) <= SHORT;
}

static void drop_last(struct frag_checkpoints *c)
{
	struct frag_checkpoint *last = &c->at[--c->count];

	c->bytes -= last->bytes;
	frag_sim_del(last->sim);
	*last = (struct frag_checkpoint){ .sim = NULL };
}

void frag_checkpoints_forget(struct frag_checkpoints *c)
{
	while (c->count)
		drop_last(c);
}

bool frag_checkpoints_begin(struct frag_checkpoints *c, struct frag_run_cursor *run)
{
	const struct frag_checkpoint *last;
	struct frag_error ignored;

	/* what is played otherwise cannot go on with them */
	if (c->small != run->small)
		frag_checkpoints_forget(c);
	c->small = run->small;
	while (c->count && (run->total < c->at[c->count - 1].least
			    || run->total >= c->at[c->count - 1].beyond))
		drop_last(c);
	if (!c->count || frag_sim_copy(&run->sim, c->at[c->count - 1].sim, &ignored))
		return false;
	last = &c->at[c->count - 1];
	run->cursor = last->cursor;
	if (!run->small)
		frag_tape_seek(run->reader, last->event);
	if (!frag_sim_retotal(run->sim, run->device, run->total))
		FRAG_BUG("a run whose interval has the total cannot have it");
	return true;
}

static uint64_t event_of(const struct frag_run_cursor *run)
{
	return run->small ? run->cursor.event : frag_tape_at(run->reader);
}

static int checkpoints_play(struct frag_run_cursor *run, uint64_t until, struct frag_error *err)
{
	return run->small ? frag_smallreq_play(run->small, &run->cursor, run->sim, until, err)
			  : frag_sim_play(run->sim, run->reader, until, err);
}

/*
 * One more, in place of the last where no capacity parts the two. Where there is no room for it,
 * runs begin earlier, and that is all.
 */
static void checkpoints_keep(struct frag_checkpoints *c, const struct frag_run_cursor *run,
			     const struct frag_tape *tape)
{
	struct frag_checkpoint new = {
		.event = event_of(run), .cursor = run->cursor, .bytes = frag_sim_bytes(run->sim),
	};
	const uint64_t tape_bytes = frag_tape_bytes(tape);
	const uint64_t room = tape_bytes > ROOM ? tape_bytes : ROOM;
	struct frag_error ignored;

	frag_sim_interval(run->sim, run->device, &new.least, &new.beyond);
	if (c->count && c->at[c->count - 1].least == new.least
	    && c->at[c->count - 1].beyond == new.beyond)
		drop_last(c);
	if (c->count == FRAG_CHECKPOINTS || c->bytes + new.bytes > room
	    || frag_sim_copy(&new.sim, run->sim, &ignored))
		return;
	c->bytes += new.bytes;
	c->at[c->count++] = new;
}

int frag_checkpoints_play(struct frag_checkpoints *c, struct frag_run_cursor *run,
			  const struct frag_tape *tape, struct frag_error *err)
{
	const uint64_t end = frag_tape_event(tape, UINT64_MAX), part = end / FRAG_CHECKPOINTS + 1;
	const uint64_t least = frag_tape_is_short(tape) ? STRIDE_SHORT : STRIDE_LEAST;
	uint64_t stride = part > least ? part : least;
	int rc = 0;

	stride = c->stride ? c->stride : stride;
	/* a plug-in's run cannot go on with another total, so no copy of it is of use */
	if (!frag_sim_retotal(run->sim, run->device, run->total))
		return checkpoints_play(run, end, err);
	while (!rc && !frag_sim_stopped(run->sim) && event_of(run) < end) {
		const uint64_t at = event_of(run);

		if (run->stop && run->stop(run->ctx))
			return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
		uint64_t until = at + stride - at % stride;

		until = until - at > SLICE ? at + SLICE : until;
		rc = checkpoints_play(run, until, err);
		if (!rc && until % stride == 0 && !frag_sim_stopped(run->sim)
		    && event_of(run) < end)
			checkpoints_keep(c, run, tape);
	}
	return rc;
}
