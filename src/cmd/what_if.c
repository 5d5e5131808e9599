/* what_if.c - fragsim what-if: what a change of the program would bring. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/output_path.h"
#include "cmd/answer_page.h"
#include "cmd/exit_conditions.h"
#include "cmd/time_budget.h"
#include "cmd/output_formats.h"
#include "cmd/trace_provenance.h"
#include "cmd/transform_trace.h"
#include "cmd/loaded_trace.h"
#include "events/tape.h"
#include "answers/answers.h"
#include "answers/fit_answer.h"
#include "transform/what_if_trace.h"

enum {
	OPT_SCALE = FRAG_OPT_FIRST_OWN, OPT_TAG, OPT_LIFE, OPT_MIN_BYTES, OPT_SPLIT, OPT_SHARD,
	OPT_ISOLATE, OPT_HOIST, OPT_WARMUP, OPT_PREALLOCATE, OPT_DROP, OPT_TRACE, OPT_TO,
	OPT_FAIL_IF,
};

static const struct frag_opt opts[] = {
	{ 0, "scale", "F", "all sizes times F, rounded up: 0.5, 2, 1/3", OPT_SCALE },
	{ 0, "tag", "GLOB", "of the --scale before it: only blocks with such a tag", OPT_TAG },
	{ 0, "life", "WHAT", "of the --scale before it: only short or long", OPT_LIFE },
	{ 0, "min-bytes", "SIZE", "of the --scale before it: only blocks from this size on",
	  OPT_MIN_BYTES },
	{ 0, "split", "SIZE", "larger blocks are pieces of SIZE, and a remainder", OPT_SPLIT },
	{ 0, "shard", "K", "long-lived blocks are a K-th: one rank of K", OPT_SHARD },
	{ 0, "isolate", "HOW", "by=life, by=tag, by=tag:GLOB, by=size:SIZE: separate pools",
	  OPT_ISOLATE },
	{ 0, "hoist", NULL, "long-lived blocks are allocated first", OPT_HOIST },
	{ 0, "warmup", "MARK", "repeat the iteration that begins at MARK before the first",
	  OPT_WARMUP },
	{ 0, "preallocate", "SIZE", "SIZE is allocated and freed first", OPT_PREALLOCATE },
	{ 0, "drop", "GLOB", "without the blocks of such a tag", OPT_DROP },
	{ 'o', "output", "FILE", "write the changed trace", OPT_TRACE },
	{ 't', "to", "FORM", "its form: lines, object, fsb, minimalloc or rmm (by FILE's ending)",
	  OPT_TO },
	{ 'p', "policy", "NAME",
	  "placement policy, NAME[:key=value,...]; repeatable (pytorch twice)", FRAG_OPT_POLICY },
	FRAG_ALLOC_CONF_ROW(0),
	{ 0, "fail-if", "CONDITION", "exit with 1 if it is true: 'smallest > 24GiB'; repeatable",
	  OPT_FAIL_IF },
	{ 0, "format", "FORMAT", "text, markdown, json or csv (text)", FRAG_OPT_FORMAT },
	FRAG_HTML_ROW(0),
	{ 0, "json", "FILE", "write it as JSON (- is standard output)", FRAG_OPT_JSON },
	FRAG_COLOR_ROW(FRAG_OPT_COLOR),
	{ 'q', "quiet", NULL, "no text, warnings or progress", FRAG_OPT_QUIET },
	FRAG_LENIENT_ROW(FRAG_OPT_LENIENT),
	FRAG_PROFILE_ROW(0),
	FRAG_DEVICE_ROWS(0),
	FRAG_TIME_ROW(0),
	{ 0, "threads", "N", "concurrent simulations (0: one per processor)", FRAG_OPT_THREADS },
	{ 0 },
};

#define SHARDS_MAX 1000000

struct what_if {
	struct frag_run_options run;
	struct frag_answer_output printed;
	struct frag_answer_page page;
	struct frag_rewrite rewrite;    /* the form of the trace that is written */
	const char *out;                /* its path; NULL: none is */
	struct frag_what_if_change *changes;
	char **texts;                   /* of each, as it was given */
	uint32_t count, capacity, text_capacity;
	const char *path;
	struct frag_loaded_trace taped;        /* as it is */
	struct frag_taped_reading reading;
	struct frag_tape_writer *as_it_is;      /* while it is read; NULL: nobody simulates it */
	struct frag_trace *changed;
	struct frag_tape *plain, *tape; /* as it is without segments of before; changed */
	struct frag_fits fits;
	struct frag_conditions conditions;
	struct frag_progress progress;
	int *status;
	int interrupted;
	bool time_up; /* the search ended for that */
};

