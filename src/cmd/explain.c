/* explain.c - fragsim explain: why memory ran out, and what to do. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers/answers.h"
#include "answers/explain_answer.h"
#include "answers/message_answer.h"
#include "base/atomic_file.h"
#include "cmd/frame.h"
#include "cmd/progress.h"
#include "ranks/rank_folder.h"
#include "documents/documents.h"
#include "events/recording_info.h"
#include "events/resolve.h"
#include "messages/message_log.h"
#include "snapshot/outside_memory.h"

#define ROWS_MAX 100000
#define MESSAGES_SHOWN 20       /* a document of them has less than FRAG_ANSWER_MAX bytes */
#define PICKED_ROOM 1000

static const char *const moments[] = {
	[FRAG_MOMENT_OOM] = "oom", [FRAG_MOMENT_PEAK] = "peak", [FRAG_MOMENT_WORST] = "worst", NULL,
};

struct explain {
	struct frag_question q;
	const char *at;                 /* NULL: oom */
	uint64_t moves, block_cost;
	const char *beside;             /* a database of Nsight Systems; NULL: none */
	struct frag_buffered *allocations;      /* of it */
	struct frag_outside *outside;   /* one a moment */
	struct frag_explanation found;
	struct frag_diagnosis drawn;    /* the parts of it that the page shows */
	const char *counted;            /* what the progress shows; NULL: nothing so far */
	struct frag_rank_folder folder; /* that the trace was picked from; zeroed: it was given */
	const char *file;               /* of the folder */
	char picked[PICKED_ROOM];       /* the file, and why; "" where it was given */
	/* of texts: */
	struct frag_message_groups groups;
	uint64_t total, free;           /* of the device, for texts; UINT64_MAX: not given */
	struct frag_outfile json;
};

/* Of the explained step of a device. */
static const char *const paths[] = {
	"counts.ooms", "live", "free", "non_releasable", "missing", NULL,
};

