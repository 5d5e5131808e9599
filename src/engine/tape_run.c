/* tape_run.c - the loop that plays a tape to a simulation: every search, and every run of a sweep. */
#include "engine/tape_run.h"

#define SLICE 65536     /* events between two questions: milliseconds under most policies */

int frag_tape_play(struct frag_sim *sim, struct frag_tape_reader *reader, uint64_t until,
		   const struct frag_job *job, struct frag_error *err)
{
	const uint64_t events = reader->tape->count;
	uint64_t at = frag_tape_at(reader), next = at;
	int rc = frag_job_check(job, err);

	/* a simulation that has not begun runs on no device either */
	while (!rc && at == next && at < until && !(at && frag_sim_stopped(sim))) {
		next = until - at > SLICE ? at + SLICE : until;
		frag_job_show(job, "events", at, events);
		rc = frag_sim_play(sim, reader, next, err);
		rc = rc ? rc : frag_job_check(job, err);
		at = frag_tape_at(reader);
	}
	return rc;
}

int frag_tape_run(struct frag_sim **out, const struct frag_choice *choice,
		  const struct frag_tape *tape, const struct frag_sim_options *options,
		  const struct frag_job *job, struct frag_error *err)
{
	struct frag_tape_reader *reader = frag_tape_reader_new(tape);
	int rc = reader ? 0 : frag_fail_nomem(err);

	*out = NULL;
	rc = rc ? rc : frag_sim_on_tape(out, choice, tape, options, err);
	rc = rc ? rc : frag_tape_play(*out, reader, UINT64_MAX, job, err);
	frag_tape_reader_del(reader);
	return rc;
}
