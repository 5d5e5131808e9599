/* what_if.c - fragsim what-if: what a change of the program would bring. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "answers/what_if_answer.h"
#include "base/atomic_file.h"
#include "base/format.h"
#include "base/parse.h"
#include "cmd/frame.h"
#include "events/tape.h"
#include "answers/answers.h"
#include "iterations/leak_detect.h"
#include "transform/recordings.h"
#include "transform/what_if_trace.h"

#define SHARDS_MAX 1000000

/* The changes, as the command line has them. */
struct change_list {
	struct frag_what_if_change *list;
	char **texts;                   /* of each, as it was given */
	uint32_t count, capacity, text_capacity;
};

struct what_if {
	struct frag_question q;
	struct change_list changes;
	struct frag_loaded_trace taped;        /* unchanged */
	struct frag_tape_writer *as_it_is;      /* during reading; NULL: no simulation */
	struct frag_trace *changed;
	struct frag_tape *plain, *tape; /* unchanged, without initial segments; changed */
	struct frag_iterations iterations;      /* where a change is made at each of them */
	struct frag_fit_source sources[2];
	struct frag_fits fits;
};

static const char *const paths[] = { "smallest", "reliable", "reserved", NULL };

static const char *const life_words[] = { "short", "long", NULL };

#define DIGITS 18

/* Reads digits, with a point if `point` is set, as value / scale. Sets *end after them. */
static bool read_number(const char *text, bool point, uint64_t *value,
			uint64_t *scale, const char **end)
{
	uint32_t digits = 0;
	bool behind = false;

	*value = 0;
	*scale = 1;
	for (; frag_is_digit(*text) || (point && !behind && digits && *text == '.');
	     text++) {
		if (*text == '.') {
			behind = true;
			continue;
		}
		if (++digits > DIGITS)
			return false;
		*value = *value * 10 + (uint64_t)(*text - '0');
		*scale *= behind ? 10 : 1;
	}
	*end = text;
	return digits && text[-1] != '.';
}

/* The value of --scale: a decimal or a fraction, 0.5 or 1/3, above 0. */
static int read_factor(struct frag_what_if_change *c, const char *value, struct frag_error *err)
{
	const char *end;
	uint64_t one;
	bool good = read_number(value, true, &c->numerator, &c->denominator, &end);

	if (good && *end == '/' && c->denominator == 1)
		good = read_number(end + 1, false, &c->denominator, &one, &end);
	if (good && !*end && c->numerator && c->denominator)
		return 0;
	return frag_fail(err, FRAG_EUSAGE, "--scale %.60s: a number above 0 is required, such as"
			 " 0.5, 2 or 1/3, of %d digits at most", value, DIGITS);
}

/* "1MiB,20MiB": each larger than the one before. */
static int read_limits(struct frag_what_if_change *c, const char *value, const char *text,
		       struct frag_error *err)
{
	for (;; text++) {
		const size_t length = strcspn(text, ",");
		uint64_t *limit = &c->limits[c->limit_count];

		if (c->limit_count == FRAG_CHANGE_LIMITS)
			return frag_fail(err, FRAG_EUSAGE, "--isolate %.60s: %d sizes are possible",
					 value, FRAG_CHANGE_LIMITS);
		if (!frag_parse_size(text, length, true, limit) || !*limit
		    || (c->limit_count && *limit <= limit[-1]))
			return frag_fail(err, FRAG_EUSAGE, "--isolate %.60s: sizes above 0 are"
					 " required, such as 1MiB, each larger than the one"
					 " before", value);
		c->limit_count++;
		text += length;
		if (!*text)
			return 0;
	}
}