static bool is_standard(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

/* A number is a step, whatever marks are called. */
static int set_moment(struct explain *w, struct frag_error *err)
{
	const char *at = w->at;
	struct frag_explanation *x = &w->found;
	int i = 0;

	x->at = FRAG_MOMENT_OOM;
	if (!at)
		return 0;
	for (i = 0; moments[i]; i++)
		if (strcmp(at, moments[i]) == 0) {
			x->at = (enum frag_moment_kind)i;
			return 0;
		}
	x->at = FRAG_MOMENT_MARK;
	x->at_mark = at;
	if (!*at || at[strspn(at, "0123456789")])
		return 0;
	x->at = FRAG_MOMENT_STEP;
	return frag_option_count(&x->at_step, "at", at, 0, FRAG_COUNT_MAX, err);
}

static int explain_check(struct frag_question *q, struct frag_error *err)
{
	struct explain *e = (struct explain *)q;

	q->reading.capacity = true;
	q->reading.stacks = q->extra_path ? FRAG_STACKS_ALL : FRAG_STACKS_PYTHON;
	return set_moment(e, err);
}

/* Writes the file that was picked, and why, for the answer. */
static void explain_set_picked(struct explain *e, const struct frag_picked *p)
{
	struct frag_words w = FRAG_WORDS(e->picked);

	frag_add(&w, "%.300s", e->folder.paths[p->at]);
	if (e->folder.named)
		frag_add(&w, ", rank %" PRIu64, e->folder.ranks[p->at]);
	if (p->readable == 1)
		frag_add(&w, ": the only snapshot, %s a recorded OOM", p->ooms ? "with" : "without");
	else if (p->ooms == 1)
		frag_add(&w, ": of %u snapshots the only one with a recorded OOM", p->readable);
	else if (p->ooms)
		frag_add(&w, ": of %u snapshots with a recorded OOM the highest peak, %s reserved",
			 p->ooms, SIZE(p->peak));
	else
		frag_add(&w, ": no OOM is recorded; of %u snapshots the highest peak, %s reserved",
			 p->readable, SIZE(p->peak));
	if (*e->folder.note)
		frag_add(&w, "; %s", e->folder.note);
}

/* Takes of a folder the snapshot of the rank that failed. */
static int explain_pick(struct explain *e, struct frag_error *err)
{
	struct frag_picked picked;
	int rc = frag_rank_folder_read(&e->folder, e->q.paths[0], FRAG_FOLDER_SNAPSHOTS, err);

	rc = rc ? rc : frag_rank_folder_pick(&picked, &e->folder, FRAG_WARN_LOG(&e->q.run.quiet),
					     frag_interrupted, err);
	if (!rc && !picked.readable)
		return frag_fail(err, FRAG_ETRACE, "%s: no snapshot in this folder can be read",
				 e->q.paths[0]);
	if (rc)
		return rc;
	explain_set_picked(e, &picked);
	e->file = e->folder.paths[picked.at];
	return 0;
}

/* The trace of a folder is known once the folder is read. */
static int explain_open(struct frag_question *q, struct frag_error *err)
{
	struct explain *e = (struct explain *)q;
	int rc;

	if (!frag_is_folder(q->paths[0]))
		return 0;
	rc = explain_pick(e, err);
	q->paths = rc ? q->paths : &e->file;
	return rc ? rc : frag_question_check_files(q, err);
}

/* A line a stack, of all moments: "outer;inner bytes". */
static int write_folded(struct explain *w, struct frag_error *err)
{
	FILE *f = frag_outfile_stream(&w->q.extra);

	if (!f)
		return frag_outfile_status(&w->q.extra, err);
	for (uint32_t i = 0; i < w->found.count; i++)
		for (uint32_t k = 0; k < w->found.moments[i].folded_count; k++)
			fprintf(f, "%s %" PRIu64 "\n", w->found.moments[i].folded[k].line,
				w->found.moments[i].folded[k].bytes);
	frag_outfile_stream_end(&w->q.extra, f);
	return frag_outfile_finish(&w->q.extra, err);
}

static void explain_show(void *ctx, const char *what, uint32_t done, uint32_t count)
{
	struct explain *w = ctx;

	if (!w->counted || !done || strcmp(w->counted, what) != 0)
		frag_progress_part(&w->q.progress);
	w->counted = what;
	frag_progress_count(&w->q.progress, what, done, count);
}

/* Reads the database of --beside, and refuses that of another process before the search. */
static int explain_open_beside(struct explain *e, struct frag_error *err)
{
	const struct frag_snapshot *s = frag_trace_snapshot(e->q.taped->trace);
	const struct frag_log log = { .warn = frag_taped_warn, .ctx = &e->q.reading };
	struct frag_outside end;
	uint32_t segments = 0, matched = 0;
	bool expandable = false;
	int rc = 0;

	if (!s)
		return frag_fail(err, FRAG_ETRACE, "%s: no snapshot of PyTorch: --beside requires one",
				 frag_input_name(e->q.paths[0]));
	rc = frag_nsys_allocations(&e->allocations, e->beside, &log, err);
	for (uint32_t i = 0; i < s->device_count && !rc; i++) {
		rc = frag_outside_find(&end, s, i, UINT64_MAX, e->allocations, err);
		segments += end.segments;
		matched += end.matched;
		expandable |= end.expandable;
		free(end.tags);
	}
	if (rc || matched)
		return rc;
	if (segments)
		return frag_fail(err, FRAG_ETRACE, "%s: not of the process of the snapshot: it has none of"
				 " its %" PRIu32 " segment%s", frag_input_name(e->beside), segments,
				 frag_s(segments));
	return frag_fail(err, FRAG_ETRACE, "%s: the snapshot has no segment to compare with it%s",
			 frag_input_name(e->beside), expandable ? ": all of its memory is in expandable"
			 " segments; record without expandable_segments" : "");
}

/* What was outside PyTorch at each explained moment, also of a search that was interrupted. */
static int explain_find_outside(struct explain *e, struct frag_error *err)
{
	const struct frag_snapshot *s = frag_trace_snapshot(e->q.taped->trace);
	int rc = 0;

	e->outside = calloc((size_t)e->found.count + 1, sizeof(*e->outside));
	if (!e->outside)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < e->found.count && !rc; i++)
		if (e->found.moments[i].device < s->device_count)
			rc = frag_outside_find(&e->outside[i], s, e->found.moments[i].device,
					       e->found.moments[i].step, e->allocations, err);
	return rc;
}

