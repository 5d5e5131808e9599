/* tune.c - fragsim tune: the settings of PyTorch's allocator that suit a trace. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "answers/tune_answer.h"
#include "cmd/frame.h"
#include "policy/evidence.h"
#include "cmd/progress.h"
#include "events/tape.h"
#include "iterations/iterations.h"
#include "policy/choice.h"
#include "policy/pytorch_settings.h"
#include "answers/answers.h"

#define USUAL_RELEASE 8         /* an unknown one is taken to accept the settings of 2.8 */

#define EXPANDABLE "expandable_segments:True"

struct tune {
	struct frag_question q;         /* the choices of its options become the candidates */
	const char *grid_name;
	double headroom;                /* per cent */
	bool exact, no_expandable;
	const char **paths;             /* the traces, and behind them the tests */
	uint32_t trace_count;
	struct frag_texts tests;
	char **texts;                   /* one a candidate: what one pastes */
	uint32_t *since;                /* one a candidate: 2.since is the first to accept it */
	struct frag_tape **changed;     /* one a trace: with a line of code more */
	struct frag_tune tune;
};

/* Of the recommended setting. */
static const char *const paths[] = { "smallest", "reliable", "calls", "retries", NULL };

static int set_grid(void *at, const struct frag_opt *o, const char *value, struct frag_error *err)
{
	struct tune *t = at;

	(void)o;
	(void)err;
	if (strcmp(value, "default") == 0)
		frag_option_note("--grid default is an old name: use --grid pytorch");
	t->grid_name = strcmp(value, "pytorch") == 0 ? "default" : value;
	return 0;
}

static const struct frag_opt opts[] = {
	{ 0, "headroom", "PERCENT", "of --device-bytes, that must not be needed (5%)",
	  FRAG_NUMBER(struct tune, headroom, 0, 100, "a percentage from 0% to 100% is required, as in"
						     " 5%"), .unit = "%", .usual = 5 },
	{ 0, "grid", "GRID", "settings to try: pytorch, short, or a file of lines (pytorch)",
	  .words = frag_grid_words, FRAG_CALL(set_grid) },
	{ 0, "no-expandable", NULL, "try no setting with expandable segments",
	  FRAG_FLAG(struct tune, no_expandable) },
	FRAG_POLICY_ROW("a policy to try too, NAME[:key=value,...]; repeatable"),
	{ 0, "exact", NULL, "try each setting on every smaller device too (slow)",
	  FRAG_FLAG(struct tune, exact) },
	{ 0, "test", "TRACE", "a trace to try the best on, not to tune on; repeatable",
	  FRAG_LIST(struct tune, tests) },
	FRAG_FAIL_IF_ROW("exit with 1 if it is true: 'smallest > 24GiB'; repeatable", paths),
	FRAG_PARTIAL_ROW,
	FRAG_SEARCH_ROWS,
	{ 0 },
};

static const struct frag_refusal refusals[] = {
	{ "allow-partial !fail-if", "=--allow-partial is for --fail-if" },
	{ "device=0", "--device-bytes 0 is no limit: without it the smallest device is searched for" },
	{ "headroom !device", "--headroom is for --device-bytes SIZE" },
	{ "exact device", "--exact is for the smallest device: without --device-bytes" },
	{ 0 },
};

static int name_candidates(struct tune *t, struct frag_error *err)
{
	const uint32_t count = t->q.run.choice_count;
	char conf[FRAG_CONF_ROOM];

	t->texts = calloc((size_t)count + 1, sizeof(*t->texts));
	t->tune.plain_expandable = UINT32_MAX;
	for (uint32_t i = 0; t->texts && i < count; i++) {
		frag_conf_text(&t->q.run.choices[i], conf, sizeof(conf));
		if (strcmp(conf, EXPANDABLE) == 0)
			t->tune.plain_expandable = i;
		t->texts[i] = strdup(t->q.run.choices[i].ops->settings ? conf
				     : t->q.run.choices[i].text);
		if (!t->texts[i])
			return frag_fail_nomem(err);
	}
	return t->texts ? 0 : frag_fail_nomem(err);
}

/* The tests are behind the operands. */
static int tune_check(struct frag_question *q, struct frag_error *err)
{
	struct tune *t = (struct tune *)q;

	t->trace_count = q->count;
	t->paths = calloc((size_t)q->count + t->tests.count, sizeof(*t->paths));
	if (!t->paths)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < q->count; i++)
		t->paths[i] = q->paths[i];
	for (uint32_t i = 0; i < t->tests.count; i++)
		t->paths[q->count + i] = t->tests.at[i];
	q->paths = t->paths;
	q->count += t->tests.count;
	return 0;
}

