/* diff_traces.c - fragsim diff OLD NEW: why one recording, or a folder of ranks, reserves more. */
#include "cmd/diff_traces.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers/answers.h"
#include "base/atomic_file.h"

const char *const frag_change_paths[] = {
	"change.reserved", "change.version", "change.settings", "change.requested",
	"change.rounding", "change.fragmentation", "reserved.version", "reserved.settings",
	"reserved.requested", "reserved.rounding", "reserved.fragmentation", NULL,
};

/* Closes the two recordings and what was found of them. */
static void compared_fini(struct frag_changes *c)
{
	frag_change_fini(&c->found);
	c->found = (struct frag_change_found){ .old = { .trace = NULL } };
	frag_taped_close(c->q.taped, 2);
}

/* Reads both and compares them. */
static int compare_two(struct frag_changes *c, const char *const paths[2], struct frag_error *err)
{
	struct frag_change_side *sides[2] = { &c->found.old, &c->found.now };
	struct frag_taped_reading *reading = &c->q.reading;
	int rc;

	c->found.job.stop = frag_interrupted;
	c->found.log = (struct frag_log){ .warn = frag_warn, .ctx = &reading->quiet };
	/* tags are what is compared */
	reading->stacks = FRAG_STACKS_PYTHON;
	reading->growth = frag_question_has_document(&c->q);
	rc = frag_taped_read(c->q.taped, paths, 2, &c->q.run, frag_usual_recorded, reading, err);
	for (uint32_t i = 0; i < 2 && !rc; i++) {
		sides[i]->trace = frag_trace_info(c->q.taped[i].trace);
		sides[i]->tape = c->q.taped[i].tape;
		sides[i]->choice = &c->q.taped[i].choices[0];
		sides[i]->devices = c->q.taped[i].devices.figures;
	}
	if (!rc && sides[0]->trace->device_count != sides[1]->trace->device_count)
		frag_warn(&reading->quiet, "OLD and NEW have different numbers of devices: those of one"
			  " side only are not compared");
	return rc ? rc : frag_change_find(&c->found, err);
}

/* The file of a folder that belongs to file i of the other; folder->count: none does. */
static uint32_t counterpart(const struct frag_rank_folder *folder,
			    const struct frag_rank_folder *other, uint32_t i)
{
	const bool by_rank = folder->named && other->named;
	const char *name = frag_file_name(other->paths[i]);
	uint32_t k = 0;

	while (k < folder->count
	       && (by_rank ? folder->ranks[k] != other->ranks[i]
			   : strcmp(frag_file_name(folder->paths[k]), name) != 0))
		k++;
	return k;
}

/* The files of both folders that belong together: by rank where all names have one, or by name. */
static int pair_files(struct frag_changes *c, uint32_t *count, struct frag_error *err)
{
	const struct frag_rank_folder *old = &c->old, *now = &c->now;
	char warning[300];

	*count = 0;
	c->pairs = calloc(old->count, sizeof(*c->pairs));
	c->alone = calloc((size_t)old->count + now->count, sizeof(*c->alone));
	if (!c->pairs || !c->alone)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < old->count; i++) {
		const uint32_t k = counterpart(now, old, i);

		if (k < now->count)
			c->pairs[(*count)++] = (struct frag_change_pair){
				.rank = old->ranks[i], .old = old->paths[i], .now = now->paths[k],
			};
		else
			c->alone[c->only_old++] = old->paths[i];
	}
	for (uint32_t k = 0; k < now->count; k++)
		if (counterpart(old, now, k) == old->count)
			c->alone[c->only_old + c->only_new++] = now->paths[k];
	if (!*count)
		return frag_fail(err, FRAG_ETRACE, "%s: no rank or file name of it is in the other"
				 " folder", old->paths[0]);
	if (c->only_old || c->only_new) {
		snprintf(warning, sizeof(warning), "%u of %u files in OLD and %u of %u in NEW have no"
			 " counterpart and are omitted", c->only_old, old->count, c->only_new,
			 now->count);
		frag_warn(&c->q.run.quiet, warning);
	}
	return 0;
}

static void note_parts(struct frag_change_pair *pair, const struct frag_change_found *found)
{
	if (!found->old.trace || !found->now.trace)
		return;
	pair->old_part = frag_scope_part(&found->old.trace->scope) != FRAG_PART_WHOLE;
	pair->now_part = frag_scope_part(&found->now.trace->scope) != FRAG_PART_WHOLE;
}