static int explain_search(struct frag_question *q, struct frag_error *err)
{
	struct explain *w = (struct explain *)q;
	struct frag_explanation *x = &w->found;
	int rc = w->beside ? explain_open_beside(w, err) : 0, late;

	x->tape = q->taped->tape;
	x->choice = q->taped->choices;
	x->devices = q->taped->devices.figures;
	x->moves = (uint32_t)w->moves;
	x->block_cost = w->block_cost;
	x->folded = q->extra_path != NULL;
	x->job = frag_question_job(q, frag_time_is_up);
	x->job.progress = explain_show;
	rc = rc ? rc : frag_explanation_run(x, err);
	late = w->allocations && (!rc || rc == -FRAG_EINTERRUPTED) ? explain_find_outside(w, err) : 0;
	return late ? late : rc;
}

/* Sets the parts of an explanation that the page of a single device shows. */
static void explain_set_drawn(struct frag_diagnosis *drawn, const struct frag_explanation *found)
{
	const struct frag_explained *m = &found->moments[0];
	const struct frag_choice *setting = m->setting;

	*drawn = (struct frag_diagnosis){
		.requested = m->lower_bound, .oom.verdict = m->verdict, .fixes = m->settings,
	};
	if (setting)
		drawn->fix = (struct frag_setting_fix){ .found = true, .choice = *setting };
}

/* The run again, on what it was explained on, its first moment, and the run with its fix. */
static int explain_draw(void *ctx, struct frag_redrawn *x, struct frag_error *err)
{
	struct explain *e = ctx;
	const struct frag_device_figures *devices = x->taped->devices.figures;
	int rc;

	if (e->found.count) {
		x->look = e->found.moments[0].step;
		e->q.redraw.bad = e->found.moments[0].verdict != FRAG_VERDICT_NONE;
	}
	/* of another moment the numbers of the run would be misread */
	if (e->found.count == 1 && !e->at) {
		explain_set_drawn(&e->drawn, &e->found);
		x->answer = &e->drawn;
	}
	rc = frag_redrawn_run(x, x->taped->choices, devices, err);
	return rc || !e->drawn.fix.found ? rc
		: frag_redrawn_run(x, &e->drawn.fix.choice, devices, err);
}

/* Memory at a moment is what it was then. A part without an OOM does not show that there is none. */
static void explain_judge(struct frag_question *q)
{
	const bool part = frag_scope_part(&q->traces[0]->scope) != FRAG_PART_WHOLE;
	const struct frag_explanation *x = &((struct explain *)q)->found;

	for (uint32_t i = 0; i < x->count; i++) {
		const struct frag_explained *m = &x->moments[i];
		const bool oom = m->kind == FRAG_MOMENT_OOM;
		const double values[] = { oom, (double)m->live, (double)m->free,
					  (double)m->non_releasable,
					  oom ? (double)m->missing : 0 };

		const double at_least[] = { oom, NAN, NAN, NAN, NAN };

		frag_question_judge(q, values, part ? at_least : NULL, "%s, device %u", q->paths[0],
				    m->device);
	}
}

static int explain_print(struct frag_question *q, struct frag_error *err)
{
	struct explain *w = (struct explain *)q;
	const struct frag_explain_answer answer = {
		.trace = q->traces[0],
		.found = &w->found,
		.top = frag_question_top(q, 5),
		.verbose = q->run.verbose || q->printed.top != FRAG_TOP_FITTING,
		.time_up = q->time_up,
		.picked = w->picked,
		.beside = w->beside,
		.outside = w->outside,
	};
	const int rc = q->extra_path ? write_folded(w, err) : 0;

	return rc ? rc : frag_question_answer(q, &answer, err);
}

