/* ranks.c - fragsim ranks: which ranks of a distributed job stand out, and in what? */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "answers/ranks_answer.h"
#include "base/array_grow.h"
#include "base/parallel.h"
#include "cmd/frame.h"
#include "ranks/rank_folder.h"
#include "answers/answers.h"

#define NOTE_ROOM 1000
#define WARNED_MAX 8            /* ranks whose warnings are shown */

struct ranks {
	struct frag_question q;
	bool all, named, missing;
	struct frag_gathered *warnings; /* one a file, as are the next */
	struct frag_trace_info *traces;
	char **changed_to;              /* of each: its own copy of log.changed_to */
	struct frag_choice *choices;
	uint64_t *numbers;
	struct frag_ranking ranking;
	struct frag_rank_folder *folders;       /* those among the operands */
	uint32_t folder_count;
	struct frag_texts paths;        /* of all operands, with the files of folders */
	char note[NOTE_ROOM];           /* of the folders, for the answer */
};

/* The values by their names, then these. */
static const char *const paths[] = {
	[FRAG_RANK_RESERVED] = "reserved", [FRAG_RANK_REQUESTED] = "requested",
	[FRAG_RANK_LOST] = "wasted", [FRAG_RANK_FIGURES] = "counts.ooms", "apart", "spread", NULL,
};

static const struct frag_opt opts[] = {
	FRAG_POLICY_ROW("placement policy, NAME[:key=value,...] (by each trace)"),
	FRAG_ALLOC_CONF_ROW("settings as in PYTORCH_ALLOC_CONF, of all ranks"),
	{ 0, "floor", "SIZE", "no difference below it stands out (1 % of the median)",
	  FRAG_SIZE(struct ranks, ranking.floor, 0), .usual = UINT64_MAX },
	FRAG_TOP_ROW("tags that are shown of a rank that stands out, or all (5; JSON: as 12 KiB hold)"),
	{ 0, "all", NULL, "show every rank, however many there are", FRAG_FLAG(struct ranks, all) },
	{ 0, "allow-missing", NULL, "--fail-if judges although a rank between two others is missing",
	  FRAG_FLAG(struct ranks, missing) },
	FRAG_FAIL_IF_ROW("exit with 1 if it is true: 'oom > 0'; repeatable", paths),
	FRAG_PARTIAL_ROW,
	FRAG_ANSWER_ROWS,
	FRAG_THREADS_ROW("concurrent ranks (0: one per processor)"),
	{ 0 },
};

static int work_on(struct frag_loaded_trace *t, struct ranks *r, uint32_t i,
		   struct frag_error *err)
{
	/* side by side with others: they are shown at the end, in the order of the ranks */
	const struct frag_log log = { .warn = frag_gather_warning, .ctx = &r->warnings[i] };
	/* the progress is that of all ranks */
	struct frag_taped_reading reading = {
		.log = &log, .capacity = true, .quiet = true, .part = true,
		.growth = frag_question_has_document(&r->q),
		.stacks = frag_question_has_document(&r->q) ? FRAG_STACKS_ALL : FRAG_STACKS_TOP,
	};
	struct frag_rank_work work = {
		.choice = &r->choices[i], .source = i, .job.stop = frag_interrupted,
	};
	int rc = frag_taped_read(t, &r->q.paths[i], 1, &r->q.run, frag_usual_policy, &reading, err);

	if (rc)
		return rc;
	r->choices[i] = t->choices[0];
	work.tape = t->tape;
	work.devices = t->devices.figures;
	rc = frag_ranking_add(&r->ranking, &work, err);
	r->traces[i] = *frag_trace_info(t->trace);
	/* what would go with the trace */
	r->traces[i].path = r->q.paths[i];
	r->traces[i].devices = NULL;
	if (!rc && r->traces[i].log.changed_to) {
		r->changed_to[i] = strdup(r->traces[i].log.changed_to);
		rc = r->changed_to[i] ? 0 : frag_fail_nomem(err);
	}
	r->traces[i].log.changed_to = r->changed_to[i];
	r->traces[i].growth = (struct frag_memory_growth){ .bytes = 0 };
	r->traces[i].meta = (struct frag_text){ .text = NULL };
	return rc;
}

