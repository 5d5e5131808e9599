/* leaks.c - fragsim leaks: lists the memory that each iteration leaves allocated, by tag. */
#include <stdlib.h>

#include "answers/answers.h"
#include "answers/leaks_answer.h"
#include "cmd/frame.h"

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

/* Loops are in whole stacks; the policy does not matter. */
static int leaks_check(struct frag_question *q, struct frag_error *err)
{
	(void)err;
	q->reading.stacks = FRAG_STACKS_ALL;
	q->reading.growth = false;
	q->reading.capacity = true;
	return 0;
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

		if (f->total > f->context + f->other)
			rooms[d] = f->total - f->context - f->other;
	}
	rc = frag_leaks_find(&l->found, q->taped->tape, l->mark, UINT64_MAX, rooms, err);
	free(rooms);
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

static const struct frag_question_ops question = {
	.whole = true,
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