static const struct frag_question_ops question = {
	.whole = true,
	.one_policy = true,
	.check = explain_check,
	.usual = frag_usual_policy,
	.open = explain_open,
	.search = explain_search,
	.draw = explain_draw,
	.print = explain_print,
	.judge = explain_judge,
};

static int none(const struct frag_message_log *log, struct frag_error *err)
{
	return frag_fail(err, FRAG_ETRACE, "%s: no out-of-memory and no memory figures were found in"
			 " %" PRIu64 " line%s", frag_input_name(log->path), log->lines,
			 frag_s(log->lines));
}

static int explain_report(struct explain *e, struct frag_error *err)
{
	const uint64_t top = frag_question_top(&e->q, MESSAGES_SHOWN);
	const int columns = frag_terminal_columns(STDOUT_FILENO);
	const struct frag_text_style paper = {
		.colour = frag_terminal_colour(columns), .columns = columns,
	};
	const struct frag_run_options *run = &e->q.run;
	int rc = 0;

	if (run->json)
		rc = frag_messages_write(&e->groups, (uint32_t)(top < UINT32_MAX ? top : UINT32_MAX),
					 &e->json, err);
	if (rc)
		return rc;
	if (!run->quiet && !is_standard(run->json))
		frag_report_messages(&e->groups, &paper, run->verbose, stdout);
	return run->json ? frag_outfile_commit(&e->json, err) : 0;
}

static struct frag_message_value given_value(uint64_t bytes)
{
	return (struct frag_message_value){ .there = bytes != UINT64_MAX, .bytes = bytes };
}

/* Reads all of them. If none has a message, the error names the last. */
static int explain_read_messages(struct explain *e, char *const *texts, uint32_t count,
				 struct frag_error *err)
{
	struct frag_message_log log = {
		.stop = frag_interrupted, .groups = &e->groups,
		.total = given_value(e->total != UINT64_MAX ? e->total : e->q.run.total),
		.free = given_value(e->free),
	};
	int rc = 0;

	for (uint32_t i = 0; i < count && !rc; i++) {
		log.path = texts[i];
		rc = frag_message_log_read(&log, err);
	}
	if (!rc)
		frag_accounts_derive(&e->groups.accounts);
	return rc || e->groups.messages || e->groups.accounts.count ? rc : none(&log, err);
}

static const struct frag_opt opts[] = {
	FRAG_POLICY_ROWS("placement policy, NAME[:key=value,...] (by the trace)"),
	{ 0, "at", "WHEN", "oom, peak, worst, an event, or the name of a mark (oom)",
	  FRAG_TEXT(struct explain, at) },
	FRAG_TOP_ROW("with tables of N rows, or all (5; JSON: as 12 KiB hold)"),
	{ 0, "moves", "N", "continue after a move, up to N moves (1)",
	  FRAG_COUNT(struct explain, moves, 0, ROWS_MAX), .usual = 1 },
	{ 0, "block-cost", "SIZE", "cost of each block of a move, in addition to its bytes (4MiB)",
	  FRAG_SIZE(struct explain, block_cost, 0), .usual = FRAG_BLOCK_COST },
	{ 0, "folded", "FILE", "write memory by tag as folded stacks, for flame graphs",
	  FRAG_OUTPUT(struct explain, q.extra_path) },
	{ 0, "beside", "FILE", "memory outside PyTorch, by an SQLite export of Nsight Systems",
	  FRAG_INPUT(struct explain, beside, "the database") },
	FRAG_FAIL_IF_ROW("exit with 1 if it is true: 'free > 1GiB'; repeatable", paths),
	FRAG_PARTIAL_ROW,
	FRAG_RESULT_ROWS("write the answer to a file, .json or .html; repeatable", 0),
	{ 0, "json", "FILE", "write it as JSON (- is standard output)", FRAG_TEXT(struct frag_run_options, json) },
	FRAG_COLOR_ROW,
	{ 'v', "verbose", NULL, "with tables of segments, tags and pools",
	  FRAG_RUN_FLAG(verbose) },
	FRAG_QUIET_ROW("no text, warnings or progress"),
	FRAG_LENIENT_ROW,
	FRAG_PROFILE_ROW,
	FRAG_DEVICE_ROWS,
	{ 0, "total", "SIZE", "bytes of the device, where a text lacks them",
	  FRAG_SIZE(struct explain, total, 0), .usual = UINT64_MAX },
	{ 0, "free", "SIZE", "free bytes of the device, where a text lacks them",
	  FRAG_SIZE(struct explain, free, 0), .usual = UINT64_MAX },
	FRAG_TIME_ROW,
	FRAG_SEARCH_THREADS_ROW,
	{ 0 },
};