static int tune_choose(struct frag_question *q, struct frag_error *err)
{
	struct tune *t = (struct tune *)q;
	const int rc = frag_run_grid(&q->run, t->grid_name, err);

	q->grid = q->run.grid_is_file ? t->grid_name : NULL;
	return rc ? rc : name_candidates(t, err);
}

/* The first release from `from` on that accepts the settings. */
static uint32_t accepted_since(const char *settings, uint32_t from)
{
	struct frag_choice choice;
	struct frag_error unused;

	while (from < NEWEST_VERSION && (frag_choose_version(&choice, from, &unused)
					 || frag_choice_settings(&choice, settings, &unused)))
		from++;
	return from;
}

/* The oldest release that a trace may be of; *known: each trace names one release alone. */
static uint32_t oldest_release(const struct frag_question *q, bool *known)
{
	uint32_t oldest = NEWEST_VERSION;

	*known = true;
	for (uint32_t i = 0; i < q->count; i++) {
		const struct frag_release *r = &q->taped[i].release;
		const uint32_t least = r->minor ? r->least : USUAL_RELEASE;

		*known = *known && r->minor && r->least == r->most;
		oldest = least < oldest ? least : oldest;
	}
	return oldest;
}

/* Candidate i leaves the search, in which its place goes to the next one. */
static void drop_candidate(struct tune *t, uint32_t i)
{
	struct frag_question *q = &t->q;
	const uint32_t behind = --q->run.choice_count - i;
	uint32_t *plain = &t->tune.plain_expandable;

	free(t->texts[i]);
	memmove(t->texts + i, t->texts + i + 1, behind * sizeof(*t->texts));
	memmove(q->run.choices + i, q->run.choices + i + 1, behind * sizeof(*q->run.choices));
	for (uint32_t k = 0; k < q->count; k++)
		memmove(q->taped[k].choices + i, q->taped[k].choices + i + 1,
			behind * sizeof(*q->run.choices));
	q->run.grid_count -= i < q->run.grid_count;
	if (*plain != UINT32_MAX && *plain >= i)
		*plain = *plain == i ? UINT32_MAX : *plain - 1;
}

/* Without expandable segments, as IPC, memory pools of other allocators and NCCL may require. */
static void drop_expandable(struct tune *t)
{
	for (uint32_t i = t->q.run.choice_count; i-- > 0;)
		if (strstr(t->texts[i], EXPANDABLE))
			drop_candidate(t, i);
}

/*
 * Settings that the traces' release refuses leave a named grid, and are an error in a file. Where
 * the release is not known exactly, those that only newer releases accept are searched separately.
 */
static int sort_candidates(struct tune *t, struct frag_error *err)
{
	struct frag_question *q = &t->q;
	const bool named = !q->grid;
	const uint32_t count = q->run.choice_count;
	bool known;
	const uint32_t oldest = oldest_release(q, &known);

	t->since = calloc((size_t)count + 1, sizeof(*t->since));
	if (!t->since)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < q->run.grid_count;) {
		const uint32_t since = accepted_since(t->texts[i], oldest);

		if (named && !frag_device_has_settings(&q->taped[0].choices[i], t->texts[i])) {
			drop_candidate(t, i);
			continue;
		}
		if (known && since > oldest && !named)
			return frag_fail(err, FRAG_EUSAGE, "--grid %.300s: %.600s: PyTorch 2.%u,"
					 " which recorded the trace, refuses it; 2.%u is the first"
					 " that accepts it", t->grid_name, t->texts[i], oldest,
					 since);
		if (known && since > oldest)
			drop_candidate(t, i);
		else
			t->since[i++] = named && since > oldest ? since : 0;
	}
	return 0;
}

/*
 * The traces as if the program called torch.cuda.empty_cache() after each iteration. None where
 * one has no iterations, or begins with segments, which what-if does not show.
 */
static int change_traces(struct tune *t, struct frag_error *err)
{
	bool all = true;
	int rc = 0;

	t->changed = calloc(t->trace_count, sizeof(struct frag_tape *));
	if (!t->changed)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < t->trace_count && !rc && all; i++) {
		const struct frag_tape *tape = t->q.taped[i].tape;
		struct frag_iterations it;

		rc = frag_iterations_find(&it, tape, err);
		all = !rc && it.count && !frag_tape_symbols(tape)->initial_count;
		if (all)
			rc = frag_tape_emptied(&t->changed[i], tape, it.start, it.count, err);
		frag_iterations_fini(&it);
	}
	t->tune.changed = all ? t->changed : NULL;
	return rc;
}