static const char *const paths[] = { "smallest", "reliable", "reserved", NULL };

const char *const frag_life_words[] = { "short", "long", NULL };

/* A word as a shell would need it. */
static char *what_if_put_word(char *p, const char *word)
{
	const bool plain = *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP"
						       "QRSTUVWXYZ0123456789_.:=/,+-@%")];

	if (!plain)
		*p++ = '\'';
	for (; *word; word++) {
		if (*word == '\'') {
			memcpy(p, "'\\'", 3);
			p += 3;
		}
		*p++ = *word;
	}
	if (!plain)
		*p++ = '\'';
	*p = '\0';
	return p;
}

/* The last change is called by these words too. */
static int add_words(struct what_if *w, const char *name, const char *value,
		     struct frag_error *err)
{
	char **text = &w->texts[w->count - 1];
	const size_t old = *text ? strlen(*text) : 0;
	const size_t room = old + strlen(name) + (value ? 4 * strlen(value) : 0) + 8;
	char *more = realloc(*text, room), *p;

	if (!more)
		return frag_fail_nomem(err);
	*text = more;
	p = more + old + snprintf(more + old, room - old, "%s--%s", old ? " " : "", name);
	if (value)
		*p++ = ' ';
	*p = '\0';
	if (value)
		what_if_put_word(p, value);
	return 0;
}

/* One change more, and the words that it was given with. */
static int what_if_add_change(struct what_if *w, const struct frag_what_if_change *change, const char *name,
			      const char *value, struct frag_error *err)
{
	if (!frag_grow(&w->changes, &w->capacity, (uint64_t)w->count + 1, sizeof(*w->changes))
	    || !frag_grow(&w->texts, &w->text_capacity, (uint64_t)w->count + 1,
			  sizeof(*w->texts)))
		return frag_fail_nomem(err);
	w->texts[w->count] = NULL;
	w->changes[w->count++] = *change;
	return add_words(w, name, value, err);
}

/* --tag, --life and --min-bytes: each once for a --scale, right behind it. */
static int what_if_add_condition(struct what_if *w, int id, const char *name, const char *value,
				 struct frag_error *err)
{
	struct frag_what_if_change *c = w->count ? &w->changes[w->count - 1] : NULL;
	uint64_t bytes = 0;
	int word = 0, rc = 0;

	if (id == OPT_LIFE)
		rc = frag_option_word(&word, name, value, frag_life_words, err);
	else if (id == OPT_MIN_BYTES)
		rc = frag_option_size(&bytes, name, value, 1, err);
	if (rc)
		return rc;
	if (!c || c->kind != FRAG_CHANGE_SCALE)
		return frag_fail(err, FRAG_EUSAGE,
				 "--%s %.60s: it is for a --scale right before it, and"
				 " %s is none",
				 name, value, c ? w->texts[w->count - 1] : "there");
	if (id == OPT_TAG ? c->glob != NULL : id == OPT_LIFE ? c->life != FRAG_LIVES_ANY
						  : c->min_bytes != 0)
		return frag_fail(err, FRAG_EUSAGE, "--%s %.60s: that --scale has one already", name,
				 value);
	if (id == OPT_TAG)
		c->glob = value;
	else if (id == OPT_LIFE)
		c->life = word ? FRAG_LIVES_LONG : FRAG_LIVES_SHORT;
	else
		c->min_bytes = bytes;
	return add_words(w, name, value, err);
}

