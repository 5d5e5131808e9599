/* predict.c - fragsim predict: what a program needs as it was not recorded. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "answers/predict_answer.h"
#include "base/format.h"
#include "base/parse.h"
#include "cmd/change_list.h"
#include "cmd/frame.h"
#include "answers/answers.h"
#include "events/tape.h"
#include "explain/class_survey.h"
#include "iterations/leak_detect.h"
#include "transform/recordings.h"

struct predict {
	struct frag_question q;
	uint32_t *at, at_count, at_capacity;
	uint64_t up_to, multiple_of, runs;
	bool largest;
	/* recordings at numbers, */
	char *paths[FRAG_RECORDINGS_MAX];
	uint32_t numbers[FRAG_RECORDINGS_MAX], count;
	struct frag_loaded_trace taped[FRAG_RECORDINGS_MAX];
	struct frag_recordings recordings;
	struct frag_sink *sink;         /* while a trace is written */
	/* or one trace that is changed */
	struct frag_change_list changes;
	struct frag_trace *changed;
	struct frag_tape *changed_tape;
	struct frag_tape_writer *as_it_is;      /* during reading; NULL: no simulation */
	struct frag_iterations iterations;      /* where a change is made at each of them */
	struct frag_class_survey classes;       /* where changes are of classes */
	struct frag_predicted found;
};

static bool parse_number(const char *text, size_t length, uint32_t *out)
{
	uint64_t number;

	if (!frag_parse_count(text, length, &number) || number > FRAG_NUMBER_MAX)
		return false;
	*out = (uint32_t)number;
	return true;
}

