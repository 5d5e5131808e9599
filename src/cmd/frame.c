/* frame.c - a command that reads traces, searches in their tapes, and prints an answer: its steps. */
#include "cmd/frame.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/atomic_file.h"
#include "base/bug.h"
#include "base/format.h"
#include "base/parse.h"
#include "base/platform.h"
#include "iterations/iterations.h"

int frag_question_set_format(void *at, const struct frag_opt *o, const char *value,
			     struct frag_error *err)
{
	struct frag_question *q = at;

	(void)o;
	if (strcmp(value, "html") != 0)
		return frag_output_find_format(&q->printed, value, err);
	q->run.html = "-";
	return 0;
}

int frag_question_set_top(void *at, const struct frag_opt *o, const char *value,
			  struct frag_error *err)
{
	uint32_t *top = &((struct frag_question *)at)->printed.top;
	uint64_t count;
	int rc;

	*top = FRAG_TOP_ALL;
	if (strcmp(value, "all") == 0)
		return 0;
	rc = frag_option_count(&count, o->name, value, 0, FRAG_TOP_FITTING - 1, err);
	*top = rc ? 0 : (uint32_t)count;
	return rc;
}

uint32_t frag_question_top(const struct frag_question *q, uint32_t usual)
{
	return q->printed.top == FRAG_TOP_FITTING ? usual : q->printed.top;
}

int frag_question_set_output(void *at, const struct frag_opt *o, const char *value,
			     struct frag_error *err)
{
	struct frag_question *q = at;
	const struct frag_format *format;
	const char *name;
	int rc = frag_output_named(&name, value, err);

	(void)o;
	if (rc)
		return rc;
	if (!name)
		return frag_output_add(&q->printed, "--output", NULL, value, NULL, err);
	if (strcmp(name, "html") == 0) {
		if (q->run.html && strcmp(q->run.html, "-") != 0)
			return frag_fail(err, FRAG_EUSAGE, "--output %.60s: %.60s has this form", value,
					 q->run.html);
		q->run.html = value;
		return 0;
	}
	format = frag_output_format(&q->printed, name);
	return format ? frag_output_add(&q->printed, "--output", format, value, NULL, err)
		      : frag_output_no_format(&q->printed, "--output", value, err);
}

int frag_question_set_json(void *at, const struct frag_opt *o, const char *value,
			   struct frag_error *err)
{
	struct frag_answer_output *p = &((struct frag_question *)at)->printed;

	(void)o;
	return frag_output_add(p, "--json", frag_output_format(p, "json"), value, NULL, err);
}

bool frag_question_has_document(const struct frag_question *q)
{
	const struct frag_answer_output *p = &q->printed;
	const struct frag_format *json = frag_output_format(p, "json");
	bool any = p->format == json;

	for (uint32_t i = 0; i < p->count; i++)
		any |= p->outputs[i].format == json;
	return json && any;
}

/* Conditions ------------------------------------------------------------------ */

int frag_conditions_set(void *at, const struct frag_opt *o, const char *value,
			struct frag_error *err)
{
	struct frag_conditions *w = at;

	if (!FRAG_GROW(w->of, w->capacity, w->count))
		return frag_fail_nomem(err);
	w->paths = o->words;
	w->of[w->count].checked = (struct frag_checked){ .runs = 0 };
	return frag_condition_among(&w->of[w->count++].condition, value, o->words, err);
}

double frag_bytes_or_none(uint64_t bytes)
{
	return bytes == UINT64_MAX ? INFINITY : (double)bytes;
}

double frag_at_least_or_none(const struct frag_claim *claim)
{
	return frag_claim_is_exact(claim) ? NAN : frag_bytes_or_none(claim->at_least);
}

void frag_question_judge(struct frag_question *q, const double *values,
			 const double *at_least, const char *who, ...)
{
	struct frag_conditions *w = &q->conditions;
	char name[PATH_MAX + 40];
	struct frag_finding found;
	va_list args;

	va_start(args, who);
	frag_vsnprintf(name, sizeof(name), who, args);
	va_end(args);
	for (uint32_t i = 0; i < w->count; i++) {
		const struct frag_condition *c = &w->of[i].condition;
		uint32_t at = 0;
		bool holds;

		while (strcmp(w->paths[at], c->path) != 0)
			at++;
		if (isnan(values[at]))
			continue;
		holds = frag_condition_true(c, values[at], at_least && !q->run.partial
						   ? at_least[at] : NAN, &found);
		frag_checked_note(&w->of[i].checked, &found);
		snprintf(w->who, sizeof(w->who), "%.199s", name);
		if (!holds)
			continue;
		frag_print_message("%s: %s", name, found.line);
		*q->status = 1;
	}
}