static int set_change(struct what_if *w, int id, const char *value, struct frag_error *err)
{
	static const struct {
		enum frag_change_kind kind;
		const char *name;
	} of[] = {
		[OPT_SCALE - OPT_SCALE] = { FRAG_CHANGE_SCALE, "scale" },
		[OPT_SPLIT - OPT_SCALE] = { FRAG_CHANGE_SPLIT, "split" },
		[OPT_SHARD - OPT_SCALE] = { FRAG_CHANGE_SHARD, "shard" },
		[OPT_ISOLATE - OPT_SCALE] = { FRAG_CHANGE_ISOLATE, "isolate" },
		[OPT_HOIST - OPT_SCALE] = { FRAG_CHANGE_HOIST, "hoist" },
		[OPT_WARMUP - OPT_SCALE] = { FRAG_CHANGE_WARMUP, "warmup" },
		[OPT_PREALLOCATE - OPT_SCALE] = { FRAG_CHANGE_PREALLOCATE, "preallocate" },
		[OPT_DROP - OPT_SCALE] = { FRAG_CHANGE_DROP, "drop" },
	};
	const char *name = of[id - OPT_SCALE].name;
	struct frag_what_if_change c = { .kind = of[id - OPT_SCALE].kind,
				 .numerator = 1,
				 .denominator = 1 };
	int rc = 0;

	if (id == OPT_SCALE)
		rc = frag_change_factor(&c, value, err);
	else if (id == OPT_SPLIT || id == OPT_PREALLOCATE)
		rc = frag_option_size(&c.bytes, name, value, 1, err);
	else if (id == OPT_SHARD)
		rc = frag_option_count(&c.denominator, name, value, 1, SHARDS_MAX, err);
	else if (id == OPT_ISOLATE)
		rc = frag_change_isolation(&c, value, err);
	else if (id == OPT_WARMUP)
		c.mark = value;
	else if (id == OPT_DROP)
		c.glob = value;
	if (id == OPT_SHARD)
		c.life = FRAG_LIVES_LONG;
	return rc ? rc : what_if_add_change(w, &c, name, value, err);
}

static int what_if_set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct what_if *w = ctx;

	switch (id) {
	case OPT_TAG:
		return what_if_add_condition(w, id, "tag", value, err);
	case OPT_LIFE:
		return what_if_add_condition(w, id, "life", value, err);
	case OPT_MIN_BYTES:
		return what_if_add_condition(w, id, "min-bytes", value, err);
	case OPT_SCALE:
	case OPT_SPLIT:
	case OPT_SHARD:
	case OPT_ISOLATE:
	case OPT_HOIST:
	case OPT_WARMUP:
	case OPT_PREALLOCATE:
	case OPT_DROP:
		return set_change(w, id, value, err);
	case OPT_FAIL_IF:
		return frag_conditions_add(&w->conditions, value, paths, err);
	case OPT_TRACE:
		w->out = value;
		return 0;
	case OPT_TO:
		return frag_rewrite_set(&w->rewrite, FRAG_REWRITE_TO, value, err);
	default:
		return frag_answer_set_option(&w->printed, &w->run, id, value, err);
	}
}

/* Standard output has one thing at most, and no output is an input or another output. */
static int check_out(struct what_if *w, const struct frag_cmd *cmd, struct frag_error *err)
{
	const bool standard = w->out && strcmp(w->out, "-") == 0;

	if (!w->out)
		return w->rewrite.form ? frag_usage(cmd, "--to is for --output FILE", err) : 0;
	if (standard && w->printed.format)
		return frag_usage(cmd, "two outputs to standard output: only one can be -", err);
	if (frag_same_file(w->out, w->path))
		return frag_fail(err, FRAG_EUSAGE, "%s: the output would replace the trace",
				 w->out);
	if (w->run.profile_path && frag_same_file(w->out, w->run.profile_path))
		return frag_fail(err, FRAG_EUSAGE, "%s: the output would replace the profile",
				 w->out);
	for (uint32_t i = 0; i < w->printed.count; i++) {
		if (standard && strcmp(w->printed.outputs[i].path, "-") == 0)
			return frag_usage(cmd, "two outputs to standard output: only one can be -",
					  err);
		if (frag_same_file(w->out, w->printed.outputs[i].path))
			return frag_fail(err, FRAG_EUSAGE, "%s: two outputs to one file", w->out);
	}
	w->printed.quiet = w->printed.quiet || standard;
	return frag_rewrite_find_form(&w->rewrite, w->out, err);
}

static int what_if_check(struct what_if *w, const struct frag_cmd *cmd, int operands,
			 struct frag_error *err)
{
	int rc;

