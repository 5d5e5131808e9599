/* question.c - the steps of a command that looks for something in traces. */
#include "cmd/question.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/time_budget.h"

void frag_question_progress(void *ctx, uint32_t done, uint32_t count)
{
	struct frag_question *q = ctx;

	frag_progress_count(&q->progress, q->ops->unit, done, count);
}

static int question_check(struct frag_question *q, const struct frag_cmd *cmd,
			  struct frag_error *err)
{
	const char *profile = q->run.profile_path;
	uint32_t standard = profile && strcmp(profile, "-") == 0;
	int rc;

	if (!q->count)
		return frag_usage(cmd, "missing argument: TRACE", err);
	rc = q->ops->check ? q->ops->check(q, cmd, err) : 0;
	if (rc)
		return rc;
	for (uint32_t i = 0; i < q->count; i++)
		standard += strcmp(q->paths[i], "-") == 0;
	if (standard > 1)
		return frag_usage(cmd, "standard input can be read only once", err);
	q->printed.quiet = q->run.quiet;
	rc = frag_answer_page_set_path(&q->redraw, q->run.html, &q->printed, err);
	rc = rc || !q->ops->prepare ? rc : q->ops->prepare(q, err);
	rc = rc ? rc : frag_answer_output_check_input(&q->printed, profile, "the profile", err);
	return rc ? rc : frag_printed_apart(&q->printed, cmd, q->paths, q->count, "the trace", err);
}

static int question_read_traces(struct frag_question *q, struct frag_error *err)
{
	int rc = frag_run_read_profile(&q->run, err);

	rc = rc ? rc : frag_printed_open(&q->printed, err);
	q->taped = calloc(q->count, sizeof(*q->taped));
	q->sources = calloc(q->count, sizeof(*q->sources));
	q->traces = calloc(q->count, sizeof(*q->traces));
	if (!rc && (!q->taped || !q->sources || !q->traces))
		rc = frag_fail_nomem(err);
	rc = rc ? rc : frag_taped_read(q->taped, q->paths, q->count, &q->run, q->ops->usual, err);
	for (uint32_t i = 0; i < q->count && !rc; i++) {
		q->traces[i] = frag_trace_info(q->taped[i].trace);
		q->sources[i] = (struct frag_fit_source){
			.tape = q->taped[i].tape, .choices = q->taped[i].choices,
			.devices = q->taped[i].devices.figures,
		};
	}
	return rc;
}

static int question_draw(struct frag_question *q, uint32_t source, struct frag_error *err)
{
	struct frag_redrawn x;
	int rc = frag_redrawn_begin(&x, &q->taped[source], err);

	rc = rc ? rc : q->ops->draw(q, &x, source, err);
	rc = rc ? rc : frag_redrawn_end(&x, &q->redraw, err);
	frag_redrawn_fini(&x);
	return rc;
}

int frag_question_answer(struct frag_question *q, const void *answer, struct frag_error *err)
{
	const bool drawn = q->redraw.path && (!q->interrupted || q->time_up);
	int rc = drawn ? frag_redraw_room(&q->redraw, q->count, err) : 0;

	q->redraw.what = answer;
	for (uint32_t i = 0; drawn && i < q->count && !rc; i++)
		rc = question_draw(q, i, err);
	return rc ? rc : frag_printed_write(&q->printed, answer, err);
}

/* The results so far are printed where a signal, or the end of the time, ends the search. */
static int answer(struct frag_question *q, struct frag_error *err)
{
	int rc, interrupted;

	frag_progress_begin(&q->progress, !q->run.quiet);
	frag_time_begin(q->run.seconds);
	interrupted = q->ops->search(q, err);
	frag_progress_end(&q->progress);
	if (interrupted && interrupted != -FRAG_EINTERRUPTED)
		return interrupted;
	q->interrupted = interrupted != 0;
	q->time_up = frag_time_ended(interrupted);
	rc = q->ops->print(q, err);
	return rc || q->time_up ? rc : interrupted;
}

int frag_question_run(struct frag_question *q, const struct frag_cmd *cmd, int argc, char **argv,
		      int *status, struct frag_error *err)
{
	int rest, rc;

	q->printed.formats = q->ops->formats;
	q->printed.has_page = true;
	q->status = status;
	frag_run_options_init(&q->run);
	rc = frag_redraw_init(&q->redraw, cmd->name, argc, argv, err);
	rc = rc ? rc : frag_options(cmd, argc, argv, q, q->ops->set, &rest, err);
	if (!rc && rest) {
		q->paths = (const char *const *)argv + rest;
		q->count = (uint32_t)(argc - rest);
		rc = question_check(q, cmd, err);
		rc = rc ? rc : question_read_traces(q, err);
		rc = rc ? rc : answer(q, err);
	}
	frag_printed_fini(&q->printed);
	frag_redraw_fini(&q->redraw);
	q->ops->fini(q);
	frag_taped_close(q->taped, q->count);
	free(q->taped);
	free(q->sources);
	free(q->traces);
	frag_run_options_fini(&q->run);
	return rc;
}