/* The value of --isolate. */
static int read_isolation(struct frag_what_if_change *c, const char *value, struct frag_error *err)
{
	if (strcmp(value, "by=life") == 0) {
		c->by = FRAG_BY_LIFE;
		return 0;
	}
	if (strncmp(value, "by=tag", 6) == 0 && (!value[6] || (value[6] == ':' && value[7]))) {
		c->by = FRAG_BY_TAG;
		c->glob = value[6] ? value + 7 : NULL;
		return 0;
	}
	if (strncmp(value, "by=size:", 8) != 0)
		return frag_fail(err, FRAG_EUSAGE, "--isolate %.60s: by=life, by=tag, by=tag:GLOB or"
				 " by=size:SIZE is required", value);
	c->by = FRAG_BY_SIZE;
	return read_limits(c, value, value + 8, err);
}

/* The last change is called by this word too. */
static int add_word(struct change_list *w, const char *dashes, const char *word,
		    struct frag_error *err)
{
	char **text = &w->texts[w->count - 1];
	const size_t old = *text ? strlen(*text) : 0;
	char *more = realloc(*text, old + 4 * strlen(word) + 8);

	if (!more)
		return frag_fail_nomem(err);
	w->list[w->count - 1].text = *text = more;
	frag_put_shell_word(stpcpy(stpcpy(more + old, old ? " " : ""), dashes), word);
	return 0;
}

static int add_words(struct change_list *w, const char *name, const char *value,
		     struct frag_error *err)
{
	const int rc = add_word(w, "--", name, err);

	return rc || !value ? rc : add_word(w, "", value, err);
}

/* Narrows the --scale right before the option, which does so once. */
static int narrow(struct change_list *w, enum frag_change_kind kind, const char *name,
		  const char *value, uint64_t number, struct frag_error *err)
{
	struct frag_what_if_change *c = w->count ? &w->list[w->count - 1] : NULL;

	if (!c || c->kind != FRAG_CHANGE_SCALE)
		return frag_fail(err, FRAG_EUSAGE, "--%s %.60s: it is for a --scale right before it,"
				 " and %s is none", name, value, c ? c->text : "there");
	if (kind == FRAG_CHANGE_TAG ? c->glob != NULL
	    : kind == FRAG_CHANGE_LIFE ? c->life != FRAG_LIVES_ANY : c->min_bytes != 0)
		return frag_fail(err, FRAG_EUSAGE, "--%s %.60s: that --scale has one already", name,
				 value);
	if (kind == FRAG_CHANGE_TAG)
		c->glob = value;
	else if (kind == FRAG_CHANGE_LIFE)
		c->life = number ? FRAG_LIVES_LONG : FRAG_LIVES_SHORT;
	else
		c->min_bytes = number;
	return add_words(w, name, value, err);
}

/* Which value the change waits for; NULL: none. A mark or a setting is no empty word. */
static const char **missing_value(struct frag_what_if_change *c)
{
	if (c->kind == FRAG_CHANGE_SET && !c->setting)
		return &c->setting;
	if (c->kind != FRAG_CHANGE_PARK)
		return NULL;
	return !c->mark ? &c->mark : !c->until ? &c->until : NULL;
}

static int read_change(struct frag_what_if_change *c, const char *value, uint64_t number,
		       struct frag_error *err)
{
	switch (c->kind) {
	case FRAG_CHANGE_SCALE:
		return read_factor(c, value, err);
	case FRAG_CHANGE_ISOLATE:
		return read_isolation(c, value, err);
	case FRAG_CHANGE_SHARD:
		c->life = FRAG_LIVES_LONG;
		c->denominator = number;
		break;
	case FRAG_CHANGE_EMPTY_CACHE:
		c->mark = strcmp(value, "every-iteration") == 0 ? NULL : value;
		break;
	case FRAG_CHANGE_DROP:
	case FRAG_CHANGE_PARK:
		c->glob = value;
		break;
	case FRAG_CHANGE_WARMUP:
	case FRAG_CHANGE_SET:
		c->mark = value;
		break;
	case FRAG_CHANGE_SPLIT:
	case FRAG_CHANGE_PREALLOCATE:
		c->bytes = number;
		break;
	case FRAG_CHANGE_HOIST:
	case FRAG_CHANGE_KINDS:
	case FRAG_CHANGE_TAG:
	case FRAG_CHANGE_LIFE:
	case FRAG_CHANGE_MIN_BYTES:
		break;
	}
	return 0;
}