	if (operands != 1)
		return frag_usage(cmd, operands ? "too many arguments: one TRACE"
						: "missing argument: TRACE", err);
	if (!w->count)
		return frag_usage(cmd,
				  "missing option: --scale, --split, --shard, --isolate, --hoist,"
				  " --warmup, --preallocate or --drop",
				  err);
	if (w->run.total != UINT64_MAX)
		return frag_usage(cmd,
				  "the smallest device is searched for, so --device-bytes"
				  " and --device have no meaning here",
				  err);
	if (w->run.profile_path && strcmp(w->run.profile_path, "-") == 0
	    && strcmp(w->path, "-") == 0)
		return frag_usage(cmd, "standard input can be read only once", err);
	for (uint32_t i = 0; i < w->count; i++)
		w->changes[i].text = w->texts[i];
	w->printed.quiet = w->rewrite.quiet = w->run.quiet;
	rc = frag_answer_page_set_path(&w->page, w->run.html, &w->printed, err);
	rc = rc ? rc : check_out(w, cmd, err);
	rc = rc ? rc : frag_run_settings(&w->run, true, err);
	rc = rc ? rc
		: frag_answer_output_check_input(&w->printed, w->run.profile_path, "the profile",
						 err);
	return rc ? rc : frag_printed_apart(&w->printed, cmd, &w->path, 1, "the trace", err);
}

/* Where only the trace is asked for, nothing is simulated, and what can stream does. */
static bool anybody_reads(const struct what_if *w)
{
	return w->printed.count || w->printed.format || !w->printed.quiet || !w->out;
}

static int keep_batch(void *ctx, const struct frag_batch *batch, struct frag_error *err)
{
	struct what_if *w = ctx;

	frag_taped_show(&w->reading, frag_trace_info(w->taped.trace));
	return w->as_it_is ? frag_tape_write(w->as_it_is, batch, err) : 0;
}

static void what_if_warn(void *ctx, const char *message)
{
	struct what_if *w = ctx;

	frag_progress_end(&w->reading.progress);
	frag_warn(&w->run.quiet, message);
}

static int what_if_open_trace(struct what_if *w, struct frag_error *err)
{
	const struct frag_changed_options o = {
		.changes = w->changes,
		.count = w->count,
		.batch = keep_batch,
		.stop = frag_interrupted,
		.ctx = w,
		.log = { .warn = what_if_warn, .ctx = w },
	};
	int rc;

	w->reading = (struct frag_taped_reading){
		.quiet = w->run.quiet, .records = true, .meta = w->out != NULL, .tags = true,
	};
	rc = frag_taped_open(&w->taped, w->path, &w->run, frag_usual_settings, &w->reading, err);
	return rc ? rc : frag_changed_open(&w->changed, w->taped.trace, &o, err);
}

/* The head of the trace as it is, whose "meta" names the changes. */
static int begin_trace(struct what_if *w, struct frag_sink *sink, struct frag_error *err)
{
	const struct frag_trace *trace = w->taped.trace;
	const struct frag_log log = { .warn = frag_warn, .ctx = &w->run.quiet };
	struct frag_trace_info head = *frag_trace_info(trace);
	char *mark = NULL, *meta = NULL;
	int rc = 0;

	if (!head.meta.text)
		rc = frag_recorded_mark(&mark, &trace, 1, false, &log, err);
	if (mark)
		head.meta = (struct frag_text){ .text = mark, .length = (uint32_t)strlen(mark) };
	if (!rc) {
		meta = frag_changed_meta(w->changes, w->count, head.meta);
		rc = meta ? 0 : frag_fail_nomem(err);
	}
	if (!rc) {
		head.meta = (struct frag_text){ .text = meta, .length = (uint32_t)strlen(meta) };
		rc = sink->ops->begin(sink, &head, err);
	}
	free(mark);
	free(meta);
	return rc;
}

static int one_batch(const struct frag_batch *batch, struct frag_sink *sink,
		     struct frag_tape_writer *tape, struct frag_error *err)
{
	int rc = tape ? frag_tape_write(tape, batch, err) : 0;

	for (uint32_t i = 0; sink && i < batch->count && !rc; i++)
		rc = sink->ops->event(sink, &batch->records[i], &batch->events[i], err);
	if (!rc && frag_interrupted(NULL))
		rc = frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	return rc;
}

