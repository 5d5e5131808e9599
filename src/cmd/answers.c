/* answers.c - what the report of a run says beyond its figures. */
#include "cmd/answers.h"

#include <stdlib.h>

#include "cmd/interrupt.h"

/* Of events that are kept: some ten million of them. */
#define TAPE_MAX (UINT64_C(256) << 20)

int frag_answers_begin(struct frag_answers *a, const struct frag_session *s,
		       const struct frag_trace *trace, struct frag_error *err)
{
	*a = (struct frag_answers){ .count = 0 };
	if (!s->options->report)
		return 0;
	a->writer = frag_tape_writer_new(trace, TAPE_MAX);
	return a->writer ? 0 : frag_fail_nomem(err);
}

/* Is there a run on this device that fits? Then that is the setting to try. */
static bool any_fits(const struct frag_session *s, uint32_t device)
{
	for (uint32_t i = 0; i < s->run_count; i++) {
		const struct frag_result *run = s->runs[i].result;

		if (run->device == device && run->status == FRAG_RUN_OK)
			return true;
	}
	return false;
}

static int find(struct frag_answers *a, const struct frag_session *s,
		const struct frag_sim_options *options, struct frag_error *err)
{
	struct frag_inquiry inquiry = {
		.tape = a->tape, .options = options, .stop = frag_interrupted,
	};
	int rc = 0;

	for (; a->count < s->run_count && !rc; a->count++) {
		const struct frag_result *run = s->runs[a->count].result;

		/* who compares settings has made a choice of them already */
		inquiry.remedies = s->run_count == 1 || !any_fits(s, run->device);
		rc = frag_answer_init(&a->answer[a->count], &inquiry, run, err);
	}
	return rc;
}

int frag_answers_find(struct frag_answers *a, struct frag_session *s,
		      const struct frag_sim_options *options, struct frag_error *err)
{
	int rc;

	if (!a->writer)
		return 0;
	a->tape = frag_tape_finish(a->writer);
	if (!a->tape)
		return 0;
	a->answer = calloc((size_t)s->run_count + 1, sizeof(*a->answer));
	if (!a->answer)
		return frag_fail_nomem(err);
	rc = find(a, s, options, err);
	if (!rc)
		s->answers = a->answer;
	s->cut_short = rc == -FRAG_EINTERRUPTED;
	return rc;
}

void frag_answers_fini(struct frag_answers *a)
{
	for (uint32_t i = 0; i < a->count; i++)
		frag_answer_fini(&a->answer[i]);
	free(a->answer);
	frag_tape_del(a->tape);
	frag_tape_writer_del(a->writer);
}