/*
 * Adds what the option `name` with this value says: a change, the next value of the last change, or
 * what narrows it. value NULL: there is none. number: of a kind whose value is a size or a count,
 * or 1 for long lives.
 */
static int list_change(struct change_list *w, enum frag_change_kind kind, const char *name,
		       const char *value, uint64_t number, struct frag_error *err)
{
	struct frag_what_if_change *last = w->count ? &w->list[w->count - 1] : NULL;
	struct frag_what_if_change c = { .kind = kind, .numerator = 1, .denominator = 1 };
	const char **missing = last && last->kind == kind ? missing_value(last) : NULL;
	int rc;

	if (kind > FRAG_CHANGE_KINDS)
		return narrow(w, kind, name, value, number, err);
	if (missing) {
		*missing = value;
		return add_word(w, "", value, err);
	}
	rc = read_change(&c, value, number, err);
	if (!rc && (!FRAG_GROW(w->list, w->capacity, w->count)
		    || !FRAG_GROW(w->texts, w->text_capacity, w->count)))
		rc = frag_fail_nomem(err);
	if (rc)
		return rc;
	w->texts[w->count] = NULL;
	w->list[w->count++] = c;
	return add_words(w, name, value, err);
}

/* A change, or more of the last one: the row's min is its kind. */
static int add_change(void *at, const struct frag_opt *o, const char *value, struct frag_error *err)
{
	const struct frag_opt size = { .name = o->name, .kind = FRAG_OPT_SIZE, .min = 1 };
	struct what_if *w = at;
	uint64_t number = 0;
	int word = 0, rc = 0;

	if (o->words)
		rc = frag_option_word(&word, o->name, value, o->words, err);
	else if (o->arg && strcmp(o->arg, "SIZE") == 0)
		rc = frag_option_set(&number, &size, value, err);
	else if (o->max)
		rc = frag_option_count(&number, o->name, value, 1, o->max, err);
	return rc ? rc : list_change(&w->changes, (enum frag_change_kind)o->min, o->name, value,
				     o->words ? (uint64_t)word : number, err);
}

#define CHANGE(which) .min = FRAG_CHANGE_##which, FRAG_CALL(add_change)

static const struct frag_opt opts[] = {
	{ 0, "scale", "F", "all sizes times F, rounded up: 0.5, 2, 1/3", CHANGE(SCALE) },
	{ 0, "tag", "GLOB", "of the --scale before it: only blocks with such a tag", CHANGE(TAG) },
	{ 0, "life", "WHAT", "of the --scale before it: only short or long", .words = life_words,
	  CHANGE(LIFE) },
	{ 0, "min-bytes", "SIZE", "of the --scale before it: only blocks from this size on",
	  CHANGE(MIN_BYTES) },
	{ 0, "split", "SIZE", "larger blocks are pieces of SIZE, and a remainder", CHANGE(SPLIT) },
	{ 0, "shard", "K", "long-lived blocks are a K-th: one rank of K",
	  .max = SHARDS_MAX, CHANGE(SHARD) },
	{ 0, "isolate", "HOW", "by=life, by=tag, by=tag:GLOB, by=size:SIZE: separate pools",
	  CHANGE(ISOLATE) },
	{ 0, "hoist", NULL, "long-lived blocks are allocated first", CHANGE(HOIST) },
	{ 0, "warmup", "MARK", "repeat the iteration that begins at MARK before the first",
	  CHANGE(WARMUP) },
	{ 0, "preallocate", "SIZE", "SIZE is allocated and freed first", CHANGE(PREALLOCATE) },
	{ 0, "drop", "GLOB", "without the blocks of such a tag", CHANGE(DROP) },
	{ 0, "empty-cache", "MARK",
	  "release the cache at each mark that this glob matches, or every-iteration",
	  CHANGE(EMPTY_CACHE) },
	{ 0, "set", "MARK SETTING", "change PyTorch's settings at such marks", CHANGE(SET) },
	{ 0, "park", "GLOB MARK MARK",
	  "blocks of such a tag leave the device from one mark to the other", CHANGE(PARK) },
	FRAG_TRACE_ROWS("write the changed trace"),
	FRAG_POLICY_ROWS("placement policy, NAME[:key=value,...]; repeatable (pytorch twice)"),
	FRAG_FAIL_IF_ROW("exit with 1 if it is true: 'smallest > 24GiB'; repeatable", paths),
	FRAG_PARTIAL_ROW,
	FRAG_CHANGED_ROWS,
	{ 0 },
};