/* Once: onto two tapes where somebody reads what they come to, and into the sink. */
static int what_if_read_trace(struct what_if *w, struct frag_sink *sink, struct frag_error *err)
{
	struct frag_tape_writer *tape = NULL;
	struct frag_batch batch;
	int rc = sink ? begin_trace(w, sink, err) : 0;

	if (!rc && anybody_reads(w)) {
		w->as_it_is = frag_tape_writer_new(w->taped.trace, 0);
		tape = frag_tape_writer_new(w->changed, 0);
		rc = w->as_it_is && tape ? 0 : frag_fail_nomem(err);
	}
	frag_progress_begin(&w->reading.progress, !w->run.quiet);
	do {
		rc = rc ? rc : frag_trace_next(w->changed, &batch, err);
		if (!rc && batch.count)
			rc = one_batch(&batch, sink, tape, err);
	} while (!rc && batch.count);
	frag_progress_end(&w->reading.progress);
	if (!rc && tape) {
		w->taped.tape = frag_tape_finish(w->as_it_is);
		w->tape = frag_tape_finish(tape);
	}
	frag_tape_writer_del(w->as_it_is);
	frag_tape_writer_del(tape);
	w->as_it_is = NULL;
	rc = rc || !sink ? rc : sink->ops->end(sink, err);
	return frag_or_interrupted(rc, err);
}

/*
 * The changed trace has no segments of before its first event, so neither has the one that it is
 * compared with: all blocks are requests.
 */
static int make_plain(struct what_if *w, struct frag_error *err)
{
	struct frag_tape_reader *reader = frag_tape_reader_new(w->taped.tape);
	const uint64_t allocs = frag_tape_info(w->taped.tape)->allocs;
	uint32_t *which = malloc((size_t)(allocs + 1) * sizeof(*which)), n = 0;
	uint64_t *sizes = malloc((size_t)(allocs + 1) * sizeof(*sizes));
	struct frag_batch batch = { .count = 0 };

	do {
		if (reader && which && sizes)
			frag_tape_next(reader, UINT64_MAX, &batch);
		for (uint32_t i = 0; i < batch.count; i++)
			if (batch.events[i].op == FRAG_OP_ALLOC) {
				sizes[n] = batch.events[i].bytes;
				which[n] = n;
				n++;
			}
	} while (batch.count);
	if (reader && which && sizes)
		w->plain = frag_tape_resized(w->taped.tape, which, sizes);
	frag_tape_reader_del(reader);
	free(which);
	free(sizes);
	return w->plain ? 0 : frag_fail_nomem(err);
}

static void show_fits(void *ctx, uint32_t done, uint32_t count)
{
	struct what_if *w = ctx;

	frag_progress_count(&w->progress, "fits", done, count);
}

static int what_if_search(struct what_if *w, struct frag_error *err)
{
	struct frag_fit_source *sources = calloc(2, sizeof(*sources));
	int rc;

	if (!sources)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < 2; i++)
		sources[i] = (struct frag_fit_source){
			.tape = i ? w->tape : w->plain ? w->plain : w->taped.tape,
			.choices = w->taped.choices, .devices = w->taped.devices.figures,
		};
	w->fits = (struct frag_fits){
		.sources = sources,
		.source_count = 2,
		.choice_count = w->taped.choice_count,
		.bounds.hurry = frag_time_is_short,
		.unlimited = true,
		.apart = true,
		.model = w->run.sim.model,
		.threads = w->run.threads,
		.stop = frag_time_is_up,
		.progress = show_fits,
		.ctx = w,
	};
	frag_progress_begin(&w->progress, !w->run.quiet);
	frag_time_begin(w->run.seconds);
	rc = frag_fits_run(&w->fits, err);
	frag_progress_end(&w->progress);
	return rc;
}

/* Both traces on a device without a limit, the recorded one first. */
static int what_if_draw(struct what_if *w, struct frag_error *err)
{
	struct frag_loaded_trace trace = w->taped;
	int rc = frag_redraw_room(&w->page, 2, err);

	for (int i = 0; i < 2 && !rc; i++) {
		trace.tape = i ? w->tape : w->plain ? w->plain : w->taped.tape;
		rc = frag_answer_page_draw(&w->page, &trace, err);
	}
	return rc;
}

static double what_if_value_at(const void *ctx, const char *path)
{
	const struct frag_fitted *one = ctx;
	const uint64_t bytes = strcmp(path, "smallest") == 0   ? one->fit.smallest
			       : strcmp(path, "reliable") == 0 ? one->fit.safe
			       : one->unlimited.survives	       ? one->unlimited.peak_reserved
							       : UINT64_MAX;

	return bytes == UINT64_MAX ? INFINITY : (double)bytes;
}

/* Conditions are about the changed trace, the second half of the fits. */
static void what_if_judge(const struct what_if *w)
{
	for (uint32_t i = w->fits.count / 2; i < w->fits.count; i++) {
		const struct frag_fitted *one = &w->fits.fitted[i];
		char who[80], name[FRAG_FIT_NAME_ROOM];

		snprintf(who, sizeof(who), "%.60s", frag_fit_name(&w->fits, one, name));
		frag_conditions_judge(&w->conditions, what_if_value_at, one, who, w->status);
	}
}