/* Compares all pairs, one after the other, and answers for the one that became worst. */
static int compare_folders(struct frag_changes *c, struct frag_error *err)
{
	struct frag_change_pair *pairs;
	uint32_t count = 0, worst = 0;
	int rc = frag_rank_folder_read(&c->old, c->q.paths[0], FRAG_FOLDER_ALL, err);

	rc = rc ? rc : frag_rank_folder_read(&c->now, c->q.paths[1], FRAG_FOLDER_ALL, err);
	rc = rc ? rc : pair_files(c, &count, err);
	pairs = c->pairs;
	for (uint32_t i = 0; i < count && !rc; i++) {
		rc = compare_two(c, (const char *[]){ pairs[i].old, pairs[i].now }, err);
		pairs[i].reserved = c->found.reserved;
		pairs[i].alone = c->found.alone;
		pairs[i].ended = c->found.ended;
		note_parts(&pairs[i], &c->found);
		memcpy(pairs[i].highest, c->found.highest, sizeof(pairs[i].highest));
		compared_fini(c);
		if (pairs[i].reserved > pairs[worst].reserved)
			worst = i;
	}
	rc = rc ? rc : compare_two(c, (const char *[]){ pairs[worst].old, pairs[worst].now }, err);
	c->found.pairs = pairs;
	c->found.pair_count = count;
	return rc;
}

static int changes_open(struct frag_question *q, struct frag_error *err)
{
	q->taped = calloc(q->count, sizeof(*q->taped));
	if (!q->taped)
		return frag_fail_nomem(err);
	return frag_is_folder(q->paths[0]) == frag_is_folder(q->paths[1])
			       || access(q->paths[0], F_OK) || access(q->paths[1], F_OK)
		? 0 : frag_usage(q->cmd, "OLD and NEW must be two traces, or two folders", err);
}

static int changes_search(struct frag_question *q, struct frag_error *err)
{
	struct frag_changes *c = (struct frag_changes *)q;

	if (frag_is_folder(q->paths[0]) || frag_is_folder(q->paths[1]))
		return compare_folders(c, err);
	return compare_two(c, q->paths, err);
}

static int changes_draw(void *ctx, struct frag_redrawn *x, struct frag_error *err)
{
	(void)ctx;
	return frag_redrawn_run(x, x->taped->choices, x->taped->devices.figures, err);
}

static int changes_print(struct frag_question *q, struct frag_error *err)
{
	q->redraw.beside = true;
	return frag_question_answer(q, &((struct frag_changes *)q)->found, err);
}

/*
 * Conditions are about each pair, and each device of both. Each part has two names. Of recordings
 * that are parts of their programs the change is unknown; where NEW alone is one, no smaller.
 */
static void judge_change(struct frag_changes *c, const char *path, const struct frag_change_pair *pair)
{
	double values[2 * FRAG_PARTS + 1] = { (double)pair->highest[0] };
	double at_least[2 * FRAG_PARTS + 1] = { pair->old_part ? -INFINITY : values[0] };

	for (uint32_t i = 0; i < 2 * FRAG_PARTS; i++) {
		values[i + 1] = (double)pair->highest[1 + i % FRAG_PARTS];
		at_least[i + 1] = -INFINITY;
	}
	frag_question_judge(&c->q, values, pair->old_part || pair->now_part ? at_least : NULL, "%s",
			    path);
	if (c->missing || (!pair->ended && !pair->alone))
		return;
	frag_print_message("%s: cannot be judged: %s", path, pair->ended
			   ? "a run ended at an out-of-memory" : "a device is in one trace only");
	*c->q.status = 1;
}

/* Files without a counterpart are a no, too. */
static void changes_judge(struct frag_question *q)
{
	struct frag_changes *c = (struct frag_changes *)q;
	const struct frag_change_found *found = &c->found;
	struct frag_change_pair one = { .alone = found->alone, .ended = found->ended };

	if (!q->conditions.count)
		return;
	memcpy(one.highest, found->highest, sizeof(one.highest));
	note_parts(&one, found);
	for (uint32_t i = 0; i < found->pair_count; i++)
		judge_change(c, found->pairs[i].now, &found->pairs[i]);
	if (!found->pair_count)
		judge_change(c, found->now.trace->path, &one);
	for (uint32_t i = 0; i < c->only_old + c->only_new; i++) {
		const bool is_new = i >= c->only_old;

		if (is_new ? c->new_traces : c->missing)
			continue;
		frag_print_message("%s: cannot be judged: it has no counterpart in %s", c->alone[i],
				   is_new ? "OLD" : "NEW");
		*q->status = 1;
	}
}

const struct frag_question_ops frag_changes_ops = {
	.formats = frag_change_formats,
	.whole = true,
	.reads = true,
	.open = changes_open,
	.search = changes_search,
	.draw = changes_draw,
	.print = changes_print,
	.judge = changes_judge,
};