/*
 * Without a file, what is pasted or piped. The JSON is opened first; without a message nothing is
 * left of it.
 */
static int explain_messages(struct explain *e, const struct frag_args *args, struct frag_error *err)
{
	static const char *const of_message[] = {
		"format", "output", "json", "top", "color", "verbose", "quiet", "device", "device-bytes",
		"free", "total", NULL,
	};
	const struct frag_run_options *run = &e->q.run;
	const char *of_trace = frag_last_given(args, of_message);
	char *const *texts = args->words;
	int rc;

	if (run->html)
		return frag_fail(err, FRAG_EUSAGE, "a page is of a trace, and %s is a text",
				 frag_input_name(args->words[0]));
	if (of_trace)
		return frag_fail(err, FRAG_EUSAGE, "--%s is for a trace, and %s is a text",
				 of_trace, frag_input_name(args->words[0]));
	rc = frag_check_files(args, "the message", run->json, err);
	rc = rc ? rc : frag_open_guarded(&e->json, run->json, err);
	if (!rc && !run->quiet && is_standard(texts[0]) && isatty(STDIN_FILENO))
		frag_print_message("enter the error or the log, then press Ctrl-D on an empty"
				   " line");
	rc = rc ? rc : explain_read_messages(e, texts, args->count, err);
	rc = rc ? rc : explain_report(e, err);
	return frag_or_interrupted(rc, err);
}

static int explain_is_text(const char *path, bool *is, struct frag_error *err)
{
	*is = frag_is_pasted(path);
	return *is || frag_is_folder(path) ? 0 : frag_is_text(path, is, err);
}

static const struct frag_refusal of_traces[] = {
	{ "total|free", "--total and --free are for texts; of a trace --device-bytes is the device" },
	{ 0 },
};

static int explain_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	static char standard[] = "-", *none_given[] = { standard, NULL };
	struct explain *e = own;
	bool texts = true;
	int rc = 0;

	if (!args->count) {
		args->words = none_given;
		args->count = 1;
	}
	/* where a prompt is required */
	if (is_standard(args->words[0]) && isatty(STDIN_FILENO))
		return explain_messages(e, args, err);
	for (uint32_t i = 0; i < args->count && texts && !rc; i++)
		rc = explain_is_text(args->words[i], &texts, err);
	if (rc)
		return rc;
	if (texts)
		return explain_messages(e, args, err);
	rc = frag_refuse_options(args, of_traces, err);
	if (rc)
		return rc;
	if (args->count > 1)
		return frag_usage(args->cmd, "too many arguments: one TRACE, or texts", err);
	return frag_question_run(&e->q, &question, args, err);
}

static void explain_fini(void *own)
{
	struct explain *e = own;

	for (uint32_t i = 0; i < e->found.count && e->outside; i++)
		free(e->outside[i].tags);
	frag_explanation_fini(&e->found);
	frag_outfile_abandon(&e->json);
	free(e->groups.groups);
	free(e->groups.accounts.of);
	frag_rank_folder_fini(&e->folder);
	free(e->outside);
	frag_buffered_del(e->allocations);
}

const struct frag_cmd frag_cmd_explain = {
	.name = "explain",
	.group = FRAG_GROUP_FAILURE,
	.args = "[options] [TRACE|FOLDER|TEXT...]",
	.summary = "explain an error message, a snapshot or a trace",
	.opts = opts,
	.needs = FRAG_NEEDS_ANSWER,
	.formats = frag_explain_formats,
	.size = sizeof(struct explain),
	.exec = explain_exec,
	.fini = explain_fini,
};