/* Analyzes one rank; keeps only its values and its memory by tag. */
static int work(void *ctx, uint32_t i, struct frag_error *err)
{
	struct frag_loaded_trace t = { .trace = NULL };
	struct ranks *r = ctx;
	int rc;

	if (frag_interrupted(NULL))
		return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	rc = work_on(&t, r, i, err);
	frag_taped_close(&t, 1);
	return !rc && r->warnings[i].nomem ? frag_fail_nomem(err) : rc;
}

/* Prints the warnings of WARNED_MAX ranks: a thousand ranks can repeat one warning. */
static void report_warnings(struct ranks *r)
{
	uint32_t warned = 0;

	for (uint32_t i = 0; i < r->q.count; i++) {
		const char *line = r->warnings[i].lines;

		if (!line || warned++ >= WARNED_MAX)
			continue;
		for (const char *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
			if (!r->q.run.quiet)
				frag_print_message("warning: %.*s", (int)(end - line), line);
	}
	if (warned > WARNED_MAX && !r->q.run.quiet)
		frag_print_message(
			"warning: there are warnings of %u more ranks, as run has them of"
			" each",
			warned - WARNED_MAX);
}

static int ranks_search(struct frag_question *q, struct frag_error *err)
{
	struct ranks *r = (struct ranks *)q;
	const struct frag_job job = frag_question_job(q, frag_interrupted);
	const struct frag_tasks tasks = {
		.count = r->q.count, .job = &job, .what = "ranks", .task = work, .ctx = r,
	};
	int rc;

	rc = frag_tasks_run(&tasks, err);
	frag_progress_end(&q->progress);
	report_warnings(r);
	return rc ? rc : frag_ranking_compare(&r->ranking, r->numbers, err);
}

/* The first rank between two others that has no file; UINT64_MAX: none. */
static uint64_t missing_rank(const struct ranks *r)
{
	uint64_t least = UINT64_MAX, number;

	for (uint32_t i = 0; i < r->q.count; i++) {
		if (!r->named || !frag_rank_number(r->q.paths[i], &number))
			return UINT64_MAX;
		least = number < least ? number : least;
	}
	for (uint64_t next = least + 1, found = 1; found < r->q.count; next++, found++) {
		uint32_t i = 0;

		while (i < r->q.count && r->numbers[i] != next)
			i++;
		if (i == r->q.count)
			return next;
	}
	return UINT64_MAX;
}

/* A condition that holds is a no. */
static void ranks_judge(struct frag_question *q)
{
	const struct ranks *r = (struct ranks *)q;
	const struct frag_ranking *k = &r->ranking;
	double values[] = {
		[FRAG_RANK_FIGURES] = k->ooms, k->apart,
		(double)(k->most[FRAG_RANK_RESERVED] - k->least[FRAG_RANK_RESERVED]),
	};
	/* of parts of programs; what differs between them is unknown */
	double at_least[] = { [FRAG_RANK_LOST] = -INFINITY, k->ooms, -INFINITY, -INFINITY };
	uint64_t missing;
	bool part = false;

	for (int i = 0; i < FRAG_RANK_FIGURES; i++)
		values[i] = (double)frag_ranking_most(k, i);
	at_least[FRAG_RANK_RESERVED] = values[FRAG_RANK_RESERVED];
	at_least[FRAG_RANK_REQUESTED] = values[FRAG_RANK_REQUESTED];
	for (uint32_t i = 0; i < q->count; i++)
		part |= frag_scope_part(&r->traces[i].scope) != FRAG_PART_WHOLE;
	frag_question_judge(q, values, part ? at_least : NULL, "%u rank%s", q->count,
			    frag_s(q->count));
	missing = q->conditions.count && !r->missing ? missing_rank(r) : UINT64_MAX;
	if (missing == UINT64_MAX)
		return;
	frag_print_message("rank %" PRIu64 ": cannot be judged: its recording is missing", missing);
	*q->status = 1;
}

static int add_path(struct ranks *r, const char *path, struct frag_error *err)
{
	if (!FRAG_GROW(r->paths.at, r->paths.capacity, r->paths.count))
		return frag_fail_nomem(err);
	r->paths.at[r->paths.count++] = path;
	return 0;
}

/* The files of folders take the place of the folders, and the answer names what is read of them. */
static int expand_folders(struct ranks *r, struct frag_error *err)
{
	struct frag_words w = FRAG_WORDS(r->note);
	struct frag_question *q = &r->q;
	int rc = 0;

	r->folders = calloc(q->count, sizeof(*r->folders));
	if (!r->folders)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < q->count && !rc; i++) {
		struct frag_rank_folder *f = &r->folders[r->folder_count];

		if (!frag_is_folder(q->paths[i])) {
			rc = add_path(r, q->paths[i], err);
			continue;
		}
		r->folder_count++;
		rc = frag_rank_folder_read(f, q->paths[i], FRAG_FOLDER_LAST, err);
		if (rc)
			return rc;
		frag_add_item(&w, "; ", "%u file%s of %.200s%s%s", f->count, frag_s(f->count),
			      q->paths[i], *f->note ? ": " : "", f->note);
		for (uint32_t k = 0; k < f->count && !rc; k++)
			rc = add_path(r, f->paths[k], err);
	}
	q->paths = r->paths.at;
	q->count = r->paths.count;
	return rc || !r->folder_count ? rc : frag_question_check_files(q, err);
}