static bool has_number(const uint32_t *numbers, uint32_t count, uint32_t number)
{
	for (uint32_t i = 0; i < count; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

/* "8,16,32"; one that is there already is no second one. */
static int add_numbers(void *own, const struct frag_opt *o, const char *value,
		       struct frag_error *err)
{
	struct predict *p = own;
	const char *text = value;

	(void)o;
	for (;;) {
		const size_t length = strcspn(text, ",");
		uint32_t number;

		if (!parse_number(text, length, &number))
			return frag_fail(err, FRAG_EUSAGE, "--at %.60s: numbers from 0 to %" PRIu32
					 " are required, with commas between them", value,
					 FRAG_NUMBER_MAX);
		if (!FRAG_GROW(p->at, p->at_capacity, p->at_count))
			return frag_fail_nomem(err);
		if (!has_number(p->at, p->at_count, number))
			p->at[p->at_count++] = number;
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

/* Of each prediction; UNEXPLAINED: of each number of --at; from REACH on of --largest. */
enum { SMALLEST, RELIABLE, RESERVED, REQUESTED, UNEXPLAINED, REACH, REACH_ALL, PATHS };
static const char *const paths[PATHS + 1] = {
	"smallest", "reliable", "reserved", "requested", "unexplained", "largest", "all", NULL,
};

static const struct frag_opt opts[] = {
	{ 0, "at", "NUMBERS", "numbers to predict, as 8,16,32: batch sizes, lengths; repeatable",
	  FRAG_CALL(add_numbers) },
	{ 0, "largest", NULL, "the largest number that fits --device",
	  FRAG_FLAG(struct predict, largest) },
	{ 0, "up-to", "N", "of --largest: the last number that is tried (as far as any may fit)",
	  FRAG_COUNT(struct predict, up_to, 1, FRAG_NUMBER_MAX) },
	{ 0, "multiple-of", "N", "of --largest: multiples of N only (1)",
	  FRAG_COUNT(struct predict, multiple_of, 1, FRAG_NUMBER_MAX) },
	{ 0, "runs", "N", "simulations of a policy at most, for a prediction and for --largest (10000)",
	  FRAG_COUNT(struct predict, runs, 1, FRAG_COUNT_MAX) },
	FRAG_CHANGE_ROWS(struct predict, changes),
	{ 0, "trace", "FILE", "write the predicted trace", FRAG_OUTPUT(struct frag_question, out) },
	{ 't', "to", "FORM",
	  "its form: lines, object, fsb, minimalloc or rmm (by FILE's ending)",
	  FRAG_CALL_AT(struct frag_question, rewrite, frag_rewrite_set_form) },
	FRAG_POLICY_ROWS("placement policy, NAME[:key=value,...]; repeatable (pytorch twice)"),
	FRAG_FAIL_IF_ROW("exit with 1 if it is true: 'reliable > 24GiB', 'largest < 16'; repeatable",
			 paths),
	FRAG_PARTIAL_ROW,
	FRAG_SEARCH_ROWS,
	{ 0 },
};

static const struct frag_refusal refusals[] = {
	{ "!at !largest !scale !scale-batch !scale-dtype !split !shard !isolate !hoist !warmup"
	  " !preallocate !prime-pool !drop !empty-cache !set !park TRACE",
	  "missing option: --at NUMBERS, --largest, or a change such as --scale-batch 1/2" },
	{ "at|largest scale|scale-batch|scale-dtype|split|shard|isolate|hoist|warmup|preallocate"
	  "|prime-pool|drop|empty-cache|set|park", "--%s changes one trace; --at and --largest predict from several" },
	{ "allow-partial !fail-if", "=--allow-partial is for --fail-if" },
	{ "largest !device|device=0", "--largest requires --device CARD or SIZE" },
	{ "up-to|multiple-of !largest", "--%s is for --largest" },
	{ "device=0", "--device-bytes 0 is no limit: without it the smallest device is searched for" },
	{ 0 },
};

/* TRACE=N: the number starts after the last equals sign. */
static int add_recording(struct predict *p, const char *operand, struct frag_error *err)
{
	const char *equals = strrchr(operand, '=');
	uint32_t number;

	if (!equals || equals == operand)
		return frag_fail(err, FRAG_EUSAGE, "%.300s: TRACE=N is required, as in %.300s=8: at"
				 " which batch size or length was it recorded?", operand, operand);
	if (!parse_number(equals + 1, strlen(equals + 1), &number))
		return frag_fail(err, FRAG_EUSAGE, "%.300s: after the = a number from 0 to %" PRIu32
				 " is required", operand, FRAG_NUMBER_MAX);
	if (has_number(p->numbers, p->count, number))
		return frag_fail(err, FRAG_EUSAGE, "%.300s: two recordings at %" PRIu32
				 "; each needs another number", operand, number);
	if (p->count == FRAG_RECORDINGS_MAX)
		return frag_usage(p->q.cmd, "from two to eight recordings are possible", err);
	p->numbers[p->count] = number;
	p->paths[p->count] = strndup(operand, (size_t)(equals - operand));
	return p->paths[p->count++] ? 0 : frag_fail_nomem(err);
}

static int check_conditions(const struct predict *p, struct frag_error *err)
{
	for (uint32_t i = 0; i < p->q.conditions.count; i++) {
		const struct frag_condition *c = &p->q.conditions.of[i].condition;
		const bool of_reach = strcmp(c->path, paths[REACH]) == 0
				      || strcmp(c->path, paths[REACH_ALL]) == 0;
		const bool of_number = strcmp(c->path, paths[UNEXPLAINED]) == 0;

		if (!(of_reach ? p->largest : p->at_count > 0 || (p->changes.count && !of_number)))
			return frag_fail(err, FRAG_EUSAGE, "--fail-if '%.100s' requires %s", c->text,
					 of_reach ? "--largest" : "--at NUMBERS: at which?");
	}
	return 0;
}

/* Is the prediction one of a changed trace, or else at numbers? */
static bool is_of_changes(const struct predict *p)
{
	return p->changes.count;
}

static int predict_check(struct frag_question *q, struct frag_error *err)
{
	struct predict *p = (struct predict *)q;
	int rc;

	if (!is_of_changes(p) && p->count < 2)
		return frag_usage(q->cmd, "from two to eight recordings are required, TRACE=N each; or one"
				  " TRACE and a change, such as --scale-batch 1/2", err);
	rc = check_conditions(p, err);
	rc = rc ? rc : frag_change_list_check(&p->changes, err);
	if (!rc && !is_of_changes(p) && q->out && p->at_count != 1)
		rc = frag_usage(q->cmd, "--trace requires one number of --at: it is one trace", err);
	if (!rc && is_of_changes(p) && strcmp(q->paths[0], "-") == 0
	    && (frag_change_list_has_iterations(&p->changes)
		|| frag_change_list_has_classes(&p->changes)))
		rc = frag_usage(q->cmd, "every-iteration and classes of blocks require a second reading,"
				" and standard input can be read only once", err);
	return rc;
}

static int write_event(void *ctx, const struct frag_record *rec, const struct frag_event *ev,
		       struct frag_error *err)
{
	struct predict *p = ctx;

	return p->sink->ops->event(p->sink, rec, ev, err);
}

static void show_reading(void *ctx, const struct frag_trace_info *info)
{
	frag_taped_show(&((struct frag_question *)ctx)->reading, info);
}

static int numbers_open(struct frag_question *q, struct frag_error *err)
{
	struct predict *p = (struct predict *)q;
	int rc = 0;

	q->reading.records = true;
	q->reading.stacks = q->is_read ? FRAG_STACKS_ALL : FRAG_STACKS_TOP;
	for (uint32_t i = 0; i < p->count && !rc; i++)
		rc = frag_taped_open(&p->taped[i], p->paths[i], &p->q.run, frag_usual_settings,
				     &q->reading, err);
	return rc;
}

/*
 * The head of the first recording, whose "meta" lists all of them. Recordings that have no `meta`,
 * as snapshots, still say who recorded them.
 */
static int begin_at_number(struct predict *p, struct frag_error *err)
{
	struct frag_trace_info head = *frag_trace_info(p->taped[p->recordings.template].trace);
	const struct frag_trace *traces[FRAG_RECORDINGS_MAX];
	size_t room = 60;
	char *mark, *body, *end;
	int rc;

	for (uint32_t i = 0; i < p->count; i++) {
		traces[i] = p->taped[i].trace;
		room += 6 * strlen(p->paths[i]) + 40;
	}
	frag_drop_beginning(&head, "sizes of its blocks are predicted too", &p->q.run.quiet);
	rc = frag_mark_head(&head, &mark, traces, p->count, false,
			    FRAG_WARN_LOG(&p->q.run.quiet), err);
	body = malloc(room);
	if (!rc && !body)
		rc = frag_fail_nomem(err);
	if (!rc) {
		end = body + snprintf(body, room, "\"at\":%" PRIu32 ",\"recordings\":[", p->at[0]);
		for (uint32_t i = 0; i < p->count; i++) {
			end = stpcpy(end, i ? ",{\"path\":" : "{\"path\":");
			end = frag_put_json(end, p->paths[i], strlen(p->paths[i]));
			end += snprintf(end, 20, ",\"at\":%" PRIu32 "}", p->numbers[i]);
		}
		memcpy(end, "]", 2);
		rc = frag_meta_begin(p->sink, &head, "predicted", body, err);
	}
	free(mark);
	free(body);
	return rc;
}

/* The predicted trace, from the records of the recordings. */
static int write_at_number(struct predict *p, const struct frag_record_buffer *records,
			   struct frag_sink *sink, struct frag_error *err)
{
	const struct frag_tape *tapes[FRAG_RECORDINGS_MAX];
	int rc;

	for (uint32_t i = 0; i < p->count; i++)
		tapes[i] = p->taped[i].tape;
	p->sink = sink;
	rc = begin_at_number(p, err);
	return rc ? rc : frag_recordings_write(&p->recordings, tapes, records, p->at[0], write_event, p,
					       err);
}

/* Recordings that differ are aligned, if they are of one program. */
static int align_recordings(struct predict *p, struct frag_error *err)
{
	const struct frag_tape *tapes[FRAG_RECORDINGS_MAX];

	for (uint32_t i = 0; i < p->count; i++)
		tapes[i] = p->taped[i].tape;
	return frag_recordings_align(&p->recordings, tapes, err);
}

/* Reads the recordings side by side onto tapes, and writes the predicted trace. */
static int numbers_read(struct frag_question *q, struct frag_sink *sink,
			struct frag_error *err)
{
	struct predict *p = (struct predict *)q;
	struct frag_trace *traces[FRAG_RECORDINGS_MAX];
	struct frag_tape_writer *tapes[FRAG_RECORDINGS_MAX] = { NULL };
	struct frag_record_buffer records[FRAG_RECORDINGS_MAX] = { { .first = NULL } };
	struct frag_recordings_options o = {
		.traces = traces, .numbers = p->numbers, .count = p->count, .tapes = tapes,
		.read = { frag_interrupted, show_reading, p },
		.records = sink ? records : NULL,
	};
	bool whole;
	int rc = 0;

	for (uint32_t i = 0; i < p->count; i++)
		traces[i] = p->taped[i].trace;
	for (uint32_t i = 0; i < p->count && !rc; i++) {
		tapes[i] = frag_tape_writer_new(traces[i], 0);
		rc = tapes[i] ? 0 : frag_fail_nomem(err);
	}
	rc = rc ? rc : frag_recordings_read(&p->recordings, &o, err);
	whole = !rc || p->recordings.differ;
	for (uint32_t i = 0; i < p->count; i++) {
		if (whole)
			p->taped[i].tape = frag_tape_finish(tapes[i]);
		frag_tape_writer_del(tapes[i]);
	}
	if (rc && whole)
		rc = align_recordings(p, err);
	for (uint32_t i = 0; i < p->count && !rc && q->is_read; i++)
		rc = frag_growth_find(traces[i], p->taped[i].tape, err);
	if (!rc && sink)
		rc = write_at_number(p, records, sink, err);
	for (uint32_t i = 0; i < p->count; i++)
		frag_record_buffer_fini(&records[i]);
	return rc;
}

/* The first events of the iterations, and the classes of the blocks, as far as changes need them. */
static int survey_trace(struct predict *p, struct frag_error *err)
{
	struct frag_loaded_trace taped = { .trace = NULL };
	struct frag_taped_reading reading = frag_taped_reading(&p->q.run);
	const bool iterations = frag_change_list_has_iterations(&p->changes);
	const bool classes = frag_change_list_has_classes(&p->changes);
	int rc = 0;

	if (!iterations && !classes)
		return 0;
	/* stacks decide the classes; the second reading has the warnings */
	reading.quiet = true;
	reading.stacks = FRAG_STACKS_PYTHON;
	rc = frag_taped_read(&taped, p->q.paths, 1, &p->q.run, frag_usual_settings, &reading, err);
	if (!rc && iterations)
		rc = frag_iterations_find(&p->iterations, taped.tape, err);
	if (!rc && iterations && !p->iterations.count)
		rc = frag_fail(err, FRAG_EUSAGE, "--empty-cache every-iteration: %s has no"
			       " iterations; name a mark", frag_input_name(p->q.paths[0]));
	if (!rc && classes)
		rc = frag_class_survey_find(&p->classes, taped.tape, err);
	/* a change has a bit for each class, and bit 0 for none */
	for (uint32_t i = 0; i < p->classes.count; i++)
		p->classes.of[i]++;
	frag_taped_close(&taped, 1);
	return rc;
}

static int keep_batch(void *ctx, const struct frag_batch *batch, struct frag_error *err)
{
	struct predict *p = ctx;

	frag_taped_show(&p->q.reading, frag_trace_info(p->taped[0].trace));
	return p->as_it_is ? frag_tape_write(p->as_it_is, batch, err) : 0;
}

/* Opens the trace and its changed form; a first reading finds iterations and classes. */
static int changes_open(struct frag_question *q, struct frag_error *err)
{
	struct predict *p = (struct predict *)q;
	struct frag_changed_options o = {
		.changes = p->changes.list,
		.count = p->changes.count,
		.batch = keep_batch,
		.stop = frag_interrupted,
		.ctx = p,
		.log = { .warn = frag_taped_warn, .ctx = &q->reading },
	};
	int rc = survey_trace(p, err);

	if (rc)
		return rc;
	o.iterations = p->iterations.start;
	o.iteration_count = p->iterations.count;
	o.classes = p->classes.of;
	o.class_count = p->classes.count;
	q->reading.records = true;
	q->reading.stacks = q->is_read ? FRAG_STACKS_ALL : FRAG_STACKS_TOP;
	rc = frag_taped_open(&p->taped[0], q->paths[0], &q->run, frag_usual_settings, &q->reading, err);
	return rc ? rc : frag_changed_open(&p->changed, p->taped[0].trace, &o, err);
}

/* The head of the unchanged trace, whose "meta" names the changes. */
static int begin_changed(struct predict *p, struct frag_sink *sink, struct frag_error *err)
{
	const struct frag_trace *trace = p->taped[0].trace;
	struct frag_trace_info head = *frag_trace_info(trace);
	size_t room = 40;
	char *mark, *body, *end;
	int rc = frag_mark_head(&head, &mark, &trace, 1, false, FRAG_WARN_LOG(&p->q.run.quiet),
				err);

	frag_drop_beginning(&head, "the changes apply to its blocks too", &p->q.run.quiet);
	for (uint32_t i = 0; i < p->changes.count; i++)
		room += 6 * strlen(p->changes.texts[i]) + 4;
	body = malloc(room);
	if (!rc && !body)
		rc = frag_fail_nomem(err);
	if (!rc) {
		end = stpcpy(body, "\"changes\":[");
		for (uint32_t i = 0; i < p->changes.count; i++) {
			if (i)
				*end++ = ',';
			end = frag_put_json(end, p->changes.texts[i], strlen(p->changes.texts[i]));
		}
		memcpy(end, "]", 2);
		rc = frag_meta_begin(sink, &head, "predicted", body, err);
	}
	free(mark);
	free(body);
	return rc;
}

/* Reads the trace once: onto two tapes, if the answer is printed, and into the sink. */
static int changes_read(struct frag_question *q, struct frag_sink *sink, struct frag_error *err)
{
	struct predict *p = (struct predict *)q;
	struct frag_tape_writer *tape = NULL;
	struct frag_batch batch;
	int rc = sink ? begin_changed(p, sink, err) : 0;

	if (!rc && q->is_read) {
		p->as_it_is = frag_tape_writer_new(p->taped[0].trace, 0);
		tape = frag_tape_writer_new(p->changed, 0);
		rc = p->as_it_is && tape ? 0 : frag_fail_nomem(err);
	}
	do {
		rc = rc ? rc : frag_trace_next(p->changed, &batch, err);
		if (!rc && tape)
			rc = frag_tape_write(tape, &batch, err);
		for (uint32_t i = 0; i < batch.count && sink && !rc; i++)
			rc = sink->ops->event(sink, &batch.records[i], &batch.events[i], err);
	} while (!rc && batch.count);
	if (!rc && tape) {
		p->taped[0].tape = frag_tape_finish(p->as_it_is);
		p->changed_tape = frag_tape_finish(tape);
		rc = frag_growth_find(p->taped[0].trace, p->taped[0].tape, err);
	}
	frag_tape_writer_del(p->as_it_is);
	frag_tape_writer_del(tape);
	p->as_it_is = NULL;
	return rc;
}

/* Is the prediction of a trace that is changed, or of numbers? */
static int predict_open(struct frag_question *q, struct frag_error *err)
{
	return is_of_changes((struct predict *)q) ? changes_open(q, err) : numbers_open(q, err);
}

static int predict_read(struct frag_question *q, struct frag_sink *sink, struct frag_error *err)
{
	return is_of_changes((struct predict *)q) ? changes_read(q, sink, err)
						  : numbers_read(q, sink, err);
}

/* Of the recordings the one that proves least. */
static const struct frag_scope *predict_scope(const struct predict *p)
{
	const struct frag_scope *scope = &frag_trace_info(p->taped[0].trace)->scope;

	for (uint32_t i = 1; i < p->count; i++)
		scope = frag_scope_less(scope, &frag_trace_info(p->taped[i].trace)->scope);
	return scope;
}

/* Simulates each prediction, and searches for the largest number where --largest is given. */
static int predict_search(struct frag_question *q, struct frag_error *err)
{
	struct predict *p = (struct predict *)q;
	const struct frag_loaded_trace *first = &p->taped[0];

	p->found = (struct frag_predicted){
		.recordings = is_of_changes(p) ? NULL : &p->recordings,
		.changed = p->changed_tape,
		.tape = p->taped[p->recordings.template].tape,
		.scope = predict_scope(p),
		.choices = first->choices,
		.devices = first->devices.figures,
		.choice_count = first->choice_count,
		.at = p->at,
		.at_count = p->at_count,
		.unknown = p->classes.unknown,
		.scaled = frag_change_list_has(&p->changes, FRAG_CHANGE_SCALE) && p->classes.count,
		.dropped = frag_change_list_has(&p->changes, FRAG_CHANGE_DROP),
		.primed = frag_change_list_has(&p->changes, FRAG_CHANGE_PRIME_POOL),
		.largest = p->largest,
		.total = p->q.run.total == UINT64_MAX ? 0 : p->q.run.total,
		.up_to = (uint32_t)p->up_to,
		.stride = p->multiple_of ? (uint32_t)p->multiple_of : 1,
		.runs = p->runs,
		.model = p->q.run.sim.model,
		.hurry = frag_time_is_short,
		.job = frag_question_job(q, frag_time_is_up),
	};
	return frag_predicted_run(&p->found, err);
}

/* A number that is none is less than any. */
static double number_or_none(uint32_t number)
{
	return number == FRAG_NO_NUMBER ? -INFINITY : (double)number;
}

/* Conditions on one policy on one device of a prediction. */
static void predict_judge_fit(struct frag_question *q, const struct frag_predicted *x,
			      const struct frag_fitted *one)
{
	const bool part = frag_scope_part(x->scope) != FRAG_PART_WHOLE;
	const uint64_t smallest = one->fit.smallest == UINT64_MAX ? one->fit.at_most
								  : one->fit.smallest;
	const double values[PATHS] = {
		frag_bytes_or_none(smallest), frag_bytes_or_none(one->fit.reliable),
		one->unlimited.fits ? frag_bytes_or_none(one->unlimited.peak_reserved) : INFINITY,
		(double)one->unlimited.peak_requested, (double)x->unexplained[one->source],
		NAN, NAN,
	};
	const double least = frag_at_least_or_none(&one->claim);
	const double at_least[PATHS] = { least, least, part ? values[RESERVED] : NAN,
					 part ? values[REQUESTED] : NAN, NAN, NAN, NAN };
	char name[FRAG_FIT_NAME_ROOM];

	if (x->recordings)
		frag_question_judge(q, values, at_least, "at %" PRIu32 ", %s, device %" PRIu32,
				    x->at[one->source], frag_choice_label(&x->choices[one->choice]),
				    one->device);
	else if (!frag_predicted_is_recorded(x, one->source))
		frag_question_judge(q, values, at_least, "%.60s", frag_fit_name(&x->fits, one, name));
}

/* A policy fits no device, or not the given one, or no number at all. */
static bool predict_fails(const struct frag_predicted *x)
{
	for (uint32_t i = 0; i < x->fits.count; i++) {
		const struct frag_fit *fit = &x->fits.fitted[i].fit;

		if ((fit->smallest == UINT64_MAX && fit->at_most == UINT64_MAX)
		    || (x->total && fit->headroom == UINT64_MAX
			&& !frag_predicted_is_recorded(x, x->fits.fitted[i].source)))
			return true;
	}
	for (uint32_t i = 0; x->reaches && i < x->choice_count; i++)
		if (x->reaches[i].largest == FRAG_NO_NUMBER)
			return true;
	return false;
}

/* Conditions on predictions, and then those on numbers. */
static void predict_judge(struct frag_question *q)
{
	const struct frag_predicted *x = &((struct predict *)q)->found;
	const bool part = frag_scope_part(x->scope) != FRAG_PART_WHOLE;

	if (predict_fails(x))
		*q->status = 1;
	for (uint32_t i = 0; i < x->fits.count; i++)
		predict_judge_fit(q, x, &x->fits.fitted[i]);
	for (uint32_t i = 0; x->reaches && i < x->choice_count; i++) {
		const double values[PATHS] = { NAN, NAN, NAN, NAN, NAN,
					       number_or_none(x->reaches[i].largest),
					       number_or_none(x->reaches[i].reliable) };

		/* a part may need less than its program, so nothing is known of its numbers */
		const double unknown = part ? -INFINITY : NAN;
		const double at_least[PATHS] = { NAN, NAN, NAN, NAN, NAN, unknown, unknown };

		frag_question_judge(q, values, at_least, "%s", frag_choice_label(&x->choices[i]));
	}
}

/* The trace and its changed form on a device without a limit, the recorded one first, on the same axes. */
static int predict_draw(struct predict *p, struct frag_error *err)
{
	struct frag_loaded_trace trace = p->taped[0];
	int rc = 0;

	p->q.redraw.beside = true;
	for (uint32_t i = 0; i < p->found.source_count && !rc; i++) {
		trace.tape = (struct frag_tape *)(uintptr_t)p->found.sources[i].tape;
		rc = frag_answer_page_draw(&p->q.redraw, &trace, 0, NULL, NULL, err);
	}
	return rc;
}

#define CURVE_POINTS 24         /* between the first and the last number, in addition to those of recordings and of --at */

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The recording at a number; FRAG_RECORDINGS_MAX: there is none. */
static uint32_t recording_at(const struct predict *p, uint32_t number)
{
	uint32_t i = 0;

	while (i < p->recordings.count && p->recordings.of[i].number != number)
		i++;
	return i < p->recordings.count ? i : FRAG_RECORDINGS_MAX;
}

/* One number: what is predicted there, and what its recording has, if there is one. */
static int put_point(struct predict *p, uint32_t number, bool *any, struct frag_error *err)
{
	FILE *f = p->q.redraw.curve.f;
	const uint32_t recording = recording_at(p, number);
	uint64_t peak, recorded = UINT64_MAX, margin = 0;
	bool asked = false;
	int rc = frag_predicted_peak(&p->found, number, NULL, &peak, err);

	if (!rc && recording != FRAG_RECORDINGS_MAX)
		rc = frag_predicted_peak(&p->found, number, p->taped[recording].tape, &recorded, err);
	for (uint32_t i = 0; i < p->at_count; i++)
		if (p->at[i] == number) {
			asked = true;
			margin = p->found.margins[i];
		}
	if (rc || peak == UINT64_MAX)
		return rc;
	fprintf(f, "%s{\"at\":%" PRIu32 ",\"requested\":%" PRIu64 ",\"asked\":%s,\"margin\":%" PRIu64 ",\"recorded\":",
		*any ? "," : "", number, peak, asked ? "true" : "false", margin);
	*any = true;
	if (recorded == UINT64_MAX)
		fputs("null}", f);
	else
		fprintf(f, "%" PRIu64 "}", recorded);
	return 0;
}

/* Peaks over the numbers, for the page: of recordings, of --at, and more between them. */
static int predict_draw_curve(struct predict *p, struct frag_error *err)
{
	const struct frag_numbers *n = &p->recordings.numbers;
	uint32_t count = 0, first = n->at[0], last = n->at[n->count - 1];
	uint32_t *all = malloc(((size_t)p->at_count + FRAG_RECORDINGS_MAX + CURVE_POINTS + 1) * sizeof(*all));
	bool any = false;
	int rc = 0;

	if (!all || !frag_memory_open(&p->q.redraw.curve)) {
		free(all);
		return frag_fail_nomem(err);
	}
	for (uint32_t i = 0; i < p->at_count; i++) {
		all[count++] = p->at[i];
		first = p->at[i] < first ? p->at[i] : first;
		last = p->at[i] > last ? p->at[i] : last;
	}
	for (uint32_t i = 0; i < n->count; i++)
		all[count++] = n->at[i];
	for (uint32_t i = 0; i <= CURVE_POINTS; i++)
		all[count++] = first + (uint32_t)((uint64_t)(last - first) * i / CURVE_POINTS);
	FRAG_SORT(all, count, by_number);
	fputc('[', p->q.redraw.curve.f);
	for (uint32_t i = 0; i < count && !rc; i++)
		if (!i || all[i] != all[i - 1])
			rc = put_point(p, all[i], &any, err);
	fputc(']', p->q.redraw.curve.f);
	if (!frag_memory_close(&p->q.redraw.curve) && !rc)
		rc = frag_fail_nomem(err);
	free(all);
	return rc == -FRAG_EINTERRUPTED ? 0 : rc;
}

static int predict_print(struct frag_question *q, struct frag_error *err)
{
	struct predict *p = (struct predict *)q;
	const struct frag_trace_info *traces[FRAG_RECORDINGS_MAX];
	const struct frag_predict_answer answer = {
		.traces = traces, .trace_count = p->count, .found = &p->found,
		.changes = (const char *const *)p->changes.texts,
		.change_count = p->changes.count,
		.time_up = q->time_up, .interrupted = q->interrupted,
	};
	const bool drawn = q->redraw.path && (!q->interrupted || q->time_up);
	const int rc = !drawn ? 0 : is_of_changes(p) ? predict_draw(p, err) : predict_draw_curve(p, err);

	q->redraw.bad = predict_fails(&p->found);
	for (uint32_t i = 0; i < p->count; i++)
		traces[i] = frag_trace_info(p->taped[i].trace);
	return rc ? rc : frag_question_answer(q, &answer, err);
}

static const struct frag_question_ops question = {
	.unit = "simulations",
	.check = predict_check,
	.open = predict_open,
	.read = predict_read,
	.search = predict_search,
	.print = predict_print,
	.judge = predict_judge,
};

/* One trace, where there are changes; else recordings at numbers. */
static int predict_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct predict *p = own;
	int rc = 0;

	p->q.cmd = args->cmd;
	if (is_of_changes(p)) {
		if (args->count != 1)
			return frag_usage(args->cmd, args->count ? "too many arguments: one TRACE"
					  : "missing argument: TRACE", err);
		p->count = 1;
		return frag_question_run(&p->q, &question, args, err);
	}
	for (uint32_t i = 0; i < args->count && !rc; i++)
		rc = add_recording(p, args->words[i], err);
	p->q.paths = (const char *const *)p->paths;
	args->count = p->count;
	return rc ? rc : frag_question_run(&p->q, &question, args, err);
}

static void predict_fini(void *own)
{
	struct predict *p = own;

	frag_predicted_fini(&p->found);
	frag_recordings_fini(&p->recordings);
	frag_tape_del(p->changed_tape);
	frag_trace_close(p->changed);
	frag_taped_close(p->taped, FRAG_RECORDINGS_MAX);
	for (uint32_t i = 0; i < FRAG_RECORDINGS_MAX; i++)
		free(p->paths[i]);
	free(p->at);
	frag_change_list_fini(&p->changes);
	frag_iterations_fini(&p->iterations);
	frag_class_survey_fini(&p->classes);
}

const struct frag_cmd frag_cmd_predict = {
	.name = "predict",
	.group = FRAG_GROUP_SIZE,
	.args = "[options] TRACE=N TRACE=N... | TRACE CHANGE...",
	.summary = "predict memory at another batch size, or after a change",
	.opts = opts,
	.refusals = refusals,
	.needs = FRAG_NEEDS_ANSWER,
	.formats = frag_predict_formats,
	.size = sizeof(struct predict),
	.exec = predict_exec,
	.fini = predict_fini,
};