static const struct frag_refusal refusals[] = {
	{ "!scale !split !shard !isolate !hoist !warmup !preallocate !drop !empty-cache !set !park",
	  "missing option: --scale, --split, --shard, --isolate, --hoist, --warmup, --preallocate,"
	  " --drop, --empty-cache, --set or --park" },
	{ "allow-partial !fail-if", "=--allow-partial is for --fail-if" },
	{ "device", "the smallest device is searched for, so --device-bytes and --device have no meaning"
		    " here" },
	{ 0 },
};

/* Does a change happen where an iteration begins? */
static bool has_iterations(const struct change_list *w)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (w->list[i].kind == FRAG_CHANGE_EMPTY_CACHE && !w->list[i].mark)
			return true;
	return false;
}

static int what_if_check(struct frag_question *q, struct frag_error *err)
{
	struct what_if *w = (struct what_if *)q;
	int rc;

	for (uint32_t i = 0; i < w->changes.count; i++) {
		struct frag_choice choice;

		if (w->changes.list[i].kind != FRAG_CHANGE_SET)
			continue;
		rc = frag_choice_parse(&choice, "pytorch", err);
		rc = rc ? rc : frag_choice_settings(&choice, w->changes.list[i].setting, err);
		if (rc)
			return rc;
	}
	if (has_iterations(&w->changes) && strcmp(q->paths[0], "-") == 0)
		return frag_usage(q->cmd, "--empty-cache every-iteration reads the trace twice, and"
				  " standard input can be read only once", err);
	return 0;
}

/* The first events of the iterations. */
static int find_iterations(struct what_if *w, struct frag_error *err)
{
	struct frag_loaded_trace taped = { .trace = NULL };
	/* the second reading has the warnings */
	int rc = frag_question_read_again(&w->q, 0, frag_usual_settings, false, &taped, err);

	rc = rc ? rc : frag_iterations_find(&w->iterations, taped.tape, err);
	if (!rc && !w->iterations.count)
		rc = frag_fail(err, FRAG_EUSAGE, "--empty-cache every-iteration: %s has no"
			       " iterations; name a mark", frag_input_name(w->q.paths[0]));
	frag_taped_close(&taped, 1);
	return rc;
}

static int keep_batch(void *ctx, const struct frag_batch *batch, struct frag_error *err)
{
	struct what_if *w = ctx;

	frag_taped_show(&w->q.reading, frag_trace_info(w->taped.trace));
	return w->as_it_is ? frag_tape_write(w->as_it_is, batch, err) : 0;
}

/* Opens the trace and its changed form; a first reading finds the iterations. */
static int what_if_open(struct frag_question *q, struct frag_error *err)
{
	struct what_if *w = (struct what_if *)q;
	struct frag_changed_options o = {
		.changes = w->changes.list,
		.count = w->changes.count,
		.batch = keep_batch,
		.stop = frag_interrupted,
		.ctx = w,
		.log = { .warn = frag_taped_warn, .ctx = &q->reading },
	};
	int rc = has_iterations(&w->changes) ? find_iterations(w, err) : 0;

	if (rc)
		return rc;
	o.iterations = w->iterations.start;
	o.iteration_count = w->iterations.count;
	q->reading.records = true;
	q->reading.stacks = q->is_read ? FRAG_STACKS_ALL : FRAG_STACKS_TOP;
	rc = frag_taped_open(&w->taped, q->paths[0], &q->run, frag_usual_settings, &q->reading, err);
	return rc ? rc : frag_changed_open(&w->changed, w->taped.trace, &o, err);
}