/* Sorts the candidates by the release that accepts them, then searches for the best one. */
static int tune_search(struct frag_question *q, struct frag_error *err)
{
	struct tune *t = (struct tune *)q;
	struct frag_tune *tune = &t->tune;
	int rc;

	if (t->no_expandable)
		drop_expandable(t);
	rc = sort_candidates(t, err);
	rc = rc ? rc : change_traces(t, err);
	if (rc)
		return rc;
	tune->since = t->since;
	tune->sources = q->sources;
	tune->source_count = t->trace_count;
	tune->test_count = t->tests.count;
	tune->choice_count = q->run.choice_count;
	tune->texts = (const char *const *)t->texts;
	tune->total = q->run.total == UINT64_MAX ? 0 : q->run.total;
	tune->headroom = t->headroom / 100;
	tune->exact = t->exact;
	tune->model = q->run.sim.model;
	tune->job = frag_question_job(q, frag_time_is_up);
	return frag_tune_run(tune, err);
}

/* The best and what a program has anyway, on the device, or on the smallest that does. */
static int tune_draw(void *ctx, struct frag_redrawn *x, struct frag_error *err)
{
	const struct frag_tune *tune = &((struct tune *)ctx)->tune;
	const struct frag_loaded_trace *taped = x->taped;
	const uint32_t drawn[] = { tune->best.choice, 0 };
	struct frag_devices devices = { .count = 0 };
	int rc = frag_devices_copy(&devices, taped->devices.figures, taped->devices.count, err);

	for (uint32_t d = 0; !rc && d < devices.count; d++)
		if (!devices.figures[d].host)
			devices.figures[d].total = tune->total ? tune->total
						   : tune->best.smallest != UINT64_MAX
							   ? tune->best.smallest
							   : tune->reached;
	for (uint32_t i = drawn[0] == UINT32_MAX; i < 1 + (drawn[0] != 0) && !rc; i++)
		rc = frag_redrawn_run(x, &taped->choices[drawn[i]], devices.figures, err);
	frag_devices_fini(&devices);
	return rc;
}

/* No best candidate, and a test that ends in an OOM, are exit status 1. */
static int tune_print(struct frag_question *q, struct frag_error *err)
{
	struct tune *t = (struct tune *)q;
	char release[FRAG_RELEASE_ROOM];
	struct frag_tune_answer answer = {
		.traces = q->traces,
		.tune = &t->tune,
		.grid = t->grid_name,
		.release = frag_release_text(&q->taped[0].release, release),
		.interrupted = q->interrupted,
		.time_up = q->time_up,
	};
	const struct frag_point *point = &t->tune.simple;
	const double values[] = {
		frag_bytes_or_none(point->smallest), frag_bytes_or_none(point->reliable),
		point->at.fits ? (double)point->at.calls : INFINITY,
		point->at.fits ? (double)point->at.retries : INFINITY,
	};
	const double least = frag_at_least_or_none(&point->claim);
	const double at_least[] = { least, least, NAN, NAN };
	int rc;

	if (t->tune.best.choice == UINT32_MAX)
		*q->status = 1;
	for (uint32_t i = 0; i < t->tests.count && t->tune.total; i++)
		if (!t->tune.tests[i].fits)
			*q->status = 1;
	rc = frag_question_iterations(q, &answer.iterations, err);
	rc = rc ? rc : frag_question_answer(q, &answer, err);
	if (!rc && t->tune.best.choice != UINT32_MAX)
		frag_question_judge(q, values, at_least, "the recommended setting");
	return rc;
}

static const struct frag_question_ops question = {
	.unit = "settings",
	.check = tune_check,
	.choose = tune_choose,
	.search = tune_search,
	.draw = tune_draw,
	.print = tune_print,
};

static void tune_init(void *own)
{
	((struct tune *)own)->grid_name = "default";
}

static void tune_fini(void *own)
{
	struct tune *t = own;

	frag_tune_fini(&t->tune);
	for (uint32_t i = 0; t->changed && i < t->trace_count; i++)
		frag_tape_del(t->changed[i]);
	free(t->changed);
	for (uint32_t i = 0; t->texts && i < t->q.run.choice_count; i++)
		free(t->texts[i]);
	free(t->texts);
	free(t->since);
	free(t->paths);
	free(t->tests.at);
}

const struct frag_cmd frag_cmd_tune = {
	.name = "tune",
	.group = FRAG_GROUP_SIZE,
	.args = "[options] TRACE...",
	.summary = "find the best PyTorch allocator settings for a trace",
	.opts = opts,
	.refusals = refusals,
	.needs = FRAG_NEEDS_TRACES | FRAG_NEEDS_ANSWER,
	.formats = frag_tune_formats,
	.size = sizeof(struct tune),
	.init = tune_init,
	.question = &question,
	.fini = tune_fini,
};