static int what_if_report(struct what_if *w, struct frag_error *err)
{
	const struct frag_what_if_answer answer = {
		.trace = frag_trace_info(w->taped.trace),
		.events = frag_trace_info(w->changed)->events,
		.changes = (const char *const *)w->texts,
		.change_count = w->count,
		.fits = &w->fits,
		.interrupted = w->interrupted || w->time_up,
		.time_up = w->time_up,
	};
	int rc = w->page.path && !w->interrupted ? what_if_draw(w, err) : 0;

	w->page.what = &answer;
	rc = rc ? rc : frag_printed_write(&w->printed, &answer, err);
	w->page.what = NULL;

	/* a policy that survives nowhere is a no */
	for (uint32_t i = 0; i < w->fits.count && !rc && !w->interrupted; i++)
		if (w->fits.fitted[i].fit.smallest == UINT64_MAX
		    && w->fits.fitted[i].fit.at_most == UINT64_MAX)
			*w->status = 1;
	if (!rc && !w->interrupted)
		what_if_judge(w);
	return rc;
}

static int answer(struct what_if *w, struct frag_error *err)
{
	int rc;

	if (!anybody_reads(w))
		return 0;
	if (frag_tape_symbols(w->taped.tape)->initial_count) {
		rc = make_plain(w, err);
		if (rc)
			return rc;
	}
	rc = what_if_search(w, err);
	if (rc && rc != -FRAG_EINTERRUPTED)
		return rc;
	w->time_up = frag_time_ended(rc);
	w->interrupted = w->time_up ? 0 : rc;
	return what_if_report(w, err);
}

/* The trace takes its place with what is printed, or alone where nothing is. */
static int what_if_write_trace(void *ctx, struct frag_sink *sink, struct frag_error *err)
{
	struct what_if *w = ctx;
	int rc;

	w->printed.beside = sink->out;
	rc = what_if_read_trace(w, sink, err);
	return rc ? rc : answer(w, err);
}

static int what_if(struct what_if *w, struct frag_error *err)
{
	int rc = frag_run_read_profile(&w->run, err);

	rc = rc ? rc : what_if_open_trace(w, err);
	rc = rc ? rc : frag_printed_open(&w->printed, err);
	if (w->out)
		rc = rc ? rc
			: frag_rewrite_into(&w->rewrite, w->path, w->out, what_if_write_trace, w,
					    err);
	else
		rc = rc ? rc : what_if_read_trace(w, NULL, err);
	if (!w->out)
		rc = rc ? rc : answer(w, err);
	return rc ? rc : w->interrupted ? frag_fail(err, FRAG_EINTERRUPTED, "interrupted") : 0;
}

static int what_if_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
			struct frag_error *err)
{
	struct what_if w = {
		.printed = { .formats = frag_what_if_formats, .has_page = true },
		.status = status,
	};
	int rest, rc;

	frag_run_options_init(&w.run);
	rc = frag_redraw_init(&w.page, cmd->name, argc, argv, err);
	rc = rc ? rc : frag_options(cmd, argc, argv, &w, what_if_set_option, &rest, err);
	if (rc || !rest)
		goto out;
	w.path = argv[rest];
	rc = what_if_check(&w, cmd, argc - rest, err);
	rc = rc ? rc : what_if(&w, err);
out:
	frag_printed_fini(&w.printed);
	frag_redraw_fini(&w.page);
	free((void *)(uintptr_t)w.fits.sources);
	frag_fits_fini(&w.fits);
	frag_conditions_fini(&w.conditions);
	frag_tape_del(w.plain);
	frag_tape_del(w.tape);
	frag_trace_close(w.changed);
	frag_taped_close(&w.taped, 1);
	for (uint32_t i = 0; i < w.count; i++)
		free(w.texts[i]);
	free(w.texts);
	free(w.changes);
	frag_run_options_fini(&w.run);
	return rc;
}

const struct frag_cmd frag_cmd_what_if = {
	.name = "what-if",
	.job = FRAG_JOB_SIZE,
	.args = "[options] TRACE CHANGE...",
	.summary = "predict memory after a change to the program",
	.opts = opts,
	.exec = what_if_exec,
};