/* The head of the unchanged trace, whose "meta" names the changes. */
static int begin_trace(struct what_if *w, struct frag_sink *sink, struct frag_error *err)
{
	const struct frag_trace *trace = w->taped.trace;
	struct frag_trace_info head = *frag_trace_info(trace);
	size_t room = 40;
	char *mark, *body, *p;
	int rc = frag_mark_head(&head, &mark, &trace, 1, false, FRAG_WARN_LOG(&w->q.run.quiet),
				err);

	frag_drop_beginning(&head, "the changes apply to its blocks too", &w->q.run.quiet);
	for (uint32_t i = 0; i < w->changes.count; i++)
		room += 6 * strlen(w->changes.texts[i]) + 4;
	body = malloc(room);
	if (!rc && !body)
		rc = frag_fail_nomem(err);
	if (!rc) {
		p = stpcpy(body, "\"changes\":[");
		for (uint32_t i = 0; i < w->changes.count; i++) {
			if (i)
				*p++ = ',';
			p = frag_put_json(p, w->changes.texts[i], strlen(w->changes.texts[i]));
		}
		memcpy(p, "]", 2);
		rc = frag_meta_begin(sink, &head, "what_if", body, err);
	}
	free(mark);
	free(body);
	return rc;
}

/* Reads the trace once: onto two tapes, if the answer is printed, and into the sink. */
static int what_if_read(struct frag_question *q, struct frag_sink *sink, struct frag_error *err)
{
	struct what_if *w = (struct what_if *)q;
	struct frag_tape_writer *tape = NULL;
	struct frag_batch batch;
	int rc = sink ? begin_trace(w, sink, err) : 0;

	if (!rc && q->is_read) {
		w->as_it_is = frag_tape_writer_new(w->taped.trace, 0);
		tape = frag_tape_writer_new(w->changed, 0);
		rc = w->as_it_is && tape ? 0 : frag_fail_nomem(err);
	}
	do {
		rc = rc ? rc : frag_trace_next(w->changed, &batch, err);
		if (!rc && tape)
			rc = frag_tape_write(tape, &batch, err);
		for (uint32_t i = 0; i < batch.count && sink && !rc; i++)
			rc = sink->ops->event(sink, &batch.records[i], &batch.events[i], err);
	} while (!rc && batch.count);
	if (!rc && tape) {
		w->taped.tape = frag_tape_finish(w->as_it_is);
		w->tape = frag_tape_finish(tape);
		rc = frag_growth_find(w->taped.trace, w->taped.tape, err);
	}
	frag_tape_writer_del(w->as_it_is);
	frag_tape_writer_del(tape);
	w->as_it_is = NULL;
	return rc;
}

/* Searches for the smallest device of the trace before and after the changes. */
static int what_if_search(struct frag_question *q, struct frag_error *err)
{
	struct what_if *w = (struct what_if *)q;

	/* the changed trace has no segments from before its first event: so all are requests */
	if (frag_tape_symbols(w->taped.tape)->initial_count) {
		w->plain = frag_tape_resized(w->taped.tape, NULL, NULL);
		if (!w->plain)
			return frag_fail_nomem(err);
	}
	for (uint32_t i = 0; i < 2; i++) {
		w->sources[i] = frag_taped_source(&w->taped, i ? w->tape : w->plain ? w->plain
								      : w->taped.tape);
		w->sources[i].scope = &frag_trace_info(w->taped.trace)->scope;
	}
	w->fits = (struct frag_fits){
		.sources = w->sources,
		.source_count = 2,
		.choice_count = w->taped.choice_count,
		.bounds.hurry = frag_time_is_short,
		.unlimited = true,
		.separate = true,
		.model = q->run.sim.model,
		.job = frag_question_job(q, frag_time_is_up),
	};
	return frag_fits_run(&w->fits, err);
}