/* What the conditions were held to, where none holds; one that was held to nothing is a no. */
static void question_checked(struct frag_question *q)
{
	const struct frag_conditions *w = &q->conditions;
	char line[1000], range[FRAG_RANGE_ROOM];
	struct frag_words text = FRAG_WORDS(line);
	uint32_t runs = 0;

	for (uint32_t i = 0; i < w->count; i++) {
		const struct frag_condition *c = &w->of[i].condition;
		const struct frag_checked *checked = &w->of[i].checked;

		runs = checked->runs > runs ? checked->runs : runs;
		if (checked->runs) {
			frag_add(&text, ", %s is %s", c->path, frag_checked_range(range, checked));
		} else if (!*q->status) {
			frag_print_message("--fail-if '%s' cannot be judged: nothing has this value",
					   c->text);
			*q->status = 1;
		}
	}
	if (!w->count || *q->status || q->run.quiet)
		return;
	if (runs == 1)
		frag_print_message("passed: %s%s", w->who, line);
	else
		frag_print_message("passed: %u runs%s", runs, line);
}

/* The steps ------------------------------------------------------------------- */

void frag_question_fini(struct frag_question *q)
{
	frag_output_fini(&q->printed);
	for (uint32_t i = 0; i < q->redraw.count; i++)
		frag_page_section_fini(&q->redraw.sections[i]);
	free(q->redraw.sections);
	free(q->redraw.curve.text);
	frag_outfile_abandon(&q->extra);
	free(q->conditions.of);
	frag_taped_close(q->taped, q->count);
	free(q->taped);
	free(q->sources);
	free(q->traces);
	free(q->iterations);
}

static void question_show(void *ctx, const char *what, uint32_t done, uint32_t count)
{
	struct frag_question *q = ctx;

	(void)what;
	frag_progress_count(&q->progress, q->ops->unit, done, count);
}

struct frag_job frag_question_job(struct frag_question *q, bool (*stop)(void *ctx))
{
	return (struct frag_job){
		.stop = stop, .progress = question_show, .ctx = q,
		.threads = q->run.threads,
	};
}

/* The set of all inputs and outputs, which exclude each other. */
int frag_question_check_files(struct frag_question *q, struct frag_error *err)
{
	struct frag_command_files files = { .input_count = 0 };

	frag_files_add_input(&files, q->paths, q->count, q->ops->input ? q->ops->input : "the trace");
	frag_files_add_input(&files, &q->grid, 1, "the grid");
	frag_files_of_options(&files, q->cmd, q);
	/* another file than the answer's is on standard output */
	q->printed.quiet = q->run.quiet;
	for (uint32_t i = 0; i < files.output_count; i++)
		q->printed.quiet |= files.outputs[i] != q->run.html && strcmp(files.outputs[i], "-") == 0;
	frag_output_files(&q->printed, &files);
	return frag_files_check(&files, q->cmd, err);
}

/* Everything that can be wrong with the command line is found before a trace is read. */
static int question_check(struct frag_question *q, struct frag_error *err)
{
	char text[80];
	int rc;

	q->reading = frag_taped_reading(&q->run);
	/* stacks show the iterations, in which memory grows or does not */
	q->reading.stacks = q->run.html ? FRAG_STACKS_PYTHON : FRAG_STACKS_ALL;
	q->reading.growth = true;
	rc = q->ops->check ? q->ops->check(q, err) : 0;
	if (!rc && q->ops->formats)
		rc = frag_output_switch_formats(&q->printed, q->ops->formats, err);
	if (!rc && q->run.json)
		rc = frag_question_set_json(q, NULL, q->run.json, err);
	if (!rc && !q->out && q->rewrite.form)
		rc = frag_usage(q->cmd, "--to is for --trace FILE", err);
	if (rc)
		return rc;
	q->rewrite.quiet = q->run.quiet;
	q->redraw.path = q->run.html;
	q->redraw.text = q->printed.formats[0];
	q->redraw.json = frag_output_format(&q->printed, "json");
	if (q->run.html)
		rc = frag_output_add(&q->printed, "--output", &frag_redraw_page, q->run.html, &q->redraw,
				 err);
	if (!rc && q->out)
		rc = frag_rewrite_find_form(&q->rewrite, q->out, err);
	if (!rc)
		rc = q->ops->choose ? q->ops->choose(q, err)
				    : frag_run_settings(&q->run, true, err);
	if (!rc && q->ops->one_policy && q->run.choice_count > 1) {
		snprintf(text, sizeof(text), "too many policies: %s takes one", q->cmd->name);
		return frag_usage(q->cmd, text, err);
	}
	return rc ? rc : frag_question_check_files(q, err);
}

/* Reads the traces onto tapes. */
static int question_read_traces(struct frag_question *q, struct frag_error *err)
{
	int rc;

	q->taped = calloc(q->count, sizeof(*q->taped));
	q->sources = calloc(q->count, sizeof(*q->sources));
	q->traces = calloc(q->count, sizeof(*q->traces));
	if (!q->taped || !q->sources || !q->traces)
		return frag_fail_nomem(err);
	rc = frag_taped_read(q->taped, q->paths, q->count, &q->run, q->ops->usual, &q->reading,
			     err);
	for (uint32_t i = 0; i < q->count && !rc; i++) {
		q->traces[i] = frag_trace_info(q->taped[i].trace);
		q->sources[i] = frag_taped_source(&q->taped[i], q->taped[i].tape);
	}
	return rc;
}

