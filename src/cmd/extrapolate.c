/* extrapolate.c - fragsim extrapolate: predicts a program at batch sizes without a recording. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "answers/extrapolate_answer.h"
#include "base/format.h"
#include "base/parse.h"
#include "cmd/frame.h"
#include "answers/answers.h"
#include "iterations/leak_detect.h"
#include "transform/recordings.h"

struct extrapolate {
	struct frag_question q;
	uint32_t *at, at_count, at_capacity;
	uint64_t up_to, step, runs;
	bool largest;
	/* the recordings */
	char *paths[FRAG_RECORDINGS_MAX];
	uint32_t numbers[FRAG_RECORDINGS_MAX], count;
	struct frag_loaded_trace taped[FRAG_RECORDINGS_MAX];
	struct frag_recordings recordings;
	struct frag_extrapolation found;
	struct frag_sink *sink;         /* while a trace is written */
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
	struct extrapolate *e = own;
	const char *text = value;

	(void)o;
	for (;;) {
		const size_t length = strcspn(text, ",");
		uint32_t number;

		if (!parse_number(text, length, &number))
			return frag_fail(err, FRAG_EUSAGE, "--at %.60s: numbers from 0 to %" PRIu32
					 " are required, with commas between them", value,
					 FRAG_NUMBER_MAX);
		if (!FRAG_GROW(e->at, e->at_capacity, e->at_count))
			return frag_fail_nomem(err);
		if (!has_number(e->at, e->at_count, number))
			e->at[e->at_count++] = number;
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

/* Of each number of --at, and then, from REACH on, of --largest. */
enum { SMALLEST, RELIABLE, RESERVED, REQUESTED, UNEXPLAINED, REACH, REACH_ALL, PATHS };
static const char *const paths[PATHS + 1] = {
	"smallest", "reliable", "reserved", "requested", "unexplained", "largest", "all", NULL,
};

static const struct frag_opt opts[] = {
	{ 0, "at", "NUMBERS", "numbers to extrapolate to, as 8,16,32: batch sizes, lengths; repeatable",
	  FRAG_CALL(add_numbers) },
	{ 0, "largest", NULL, "the largest number that fits --device-bytes",
	  FRAG_FLAG(struct extrapolate, largest) },
	{ 0, "up-to", "N", "of --largest: the last number that is tried (as far as any may fit)",
	  FRAG_COUNT(struct extrapolate, up_to, 1, FRAG_NUMBER_MAX) },
	{ 0, "step", "N", "of --largest: multiples of N only (1)",
	  FRAG_COUNT(struct extrapolate, step, 1, FRAG_NUMBER_MAX) },
	{ 0, "runs", "N", "simulations of a policy at most, for a number and for --largest (10000)",
	  FRAG_COUNT(struct extrapolate, runs, 1, FRAG_COUNT_MAX) },
	FRAG_TRACE_ROWS("write the trace at the number of --at"),
	FRAG_POLICY_ROWS("placement policy, NAME[:key=value,...]; repeatable (pytorch twice)"),
	FRAG_FAIL_IF_ROW("exit with 1 if it is true: 'reliable > 24GiB', 'largest < 16'; repeatable",
			 paths),
	FRAG_PARTIAL_ROW,
	FRAG_CHANGED_ROWS,
	{ 0 },
};

static const struct frag_refusal refusals[] = {
	{ "!at !largest TRACE2", "missing option: --at NUMBERS or --largest" },
	{ "allow-partial !fail-if", "=--allow-partial is for --fail-if" },
	{ "largest !device|device=0", "--largest requires --device-bytes SIZE" },
	{ "up-to|step !largest", "--%s is for --largest" },
	{ "device=0", "--device-bytes 0 is no limit: without it the smallest device is searched for" },
	{ 0 },
};

/* TRACE=N: the number starts after the last equals sign. */
static int add_recording(struct extrapolate *e, const char *operand, struct frag_error *err)
{
	const char *equals = strrchr(operand, '=');
	uint32_t number;

	if (!equals || equals == operand)
		return frag_fail(err, FRAG_EUSAGE, "%.300s: TRACE=N is required, as in %.300s=8: at"
				 " which batch size or length was it recorded?", operand, operand);
	if (!parse_number(equals + 1, strlen(equals + 1), &number))
		return frag_fail(err, FRAG_EUSAGE, "%.300s: after the = a number from 0 to %" PRIu32
				 " is required", operand, FRAG_NUMBER_MAX);
	if (has_number(e->numbers, e->count, number))
		return frag_fail(err, FRAG_EUSAGE, "%.300s: two recordings at %" PRIu32
				 "; each needs another number", operand, number);
	if (e->count == FRAG_RECORDINGS_MAX)
		return frag_usage(e->q.cmd, "two or three recordings are possible", err);
	e->numbers[e->count] = number;
	e->paths[e->count] = strndup(operand, (size_t)(equals - operand));
	return e->paths[e->count++] ? 0 : frag_fail_nomem(err);
}

static int check_conditions(const struct extrapolate *e, struct frag_error *err)
{
	for (uint32_t i = 0; i < e->q.conditions.count; i++) {
		const struct frag_condition *c = &e->q.conditions.of[i].condition;
		const bool of_reach = strcmp(c->path, paths[REACH]) == 0
				      || strcmp(c->path, paths[REACH_ALL]) == 0;

		if (!(of_reach ? e->largest : e->at_count > 0))
			return frag_fail(err, FRAG_EUSAGE, "--fail-if '%.100s' requires %s", c->text,
					 of_reach ? "--largest" : "--at NUMBERS: at which?");
	}
	return 0;
}

static int extrapolate_check(struct frag_question *q, struct frag_error *err)
{
	struct extrapolate *e = (struct extrapolate *)q;
	int rc;

	if (e->count < 2)
		return frag_usage(q->cmd, "two or three recordings are required, TRACE=N each", err);
	rc = check_conditions(e, err);
	if (!rc && q->out && e->at_count != 1)
		rc = frag_usage(q->cmd, "--output requires one number of --at: it is one trace",
				err);
	return rc;
}

static int write_event(void *ctx, const struct frag_record *rec, const struct frag_event *ev,
		       struct frag_error *err)
{
	struct extrapolate *e = ctx;

	return e->sink->ops->event(e->sink, rec, ev, err);
}

static void show_reading(void *ctx, const struct frag_trace_info *info)
{
	frag_taped_show(&((struct frag_question *)ctx)->reading, info);
}

static int extrapolate_open(struct frag_question *q, struct frag_error *err)
{
	struct extrapolate *e = (struct extrapolate *)q;
	int rc = 0;

	q->reading.records = true;
	q->reading.stacks = q->is_read ? FRAG_STACKS_ALL : FRAG_STACKS_TOP;
	for (uint32_t i = 0; i < e->count && !rc; i++)
		rc = frag_taped_open(&e->taped[i], e->paths[i], &e->q.run, frag_usual_settings,
				     &q->reading, err);
	return rc;
}

/*
 * The head of the first recording, whose "meta" lists all of them. Recordings that have no `meta`,
 * as snapshots, still say who recorded them.
 */
static int begin_trace(struct extrapolate *e, struct frag_error *err)
{
	struct frag_trace_info head = *frag_trace_info(e->taped[0].trace);
	const struct frag_trace *traces[FRAG_RECORDINGS_MAX];
	size_t room = 60;
	char *mark, *body, *p;
	int rc;

	for (uint32_t i = 0; i < e->count; i++) {
		traces[i] = e->taped[i].trace;
		room += 6 * strlen(e->paths[i]) + 40;
	}
	frag_drop_beginning(&head, "sizes of its blocks are extrapolated too", &e->q.run.quiet);
	rc = frag_mark_head(&head, &mark, traces, e->count, false,
			    FRAG_WARN_LOG(&e->q.run.quiet), err);
	body = malloc(room);
	if (!rc && !body)
		rc = frag_fail_nomem(err);
	if (!rc) {
		p = body + snprintf(body, room, "\"at\":%" PRIu32 ",\"recordings\":[", e->at[0]);
		for (uint32_t i = 0; i < e->count; i++) {
			p = stpcpy(p, i ? ",{\"path\":" : "{\"path\":");
			p = frag_put_json(p, e->paths[i], strlen(e->paths[i]));
			p += snprintf(p, 20, ",\"at\":%" PRIu32 "}", e->numbers[i]);
		}
		memcpy(p, "]", 2);
		rc = frag_meta_begin(e->sink, &head, "extrapolated", body, err);
	}
	free(mark);
	free(body);
	return rc;
}

/* Reads the recordings in parallel, the first onto its tape; writes the trace meanwhile. */
static int extrapolate_read(struct frag_question *q, struct frag_sink *sink,
			    struct frag_error *err)
{
	struct extrapolate *e = (struct extrapolate *)q;
	struct frag_trace *traces[FRAG_RECORDINGS_MAX];
	struct frag_tape_writer *tapes[FRAG_RECORDINGS_MAX] = { NULL };
	struct frag_recordings_options o = {
		.traces = traces, .numbers = e->numbers, .count = e->count, .tapes = tapes,
		.stop = frag_interrupted, .progress = show_reading, .ctx = e,
		.event = sink ? write_event : NULL,
	};
	int rc = 0;

	for (uint32_t i = 0; i < e->count; i++)
		traces[i] = e->taped[i].trace;
	e->sink = sink;
	if (e->sink) {
		o.number = e->at[0];
		rc = begin_trace(e, err);
	}
	/* the other recordings are read onto tapes only for their scopes */
	for (uint32_t i = 0; i < e->count && (!i || q->is_read) && !rc; i++) {
		tapes[i] = frag_tape_writer_new(traces[i], 0);
		rc = tapes[i] ? 0 : frag_fail_nomem(err);
	}
	rc = rc ? rc : frag_recordings_read(&e->recordings, &o, err);
	for (uint32_t i = 0; i < e->count; i++) {
		if (!rc && tapes[i])
			e->taped[i].tape = frag_tape_finish(tapes[i]);
		if (!rc && q->is_read)
			rc = frag_growth_find(traces[i], e->taped[i].tape, err);
		frag_tape_writer_del(tapes[i]);
	}
	return rc;
}

/* Of the recordings the one that proves least. */
static const struct frag_scope *extrapolate_scope(const struct extrapolate *e)
{
	const struct frag_scope *scope = &frag_trace_info(e->taped[0].trace)->scope;

	for (uint32_t i = 1; i < e->count; i++)
		scope = frag_scope_less(scope, &frag_trace_info(e->taped[i].trace)->scope);
	return scope;
}

/* Simulates each number of --at, and searches for the largest one where --largest is given. */
static int extrapolate_search(struct frag_question *q, struct frag_error *err)
{
	struct extrapolate *e = (struct extrapolate *)q;
	const struct frag_loaded_trace *first = &e->taped[0];

	e->found = (struct frag_extrapolation){
		.recordings = &e->recordings,
		.tape = first->tape,
		.scope = extrapolate_scope(e),
		.choices = first->choices,
		.devices = first->devices.figures,
		.choice_count = first->choice_count,
		.at = e->at,
		.at_count = e->at_count,
		.largest = e->largest,
		.total = e->q.run.total == UINT64_MAX ? 0 : e->q.run.total,
		.up_to = (uint32_t)e->up_to,
		.stride = e->step ? (uint32_t)e->step : 1,
		.runs = e->runs,
		.model = e->q.run.sim.model,
		.hurry = frag_time_is_short,
		.job = frag_question_job(q, frag_time_is_up),
	};
	return frag_extrapolation_run(&e->found, err);
}

/* A number that is none is less than any. */
static double number_or_none(uint32_t number)
{
	return number == FRAG_NO_NUMBER ? -INFINITY : (double)number;
}

/*
 * Conditions on points, and then those on numbers. Status 1: a policy fits no device, or not the
 * given one, or no number at all.
 */
static void extrapolate_judge(struct frag_question *q)
{
	const struct frag_extrapolation *x = &((struct extrapolate *)q)->found;
	const bool part = frag_scope_part(x->scope) != FRAG_PART_WHOLE;

	for (uint32_t i = 0; i < x->fits.count; i++) {
		const struct frag_fitted *one = &x->fits.fitted[i];
		const uint64_t smallest = one->fit.smallest == UINT64_MAX ? one->fit.at_most
									  : one->fit.smallest;
		const double values[PATHS] = {
			frag_bytes_or_none(smallest), frag_bytes_or_none(one->fit.reliable),
			one->unlimited.fits ? frag_bytes_or_none(one->unlimited.peak_reserved)
						: INFINITY,
			(double)one->unlimited.peak_requested, (double)x->unexplained[one->source],
			NAN, NAN,
		};

		const double least = frag_at_least_or_none(&one->claim);
		const double at_least[PATHS] = { least, least, part ? values[RESERVED] : NAN,
						 part ? values[REQUESTED] : NAN, NAN, NAN, NAN };

		frag_question_judge(q, values, at_least, "at %" PRIu32 ", %s, device %" PRIu32,
				    x->at[one->source], frag_choice_label(&x->choices[one->choice]),
				    one->device);
		if (smallest == UINT64_MAX || (x->total && one->fit.headroom == UINT64_MAX))
			*q->status = 1;
	}
	for (uint32_t i = 0; x->reaches && i < x->choice_count; i++) {
		const double values[PATHS] = { NAN, NAN, NAN, NAN, NAN,
					       number_or_none(x->reaches[i].largest),
					       number_or_none(x->reaches[i].reliable) };

		/* a part may need less than its program, so nothing is known of its numbers */
		const double unknown = part ? -INFINITY : NAN;
		const double at_least[PATHS] = { NAN, NAN, NAN, NAN, NAN, unknown, unknown };

		frag_question_judge(q, values, at_least, "%s", frag_choice_label(&x->choices[i]));
		if (x->reaches[i].largest == FRAG_NO_NUMBER)
			*q->status = 1;
	}
}

static int extrapolate_print(struct frag_question *q, struct frag_error *err)
{
	struct extrapolate *e = (struct extrapolate *)q;
	const struct frag_trace_info *traces[FRAG_RECORDINGS_MAX];
	const struct frag_extrapolate_answer answer = {
		.traces = traces, .found = &e->found, .time_up = q->time_up,
		.interrupted = q->interrupted,
	};

	for (uint32_t i = 0; i < e->count; i++)
		traces[i] = frag_trace_info(e->taped[i].trace);
	return frag_question_answer(q, &answer, err);
}

static const struct frag_question_ops question = {
	.unit = "simulations",
	.check = extrapolate_check,
	.open = extrapolate_open,
	.read = extrapolate_read,
	.search = extrapolate_search,
	.print = extrapolate_print,
	.judge = extrapolate_judge,
};

static int extrapolate_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct extrapolate *e = own;
	int rc = 0;

	e->q.cmd = args->cmd;
	for (uint32_t i = 0; i < args->count && !rc; i++)
		rc = add_recording(e, args->words[i], err);
	e->q.paths = (const char *const *)e->paths;
	args->count = e->count;
	return rc ? rc : frag_question_run(&e->q, &question, args, err);
}

static void extrapolate_fini(void *own)
{
	struct extrapolate *e = own;

	frag_extrapolation_fini(&e->found);
	frag_recordings_fini(&e->recordings);
	frag_taped_close(e->taped, FRAG_RECORDINGS_MAX);
	for (uint32_t i = 0; i < e->count; i++)
		free(e->paths[i]);
	free(e->at);
}

const struct frag_cmd frag_cmd_extrapolate = {
	.name = "extrapolate",
	.group = FRAG_GROUP_SIZE,
	.args = "[options] TRACE=N TRACE=N [TRACE=N]",
	.summary = "predict memory at a batch size that was not recorded",
	.opts = opts,
	.refusals = refusals,
	.needs = FRAG_NEEDS_ANSWER,
	.formats = frag_extrapolate_formats,
	.size = sizeof(struct extrapolate),
	.exec = extrapolate_exec,
	.fini = extrapolate_fini,
};
