/* checkpoints.c - where a run can begin that is not the first one. */
#include "search/checkpoints.h"

#include "base/bug.h"

/* A copy costs what some hundreds of events do; so many lie between two at least. */
#define STRIDE_LEAST 8192

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

struct frag_sim *frag_checkpoints_begin(struct frag_checkpoints *c, uint32_t device,
					uint64_t total, uint64_t *event)
{
	struct frag_sim *sim;
	struct frag_error ignored;

	while (c->count && (total < c->at[c->count - 1].least || total >= c->at[c->count - 1].beyond))
		drop_last(c);
	if (!c->count || frag_sim_copy(&sim, c->at[c->count - 1].sim, &ignored))
		return NULL;
	*event = c->at[c->count - 1].event;
	if (!frag_sim_retotal(sim, device, total))
		FRAG_BUG("a run whose interval has the total cannot have it");
	return sim;
}

/*
 * One more, in place of the last where no capacity parts the two. Where there is no room for it,
 * runs begin earlier, and that is all.
 */
static void keep(struct frag_checkpoints *c, const struct frag_sim *sim, uint32_t device,
		 const struct frag_tape *tape, uint64_t event)
{
	struct frag_checkpoint new = { .event = event, .bytes = frag_sim_bytes(sim) };
	struct frag_error ignored;

	frag_sim_interval(sim, device, &new.least, &new.beyond);
	if (c->count && c->at[c->count - 1].least == new.least
	    && c->at[c->count - 1].beyond == new.beyond)
		drop_last(c);
	if (c->count == FRAG_CHECKPOINTS || c->bytes + new.bytes > frag_tape_bytes(tape)
	    || frag_sim_copy(&new.sim, sim, &ignored))
		return;
	c->bytes += new.bytes;
	c->at[c->count++] = new;
}

int frag_checkpoints_play(struct frag_checkpoints *c, struct frag_sim *sim, uint32_t device,
			  uint64_t total, const struct frag_tape *tape,
			  struct frag_tape_reader *reader, struct frag_error *err)
{
	const uint64_t end = frag_tape_event(tape, UINT64_MAX), part = end / FRAG_CHECKPOINTS + 1;
	uint64_t stride = part > STRIDE_LEAST ? part : STRIDE_LEAST;
	int rc = 0;

	stride = c->stride ? c->stride : stride;
	/* a plug-in's run cannot go on with another total, so no copy of it is of use */
	if (!frag_sim_retotal(sim, device, total))
		return frag_sim_play(sim, reader, end, err);
	while (!rc && !frag_sim_stopped(sim) && frag_tape_at(reader) < end) {
		const uint64_t at = frag_tape_at(reader);

		rc = frag_sim_play(sim, reader, at + stride - at % stride, err);
		if (!rc && !frag_sim_stopped(sim) && frag_tape_at(reader) < end)
			keep(c, sim, device, tape, frag_tape_at(reader));
	}
	return rc;
}