int frag_question_read_again(const struct frag_question *q, uint32_t i, frag_usual *usual,
			     bool capacity, struct frag_loaded_trace *taped, struct frag_error *err)
{
	struct frag_taped_reading reading = frag_taped_reading(&q->run);

	reading.quiet = true;
	reading.capacity = capacity;
	return frag_taped_read(taped, &q->paths[i], 1, &q->run, usual, &reading, err);
}

int frag_question_iterations(struct frag_question *q, const uint32_t **counts,
			     struct frag_error *err)
{
	int rc = 0;

	q->iterations = calloc((size_t)q->count + 1, sizeof(*q->iterations));
	if (!q->iterations)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < q->count && !rc; i++) {
		struct frag_iterations it;

		rc = frag_iterations_find(&it, q->taped[i].tape, err);
		q->iterations[i] = it.count;
		frag_iterations_fini(&it);
	}
	*counts = q->iterations;
	return rc;
}

/* Traces that the search read itself are read again. */
static int question_draw(struct frag_question *q, uint32_t source, struct frag_error *err)
{
	struct frag_loaded_trace again = { .choice_count = 0 };
	int rc = q->taped ? 0 : frag_question_read_again(q, source, NULL, true, &again, err);

	rc = rc ? rc : frag_answer_page_draw(&q->redraw, q->taped ? &q->taped[source] : &again,
					     source, q->ops->draw, q, err);
	frag_taped_close(&again, 1);
	return rc;
}

int frag_question_answer(struct frag_question *q, const void *answer, struct frag_error *err)
{
	const bool drawn = q->redraw.path && q->ops->draw && (!q->interrupted || q->time_up);
	int rc = 0;

	q->redraw.what = answer;
	q->redraw.paths = q->paths;
	q->redraw.path_count = q->count;
	for (uint32_t i = 0; drawn && i < q->count && !rc; i++)
		rc = question_draw(q, i, err);
	return rc ? rc : frag_output_write(&q->printed, answer, err);
}

/* The results so far are printed where a signal, or the end of the time, ends the search. */
static int question_search(struct frag_question *q, struct frag_error *err)
{
	int rc, interrupted;

	frag_progress_begin(&q->progress, !q->run.quiet);
	frag_time_begin(q->run.seconds);
	interrupted = q->ops->search(q, err);
	frag_progress_end(&q->progress);
	q->interrupted = interrupted != 0;
	q->time_up = frag_time_ended(interrupted);
	if (interrupted && (interrupted != -FRAG_EINTERRUPTED || (q->ops->whole && !q->time_up)))
		return interrupted;
	rc = q->ops->print(q, err);
	if (!rc && q->ops->judge && (!interrupted || q->time_up))
		q->ops->judge(q);
	if (!rc && (!interrupted || q->time_up))
		question_checked(q);
	return rc || q->time_up ? rc : interrupted;
}

/* Where the options name nothing but the trace that is written, nothing is simulated. */
static int question_read_and_search(struct frag_question *q, struct frag_sink *sink,
				    struct frag_error *err)
{
	int rc = 0;

	if (q->ops->read) {
		frag_progress_begin(&q->reading.progress, !q->run.quiet);
		rc = q->ops->read(q, sink, err);
		frag_progress_end(&q->reading.progress);
		rc = rc || !sink ? rc : sink->ops->end(sink, err);
		rc = frag_or_interrupted(rc, err);
	} else if (!q->ops->reads) {
		rc = question_read_traces(q, err);
	}

	return rc || !q->is_read ? rc : question_search(q, err);
}

/* Commits the trace together with the answer, or alone if there is no answer. */
static int question_write_trace(void *ctx, struct frag_sink *sink, struct frag_error *err)
{
	struct frag_question *q = ctx;

	q->printed.beside = sink->out;
	return question_read_and_search(q, sink, err);
}

int frag_question_run(struct frag_question *q, const struct frag_question_ops *ops,
		      const struct frag_args *args, struct frag_error *err)
{
	int rc;

	frag_memory_keep_freed();
	q->ops = ops;
	q->cmd = args->cmd;
	q->redraw.command = args->line;
	q->status = args->status;
	q->count = args->count;
	if (!q->paths)
		q->paths = (const char *const *)args->words;
	rc = question_check(q, err);
	q->is_read = q->conditions.count || q->printed.count || q->printed.format
		     || !q->printed.quiet || !q->out;
	rc = rc ? rc : frag_run_read_profile(&q->run, err);
	rc = rc || !ops->open ? rc : ops->open(q, err);
	rc = rc ? rc : frag_open_guarded(&q->extra, q->extra_path, err);
	q->printed.beside = q->extra_path ? &q->extra : NULL;
	rc = rc ? rc : frag_output_open(&q->printed, err);
	if (rc || !q->out)
		return rc ? rc : question_read_and_search(q, NULL, err);
	return frag_rewrite_into(&q->rewrite, q->paths[0], q->out, question_write_trace, q, err);
}
