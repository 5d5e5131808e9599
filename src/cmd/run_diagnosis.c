/* run_diagnosis.c - what the report of a run says beyond its figures. */
#include "cmd/run_diagnosis.h"

#include <stdlib.h>

#include "cmd/interrupt.h"
#include "answers/report.h"

/* Of events that are kept: some ten million of them. */
#define TAPE_MAX (UINT64_C(256) << 20)

int frag_answers_begin(struct frag_answers *a, const struct frag_session *s,
		       const struct frag_trace *trace, struct frag_error *err)
{
	*a = (struct frag_answers){ .count = 0 };
	if (!s->options->html
	    && (s->options->quiet || !(s->options->report || s->options->json)))
		return 0;
	/* a tape takes all of a trace: a pipe's producer is not kept busy for a result alone */
	if (!s->options->report && !s->options->html && frag_trace_is_stream(trace))
		return 0;
	a->writer = frag_tape_writer_new(trace, TAPE_MAX);
	return a->writer ? 0 : frag_fail_nomem(err);
}

/* The runs of policy i, one a device. */
static const struct frag_result *runs_of(const struct frag_session *s, uint32_t i)
{
	return s->runs[(size_t)i * s->device_count].result;
}

static int find_peaks(struct frag_answers *a, const struct frag_session *s, bool by_run,
		      struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < s->sim_count && !rc; i++)
		rc = frag_answer_peaks(&a->answer[(size_t)i * s->device_count], &a->trials,
				       by_run ? s->sims[i] : NULL, runs_of(s, i), s->device_count,
				       err);
	return rc;
}

/*
 * No more than what is shown. The simulations go before others are made, which need as much
 * memory.
 */
static int run_diagnosis_find(struct frag_answers *a, const struct frag_session *s,
			      struct frag_error *err)
{
	const bool all = s->options->verbose || s->options->json;
	int rc = find_peaks(a, s, true, err);
	uint32_t failed = 0;

	for (uint32_t i = 0; i < s->sim_count && !rc; i++) {
		frag_sim_retire(s->sims[i], false);
		rc = frag_trials_add(&a->trials, runs_of(s, i), err);
	}
	if (!rc && (all || s->run_count == 1))
		rc = find_peaks(a, s, false, err);
	for (uint32_t i = 0; i < s->run_count && !rc; i++) {
		const struct frag_result *run = s->runs[i].result;
		unsigned wanted = 0;

		if (run->oom_count && (failed++ < FRAG_REPORT_FAILED_MAX || all))
			wanted |= FRAG_WANTED_DEVICE;
		/* what the result has of a run does not depend on the others */
		if (s->options->json || frag_report_has_remedy(s->runs, s->run_count, i))
			wanted |= FRAG_WANTED_REMEDY;
		rc = frag_answer_find(&a->answer[i], &a->trials, wanted, run, err);
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
	a->count = s->run_count;
	a->trials = (struct frag_trials){
		.tape = a->tape,
		.options = options,
		.stop = frag_interrupted,
	};
	rc = run_diagnosis_find(a, s, err);
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
	frag_trials_fini(&a->trials);
	frag_tape_del(a->tape);
	frag_tape_writer_del(a->writer);
}