/* Both traces on a device without a limit, the recorded one first, on the same axes. */
static int what_if_draw(struct what_if *w, struct frag_error *err)
{
	struct frag_loaded_trace trace = w->taped;
	int rc = 0;

	w->q.redraw.beside = true;
	for (int i = 0; i < 2 && !rc; i++) {
		trace.tape = i ? w->tape : w->plain ? w->plain : w->taped.tape;
		rc = frag_answer_page_draw(&w->q.redraw, &trace, 0, NULL, NULL, err);
	}
	return rc;
}

/* Conditions are about the changed trace, the second half of the fits. */
static void what_if_judge(struct frag_question *q)
{
	const struct frag_fits *fits = &((struct what_if *)q)->fits;
	char name[FRAG_FIT_NAME_ROOM];

	for (uint32_t i = 0; i < fits->count; i++) {
		const struct frag_fitted *one = &fits->fitted[i];
		const double values[] = {
			frag_bytes_or_none(one->fit.smallest),
			frag_bytes_or_none(one->fit.reliable),
			one->unlimited.fits ? frag_bytes_or_none(one->unlimited.peak_reserved)
					    : INFINITY,
		};
		const double least = frag_at_least_or_none(&one->claim);
		const double at_least[] = {
			least, least, frag_claim_is_exact(&one->claim) ? NAN : values[2],
		};

		if (i >= fits->count / 2)
			frag_question_judge(q, values, at_least, "%.60s", frag_fit_name(fits, one, name));
		/* a policy fits no device */
		if (one->fit.smallest == UINT64_MAX && one->fit.at_most == UINT64_MAX)
			*q->status = 1;
	}
}

/* Draws and prints the answer. */
static int what_if_print(struct frag_question *q, struct frag_error *err)
{
	struct what_if *w = (struct what_if *)q;
	const struct frag_what_if_answer answer = {
		.trace = frag_trace_info(w->taped.trace),
		.events = frag_trace_info(w->changed)->events,
		.changes = (const char *const *)w->changes.texts,
		.change_count = w->changes.count,
		.fits = &w->fits,
		.interrupted = q->interrupted,
		.time_up = q->time_up,
	};
	const bool drawn = q->redraw.path && (!q->interrupted || q->time_up);
	const int rc = drawn ? what_if_draw(w, err) : 0;

	return rc ? rc : frag_question_answer(q, &answer, err);
}

static const struct frag_question_ops question = {
	.unit = "fits",
	.check = what_if_check,
	.open = what_if_open,
	.read = what_if_read,
	.search = what_if_search,
	.print = what_if_print,
	.judge = what_if_judge,
};

static void what_if_fini(void *own)
{
	struct what_if *w = own;

	frag_fits_fini(&w->fits);
	frag_tape_del(w->plain);
	frag_tape_del(w->tape);
	frag_trace_close(w->changed);
	frag_taped_close(&w->taped, 1);
	for (uint32_t i = 0; i < w->changes.count; i++)
		free(w->changes.texts[i]);
	free(w->changes.texts);
	free(w->changes.list);
	frag_iterations_fini(&w->iterations);
}

const struct frag_cmd frag_cmd_what_if = {
	.name = "what-if",
	.group = FRAG_GROUP_SIZE,
	.args = "[options] TRACE CHANGE...",
	.summary = "predict memory after a change to the program",
	.opts = opts,
	.refusals = refusals,
	.needs = FRAG_NEEDS_TRACE | FRAG_NEEDS_ANSWER,
	.formats = frag_what_if_formats,
	.size = sizeof(struct what_if),
	.question = &question,
	.fini = what_if_fini,
};