static int ranks_open(struct frag_question *q, struct frag_error *err)
{
	struct ranks *r = (struct ranks *)q;
	const int rc = expand_folders(r, err);

	if (rc)
		return rc;
	r->warnings = calloc(q->count, sizeof(*r->warnings));
	r->traces = calloc(q->count, sizeof(*r->traces));
	r->choices = calloc(q->count, sizeof(*r->choices));
	r->changed_to = calloc(q->count, sizeof(*r->changed_to));
	r->numbers = calloc(q->count, sizeof(*r->numbers));
	if (!frag_ranking_init(&r->ranking) || !r->warnings || !r->traces || !r->choices || !r->changed_to
	    || !r->numbers)
		return frag_fail_nomem(err);
	r->named = frag_rank_numbers(q->paths, q->count, r->numbers);
	return 0;
}

static int ranks_print(struct frag_question *q, struct frag_error *err)
{
	struct ranks *r = (struct ranks *)q;
	const struct frag_ranks_answer answer = {
		.traces = r->traces,
		.choices = r->choices,
		.source_count = q->count,
		.numbers = r->numbers,
		.ranking = &r->ranking,
		.named = r->named,
		.all = r->all,
		.top = frag_question_top(q, 5),
		.folders = r->note,
	};

	q->redraw.bad = r->ranking.ooms || r->ranking.apart;
	return frag_question_answer(q, &answer, err);
}

static const struct frag_question_ops question = {
	.unit = "ranks",
	.input = "a rank's trace",
	.whole = true,
	.reads = true,
	.one_policy = true,
	.open = ranks_open,
	.search = ranks_search,
	.print = ranks_print,
	.judge = ranks_judge,
};

static void ranks_fini(void *own)
{
	struct ranks *r = own;

	for (uint32_t i = 0; r->warnings && i < r->q.count; i++)
		free(r->warnings[i].lines);
	for (uint32_t i = 0; r->changed_to && i < r->q.count; i++)
		free(r->changed_to[i]);
	free(r->changed_to);
	for (uint32_t i = 0; i < r->folder_count; i++)
		frag_rank_folder_fini(&r->folders[i]);
	free(r->folders);
	free(r->paths.at);
	free(r->warnings);
	free(r->traces);
	free(r->choices);
	free(r->numbers);
	frag_ranking_fini(&r->ranking);
}

const struct frag_cmd frag_cmd_ranks = {
	.name = "ranks",
	.group = FRAG_GROUP_HOLDERS,
	.args = "[options] TRACE|FOLDER...",
	.summary = "find the ranks of a distributed job that differ",
	.opts = opts,
	.needs = FRAG_NEEDS_TRACES | FRAG_NEEDS_ANSWER,
	.formats = frag_ranks_formats,
	.operand = "TRACE, one per rank, or a folder of them",
	.size = sizeof(struct ranks),
	.question = &question,
	.fini = ranks_fini,
};
