/* leaks.c - fragsim leaks: lists the memory that each iteration leaves allocated, by tag. */
#include <stdlib.h>

#include "answers/answers.h"
#include "answers/leaks_answer.h"
#include "cmd/frame.h"
#include "device/usable.h"
#include "events/tape.h"
#include "iterations/rounds.h"
#include "search/fill.h"

struct leaks {
	struct frag_question q;
	const char *mark;
	struct frag_leaks found;
};

static const char *const paths[] = { "leak", "growth", NULL };

static const struct frag_opt opts[] = {
	{ 0, "mark", "NAME",
	  "an iteration begins at this mark, whatever its numbers (the most usual)",
	  FRAG_TEXT(struct leaks, mark) },
	FRAG_TOP_ROW("leaks of a device that are shown, or all (10; JSON: as 12 KiB hold)"),
	FRAG_FAIL_IF_ROW("exit with 1 if leak or growth is so large; repeatable", paths),
	FRAG_PARTIAL_ROW,
	FRAG_ANSWER_ROWS,
	{ 0 },
};

/* Loops are in whole stacks. */
static int leaks_check(struct frag_question *q, struct frag_error *err)
{
	(void)err;
	q->reading.stacks = FRAG_STACKS_ALL;
	q->reading.growth = false;
	q->reading.capacity = true;
	return 0;
}

static bool leaks_grow(const struct leaks *l)
{
	for (uint32_t d = 0; d < l->q.taped->devices.count; d++)
		if (l->found.devices[d].full_in != UINT64_MAX)
			return true;
	return false;
}

/* Iterations that repeat are simulated until a request fails; of others the division stays. */
static int leaks_fill(struct leaks *l, struct frag_error *err)
{
	struct frag_fill fill = {
		.tape = l->q.taped->tape, .choice = &l->q.taped->choices[0],
		.start = l->found.iterations.start, .count = l->found.iterations.count,
		.devices = l->q.taped->devices.figures, .job = frag_question_job(&l->q, frag_interrupted),
	};
	uint64_t *turns;
	int rc;

	if (!leaks_grow(l))
		return 0;
	fill.turn = turns = frag_rounds_turns(&l->found.iterations, fill.tape);
	rc = turns ? frag_fill_run(&fill, err) : frag_fail_nomem(err);

	for (uint32_t d = 0; d < l->q.taped->devices.count && fill.of && !rc; d++) {
		struct frag_leaking *k = &l->found.devices[d];
		const struct frag_fill_device *of = &fill.of[d];

		if (k->full_in == UINT64_MAX || of->bound == FRAG_FILL_UNKNOWN)
			continue;
		k->simulated = true;
		k->at_least = of->bound == FRAG_FILL_AT_LEAST;
		k->fails_in = of->iteration;
		k->full_in = of->iteration > fill.count ? of->iteration - fill.count : 0;
	}
	free(turns);
	free(fill.of);
	return rc;
}

/* What each device has for blocks. */
static int leaks_search(struct frag_question *q, struct frag_error *err)
{
	struct leaks *l = (struct leaks *)q;
	uint64_t *rooms = calloc(q->taped->devices.count + 1, sizeof(*rooms));
	int rc;

	if (!rooms)
		return frag_fail_nomem(err);
	for (uint32_t d = 0; d < q->taped->devices.count; d++) {
		const struct frag_device_figures *f = &q->taped->devices.figures[d];

		rooms[d] = frag_usable(f->total, f->context, f->other);
	}
	rc = frag_leaks_find(&l->found, q->taped->tape, l->mark, UINT64_MAX, rooms, err);
	free(rooms);
	rc = rc ? rc : leaks_fill(l, err);
	return rc ? rc : frag_leaks_store(&l->found, q->taped->trace, err);
}

/* Growth without a proven tag fails a condition on leaks, too. */
static void leaks_judge(struct frag_question *q)
{
	const struct leaks *l = (struct leaks *)q;

	for (uint32_t d = 0; d < q->taped->devices.count; d++) {
		const struct frag_leaking *k = &l->found.devices[d];
		const double values[] = {
			k->verdict == FRAG_LEAK_FOUND ? (double)k->leak : k->growth, k->growth,
		};

		frag_question_judge(q, values, NULL, "%s, device %u", q->paths[0], d);
	}
	if (l->found.verdict != FRAG_LEAK_UNKNOWN || !q->conditions.count || q->run.partial)
		return;
	frag_print_message("%s: --fail-if cannot be judged: whether memory grows is unknown;"
			   " record more iterations, or --allow-partial", q->paths[0]);
	*q->status = 1;
}

/* Prints the verdict and what rises; a page of a trace that grows is marked as bad. */
static int leaks_print(struct frag_question *q, struct frag_error *err)
{
	struct leaks *l = (struct leaks *)q;
	const struct frag_leaks_answer answer = {
		.leaks = &l->found, .top = frag_question_top(q, 10), .trace = q->traces[0],
		.devices = q->taped->devices.figures,
	};

	q->redraw.bad = l->found.verdict >= FRAG_LEAK_GROWS;
	return frag_question_answer(q, &answer, err);
}

/* The recorded policy, and where the iterations begin. */
static int leaks_draw(void *ctx, struct frag_redrawn *x, struct frag_error *err)
{
	struct leaks *l = ctx;

	x->leaks = l->found.iterations.count ? &l->found : NULL;
	return frag_redrawn_run(x, &x->taped->choices[0], x->taped->devices.figures, err);
}

static const struct frag_question_ops question = {
	.whole = true,
	.draw = leaks_draw,
	.usual = frag_usual_recorded,
	.check = leaks_check,
	.search = leaks_search,
	.print = leaks_print,
	.judge = leaks_judge,
};

static void leaks_fini(void *own)
{
	struct leaks *l = own;

	frag_leaks_fini(&l->found);
}

const struct frag_cmd frag_cmd_leaks = {
	.name = "leaks",
	.group = FRAG_GROUP_HOLDERS,
	.args = "[options] TRACE",
	.summary = "report memory that grows with each iteration",
	.opts = opts,
	.needs = FRAG_NEEDS_TRACE | FRAG_NEEDS_ANSWER,
	.formats = frag_leaks_formats,
	.size = sizeof(struct leaks),
	.question = &question,
	.fini = leaks_fini,
};
