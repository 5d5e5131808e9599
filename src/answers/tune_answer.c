/* tune_answer.c - what fragsim tune found, in every form: for people, as rows, as a document. */
#include "answers/answers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/output_path.h"
#include "base/c_locale.h"
#include "base/escape.h"
#include "documents/document_head.h"
#include "answers/fit_answer.h"
#include "answers/text_style.h"
#include "answers/table.h"

#define FRAG_TUNE_ROWS 10
static uint32_t frag_tune_rows(const struct frag_tune *tune,
			       struct frag_point rows[FRAG_TUNE_ROWS]);

#define CODE_LINE "torch.cuda.empty_cache() after each iteration"
#define CUDA_ENV "PYTORCH_CUDA_ALLOC_CONF="      /* which every release reads */
#define NAME_MIN 8
#define FIGURES 58              /* columns after the name */
#define GAIN_ROOM (2 * FRAG_NUMBER_ROOM + 32)

/* What settings cost or rule out, and the release 2.N before which PyTorch refuses them: of a key
 * whatever its value, or of one setting with its value. */
static const struct cost {
	const char *setting, *words;
	uint32_t since;
} costs[] = {
	{ "expandable_segments:True",
	  "not on Windows; cudaIpcGetMemHandle takes no such memory, as custom"
	  " all-reduces in CUDA graphs require, NCCL may refuse to register it, and memory pools of"
	  " other allocators, as vLLM's sleep mode has, do not use it",
	  0 },
	{ "roundup_power2_divisions", "requests are rounded up; the values here include it", 0 },
	{ "max_split_size_mb",
	  "a larger block is never split, and serves large requests only: more"
	  " cudaMalloc and cudaFree, which wait for the GPU",
	  0 },
	{ "max_split_size_mb:20", NULL, 10 },
	{ "garbage_collection_threshold",
	  "cached segments are released before an OOM: more"
	  " cudaFree, which waits for the GPU",
	  0 },
	{ "large_segment_size_mb",
	  "larger segments: a program that needs less of one reserves more", 11 },
	{ "per_process_memory_fraction", "the program cannot use the remainder of the device",
	  10 },
};

#define COSTS (sizeof(costs) / sizeof(costs[0]))

/* Is it among the settings of the line? */
static bool has(const char *line, const char *setting)
{
	const size_t length = strlen(setting);

	for (; *line; line += strcspn(line, ","), line += *line == ',')
		if (strncmp(line, setting, length) == 0 && strchr(":,", line[length]))
			return true;
	return false;
}

/* Of its settings the one that only the latest releases take; NULL: all take it. */
static const struct cost *find_latest(const char *line)
{
	const struct cost *latest = NULL;

	for (const struct cost *c = costs; c < costs + COSTS; c++)
		if (c->since && has(line, c->setting) && (!latest || c->since > latest->since))
			latest = c;
	return latest;
}

static void print_costs(const char *line, const struct frag_text_style *paper, FILE *f)
{
	const struct cost *latest = find_latest(line);
	const char *label = "costs";

	for (const struct cost *c = costs; c < costs + COSTS; c++) {
		if (!c->words || !has(line, c->setting))
			continue;
		frag_put_row(paper->columns, label, f, "%.*s: %s", (int)strcspn(c->setting, ":"),
			      c->setting, c->words);
		label = "";
	}
	if (latest)
		frag_put_row(paper->columns, "since", f, "PyTorch 2.%" PRIu32 ": older releases"
			      " refuse %s", latest->since, latest->setting);
}

static const char *tune_name_of(const struct frag_tune *t, uint32_t choice)
{
	return *t->texts[choice] ? t->texts[choice] : "default";
}

static bool is_setting(const struct frag_tune *t, uint32_t choice)
{
	return t->sources[0].choices[choice].ops->settings != NULL;
}

/* "2692 MiB device", or on a device the driver calls. */
static void tune_gain_text(const struct frag_tune *t, const struct frag_point *p,
			   char out[GAIN_ROOM])
{
	if (t->total)
		snprintf(out, GAIN_ROOM, "%" PRIu64 " driver calls", p->at.calls);
	else if (p->smallest == UINT64_MAX)
		snprintf(out, GAIN_ROOM, "device of at most %s", CAPACITY(t->reached));
	else
		snprintf(out, GAIN_ROOM, "%s device", CAPACITY(p->smallest));
}

/* "; default settings: 2900 MiB device (+7.7 %)"; the defaults themselves have no such part. */
static void tune_default_text(const struct frag_tune *t, const struct frag_point *p,
			      char out[2 * GAIN_ROOM])
{
	const struct frag_point *usual = &t->points[0];
	const double before = (double)(t->total ? usual->at.calls : usual->smallest);
	const double after = (double)(t->total ? p->at.calls : p->smallest);
	char gain[GAIN_ROOM];

	*out = '\0';
	if (p->choice == 0 || !usual->tried)
		return;
	if (t->total && !usual->at.survives) {
		snprintf(out, 2 * GAIN_ROOM, "; default settings: OOM");
		return;
	}
	if ((!t->total && (usual->smallest == UINT64_MAX || p->smallest == UINT64_MAX)) || after <= 0)
		return;
	tune_gain_text(t, usual, gain);
	frag_snprintf(out, 2 * GAIN_ROOM, "; default settings: %s (%+.1f %%)", gain,
		      100 * (before / after - 1));
}

/* " on 16.00 GiB with 5 % headroom" */
static void tune_place_text(const struct frag_tune *t, char out[GAIN_ROOM])
{
	*out = '\0';
	if (t->total && (t->no_headroom || t->headroom == 0))
		snprintf(out, GAIN_ROOM, " on %s, no headroom", SIZE(t->total));
	else if (t->total)
		frag_snprintf(out, GAIN_ROOM, " on %s with %.3g %% headroom", SIZE(t->total),
			      100 * t->headroom);
}

/* Line 1: the advised setting and its gain over the default settings. */
static void print_verdict(const struct frag_tune_answer *a, const struct frag_point *p,
			  const struct frag_text_style *paper, FILE *f)
{
	const struct frag_tune *t = a->tune;
	char gain[GAIN_ROOM] = "", place[GAIN_ROOM], usual[2 * GAIN_ROOM] = "";
	char text[FRAG_PRINTABLE_ROOM + 8 * GAIN_ROOM], name[FRAG_PRINTABLE_ROOM];
	const char *word = "NOT FOUND", *plural = t->choice_count == 1 ? "" : "s";

	tune_place_text(t, place);
	if (p) {
		tune_gain_text(t, p, gain);
		tune_default_text(t, p, usual);
		word = p->choice			       ? "BEST SETTING"
		       : a->interrupted			       ? "NOTHING BETTER FOUND"
		       : frag_tune_code_is_better(t, &t->best) ? "NO SETTING HELPS"
							       : "NOTHING TO GAIN";
		frag_snprintf(text, sizeof(text), "%s: %s with %s%s%s", word, gain,
			      p->choice ? frag_printable(name, tune_name_of(t, p->choice))
					: "the default settings", place, usual);
	} else if (a->interrupted) {
		snprintf(text, sizeof(text), "%s: no setting is known to fit%s", word, place);
	} else {
		snprintf(text, sizeof(text), "NONE FITS: %" PRIu32 " setting%s simulated%s",
			 t->choice_count, plural, t->total ? place : ", OOM on each device");
	}
	frag_put_first_line(paper, p ? INK_BOLD : INK_RED, "", text, f);
}

static void print_tried(const struct frag_tune_answer *a, const struct frag_text_style *paper,
			FILE *f)
{
	const struct frag_tune *t = a->tune;

	frag_put_row(paper->columns, "tried", f, "%" PRIu32 " setting%s on %" PRIu32
		     " trace%s%s%s", t->choice_count, t->choice_count == 1 ? "" : "s",
		     t->source_count, t->source_count == 1 ? "" : "s",
		     *a->release ? " of PyTorch " : "", a->release);
	frag_put_evidence(paper->columns, t->sources[0].choices, "", f);
	if (t->no_headroom)
		frag_put_row(paper->columns, "note", f, "no setting fits with %.3g %% headroom",
			     100 * t->headroom);
	if (a->interrupted)
		frag_put_stopped(paper->columns, a->time_up, f);
}

/* As a shell takes it: quoted where it has anything but what names usually have. */
static void print_word(const char *word, FILE *f)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./:,=+@%-";

	if (*word && strspn(word, plain) == strlen(word))
		fputs(word, f);
	else
		fprintf(f, "'%s'", word);
}

static void print_size_option(const char *name, uint64_t bytes, uint64_t recorded, FILE *f)
{
	if (bytes != recorded)
		fprintf(f, " --%s %s", name, EXACT(bytes));
}

/*
 * The simulation that shows it, on the first trace; total 0: with the line of code. A path that
 * must be escaped to be shown cannot be pasted, standard input is over, and what a profile says no
 * option does.
 */
static void print_proof(const struct frag_tune_answer *a, const struct frag_point *p,
			uint64_t total, FILE *f)
{
	const struct frag_tune *t = a->tune;
	const struct frag_device_figures *now = t->sources[0].devices,
					 *then = a->traces[0]->devices;
	const char *path = a->traces[0]->path;
	char shown[FRAG_PRINTABLE_ROOM];

	if (t->model || strcmp(path, "-") == 0 || strchr(path, '\'')
	    || frag_printable(shown, path) != path || total == UINT64_MAX)
		return;
	fprintf(f, "  check     fragsim %s %s ",
		total ? "run" : "what-if --empty-cache every-iteration",
		is_setting(t, p->choice) ? "--alloc-conf" : "-p");
	print_word(t->texts[p->choice], f);
	if (total)
		fprintf(f, " --device-bytes %s", EXACT(total));
	print_size_option("context-bytes", now->context, then->context, f);
	print_size_option("other-bytes", now->other, then->other, f);
	print_size_option("granularity", now->granularity, then->granularity, f);
	putc(' ', f);
	print_word(path, f);
	putc('\n', f);
}

/* A line of code, where it is better than the settings whose best this point is. */
static void print_code(const struct frag_tune_answer *a, const struct frag_point *than,
		       const struct frag_text_style *paper, FILE *f)
{
	const struct frag_tune *t = a->tune;
	const struct frag_point *code = &t->code, *usual = &t->without_code;
	const bool fits = usual->smallest != UINT64_MAX, reliable = code->safe == code->smallest;
	char calls[FRAG_NUMBER_ROOM + 16] = "";

	if (!frag_tune_code_is_better(t, than))
		return;
	if (fits)
		snprintf(calls, sizeof(calls), " instead of %" PRIu64, usual->at.calls);
	frag_put_row(paper->columns, "code", f, CODE_LINE ": needs %s%s%s%s%s%s, %" PRIu64
		     " driver calls%s", CAPACITY(code->smallest), reliable ? "" : " (",
		     reliable ? "" : CAPACITY(code->safe), reliable ? "" : " reliably)",
		     fits ? " instead of " : "", fits ? CAPACITY(usual->smallest) : "",
		     code->at.calls, calls);
	print_proof(a, code, 0, f);
}

/* The line to copy is never broken, however narrow the terminal is. */
static void print_choice(const struct frag_tune_answer *a, const struct frag_point *p,
			 const struct frag_text_style *paper, FILE *f)
{
	const struct frag_tune *t = a->tune;
	const char *line = t->texts[p->choice];

	if (p->choice && is_setting(t, p->choice))
		fprintf(f, "  %-10s%s" CUDA_ENV "%s%s\n", "set",
			frag_color_code(paper->colour, INK_BOLD), line,
			frag_color_code(paper->colour, INK_PLAIN));
	if (!t->total && p->safe != p->smallest && p->safe != UINT64_MAX)
		frag_put_row(paper->columns, "reliable", f, "%s device: some between the two fail",
			     CAPACITY(p->safe));
	print_proof(a, p, t->total ? t->total : p->smallest, f);
	if (p->choice && is_setting(t, p->choice))
		print_costs(line, paper, f);
}

static void print_none(const struct frag_tune_answer *a, const struct frag_text_style *paper,
		       FILE *f)
{
	const struct frag_tune *t = a->tune;
	char path[FRAG_PRINTABLE_ROOM];

	for (uint32_t i = 0; i < t->place_count && i < t->tuned; i++)
		frag_put_row(paper->columns, i ? "" : "bound", f, "%s for %s: no allocator fits"
			      " below", CAPACITY(t->places[i].floor),
			      frag_printable(path, frag_input_name(a->traces[t->places[i].source]
									   ->path)));
}

/* "2692 MiB device, 1.4 % less", or on a device that was given "148 driver calls, ...". */
static void cost_text(const struct frag_tune *t, const struct frag_point *p,
		      char text[GAIN_ROOM])
{
	const double cost = (double)(t->total ? p->at.calls : p->smallest);
	const double advised = (double)(t->total ? t->simple.at.calls : t->simple.smallest);

	tune_gain_text(t, p, text);
	if (t->simple.choice != UINT32_MAX && cost < advised)
		frag_snprintf(text + strlen(text), GAIN_ROOM - strlen(text), ", %.1f %% less",
			      100 * (1 - cost / advised));
}

/* Where a simpler setting is advised than the best one, the best follows. */
static void print_small_gain(const struct frag_tune *t, const struct frag_text_style *paper,
			     FILE *f)
{
	char cost[GAIN_ROOM];

	if (t->simple.choice == t->best.choice || t->simple.choice == UINT32_MAX)
		return;
	cost_text(t, &t->best, cost);
	frag_put_row(paper->columns, "best", f, "%s: %s", tune_name_of(t, t->best.choice), cost);
}

/* Settings that only newer releases accept are never the advice. */
static void print_newer(const struct frag_tune *t, const struct frag_text_style *paper, FILE *f)
{
	char cost[GAIN_ROOM];

	if (t->newer.choice == UINT32_MAX || (!t->total && t->newer.smallest == UINT64_MAX))
		return;
	cost_text(t, &t->newer, cost);
	frag_put_row(paper->columns, "newer", f, "with PyTorch 2.%" PRIu32 " %s: %s",
		     t->since[t->newer.choice], tune_name_of(t, t->newer.choice), cost);
}

/* The best, and the setting for those who cannot have expandable segments. */
static void print_best(const struct frag_tune_answer *a, const struct frag_text_style *paper,
		       FILE *f)
{
	const struct frag_tune *t = a->tune;
	const struct frag_point *p = t->simple.choice == UINT32_MAX ? &t->best : &t->simple;
	char gain[GAIN_ROOM];

	if (t->best.choice == UINT32_MAX) {
		print_verdict(a, NULL, paper, f);
		if (!a->interrupted)
			print_none(a, paper, f);
		print_newer(t, paper, f);
		print_code(a, &t->best, paper, f);
		print_tried(a, paper, f);
		return;
	}
	print_verdict(a, p, paper, f);
	print_choice(a, p, paper, f);
	if (!a->interrupted) {
		print_small_gain(t, paper, f);
		print_newer(t, paper, f);
		print_code(a, &t->best, paper, f);
	}
	print_tried(a, paper, f);
	if (a->interrupted || t->without.choice == t->best.choice || t->simple.choice == 0)
		return;
	if (t->without.choice == UINT32_MAX) {
		frag_put_row(paper->columns, "or", f, "without expandable segments no setting fits%s",
			     t->total ? "" : " on any device");
	} else {
		tune_gain_text(t, &t->without, gain);
		frag_put_row(paper->columns, "or", f, "without expandable segments: %s%s", gain,
			     t->without.choice ? "" : " with the default settings");
		print_choice(a, &t->without, paper, f);
	}
	if (!frag_tune_code_is_better(t, &t->best))
		print_code(a, &t->without, paper, f);
}

/* With a given device, smaller ones are not searched for. */
static void tune_print_row(const struct frag_tune *t, const struct frag_point *p, int width,
			   const struct frag_text_style *paper, FILE *f)
{
	const bool good = p->at.survives;
	char room[FRAG_PRINTABLE_ROOM];
	const char *name = frag_printable(room, tune_name_of(t, p->choice));

	fprintf(f, "%s%-6s%s  ", good ? "" : frag_color_code(paper->colour, INK_RED),
		p->tried ? good ? "fits" : "OOM" : "-", frag_color_code(paper->colour, INK_PLAIN));
	if (strlen(name) > (size_t)width)
		fprintf(f, "%s\n%*s", name, width + 8, "");
	else
		fprintf(f, "%-*s", width, name);
	if (!t->total) {
		frag_put_capacity(p->smallest, f);
		frag_put_capacity(p->safe, f);
	}
	if (good)
		fprintf(f, "  %12" PRIu64 "  %7" PRIu64 "\n", p->at.calls, p->at.retries);
	else
		fprintf(f, "  %12s  %7s\n", "-", "-");
}

/* Facts that explain the table. */
static void print_remarks(const struct frag_tune *t, const struct frag_point *rows, uint32_t count,
			  const struct frag_text_style *paper, FILE *f)
{
	char smallest[FRAG_NUMBER_ROOM], safe[FRAG_NUMBER_ROOM];

	if (!t->total && t->best.choice != UINT32_MAX)
		frag_put_wrapped(paper->columns, "",
				 "result, driver calls and retries: on the smallest device that was"
				 " found; -: not searched",
				 f);
	for (uint32_t i = 0; i < count; i++)
		if (rows[i].smallest < t->best.smallest && rows[i].safe != UINT64_MAX)
			frag_put_row(paper->columns, "failing", f,
				     "%s fits on %s, but fails on larger ones; reliable from"
				     " %s on",
				     tune_name_of(t, rows[i].choice),
				     frag_capacity_text(smallest, rows[i].smallest),
				     frag_capacity_text(safe, rows[i].safe));
}

static void tune_print_table(const struct frag_tune *t, const struct frag_text_style *paper,
			     FILE *f)
{
	struct frag_point rows[FRAG_TUNE_ROWS];
	const uint32_t count = frag_tune_rows(t, rows);
	size_t longest = 0;
	int width;

	for (uint32_t i = 0; i < count; i++) {
		const size_t n = strlen(tune_name_of(t, rows[i].choice));

		longest = n > longest ? n : longest;
	}
	width = frag_name_column(longest, NAME_MIN, FIGURES, paper->columns);
	fprintf(f, "\nresult  %-*s%s  %12s  %7s\n", width, "setting",
		t->total ? "" : "     smallest     reliable", "driver calls", "retries");
	for (uint32_t i = 0; i < count; i++)
		tune_print_row(t, &rows[i], width, paper, f);
	print_remarks(t, rows, count, paper, f);
}

/* The result on traces that were not tuned on, next to their own best. */
static void print_tests(const struct frag_tune_answer *a, const struct frag_text_style *paper,
			FILE *f)
{
	const struct frag_tune *t = a->tune;
	char path[FRAG_PRINTABLE_ROOM], own[FRAG_NUMBER_ROOM];

	for (uint32_t i = 0; i < t->test_count && t->best.choice != UINT32_MAX; i++) {
		const struct frag_tune_test *test = &t->tests[i];
		const bool needs = test->smallest != UINT64_MAX;
		const bool has_own = test->own_smallest != UINT64_MAX;

		if (!test->tried)
			continue;
		if (!i)
			putc('\n', f);
		frag_put_row(
			paper->columns, "test", f, "%s %s%s%s%s%s%s%s",
			frag_printable(path, frag_input_name(a->traces[t->source_count + i]->path)),
			test->survives ? "fits" : "OOM", needs ? ", smallest device " : "",
			needs ? CAPACITY(test->smallest) : "", has_own ? "; its own best: " : "",
			has_own ? frag_capacity_text(own, test->own_smallest) : "",
			has_own ? ", with " : "", has_own ? tune_name_of(t, test->own) : "");
	}
}

static int tune_print(const void *what, const struct frag_text_style *paper, FILE *f,
		      struct frag_error *err)
{
	const struct frag_tune_answer *a = what;

	(void)err;
	print_best(a, paper, f);
	tune_print_table(a->tune, paper, f);
	print_tests(a, paper, f);
	return 0;
}

static const struct frag_format text_format = { .name = "text", .print = tune_print };

static void tune_add(const struct frag_point *p, struct frag_point *rows, uint32_t *count)
{
	if (p->choice == UINT32_MAX || *count == FRAG_TUNE_ROWS)
		return;
	for (uint32_t i = 0; i < *count; i++)
		if (rows[i].choice == p->choice)
			return;
	rows[(*count)++] = *p;
}

static uint32_t frag_tune_rows(const struct frag_tune *t, struct frag_point rows[FRAG_TUNE_ROWS])
{
	uint32_t count = 0;

	tune_add(&t->simple, rows, &count);
	tune_add(&t->best, rows, &count);
	tune_add(&t->without, rows, &count);
	tune_add(&t->points[0], rows, &count);
	if (t->plain_expandable != UINT32_MAX)
		tune_add(&t->points[t->plain_expandable], rows, &count);
	for (uint32_t i = 0; i < t->choice_count; i++)
		if (!t->since[i]
		    && (t->total ? t->points[i].qualifies : t->points[i].at.survives))
			tune_add(&t->points[i], rows, &count);
	return count;
}

static const struct frag_column columns[] = {
	{ "policy", NULL, FRAG_CELL_TEXT },
	{ "alloc_conf", NULL, FRAG_CELL_TEXT },
	{ "status", "status", FRAG_CELL_WORD },
	{ NULL, "setting", FRAG_CELL_TEXT },
	{ "oom_trace", NULL, FRAG_CELL_COUNT },
	{ "oom_step", NULL, FRAG_CELL_COUNT },
	{ NULL, "smallest", FRAG_CELL_CAPACITY },
	{ NULL, "reliable", FRAG_CELL_CAPACITY },
	{ "calls", "calls", FRAG_CELL_COUNT },
	{ "refused", NULL, FRAG_CELL_COUNT },
	{ "retries", "retries", FRAG_CELL_COUNT },
	{ "driver_ns", NULL, FRAG_CELL_COUNT },
	{ "smallest", NULL, FRAG_CELL_CAPACITY },
	{ "reliable", NULL, FRAG_CELL_CAPACITY },
	{ "code", NULL, FRAG_CELL_TEXT },
	{ 0 },
};

/* code: a line of the program, or NULL. */
static void tune_put_row(struct frag_table *t, const struct frag_tune *tune,
			 const struct frag_point *p, const char *code)
{
	const struct frag_choice *choice = &tune->sources[0].choices[p->choice];
	const char *text = tune->texts[p->choice];
	const bool oom = p->tried && !p->at.survives, there = t->csv ? p->tried : p->at.survives;

	frag_cell_text(t, choice->ops->name);
	frag_cell_text(t, choice->ops->settings ? text : NULL);
	frag_cell_text(t, frag_run_status_name(!p->tried ? FRAG_RUN_INTERRUPTED
					       : p->at.survives ? FRAG_RUN_OK : FRAG_RUN_OOM));
	frag_cell_text(t, code ? code : *text ? text : "default");
	frag_cell(t, oom, p->oom_trace);
	frag_cell(t, oom, p->at.oom_step);
	frag_cell_bytes(t, p->smallest);
	frag_cell_bytes(t, p->safe);
	frag_cell(t, there, p->at.calls);
	frag_cell(t, p->tried, p->at.refused);
	frag_cell(t, there, p->at.retries);
	frag_cell(t, p->tried && tune->model, p->at.driver_ns);
	frag_cell_bytes(t, p->smallest);
	frag_cell_bytes(t, p->safe);
	frag_cell_text(t, code);
}

/* For programs every point, in the order of the grid. */
static void tune_fill(struct frag_table *t, const void *what)
{
	const struct frag_tune *tune = ((const struct frag_tune_answer *)what)->tune;
	struct frag_point rows[FRAG_TUNE_ROWS];
	const uint32_t count = t->csv ? tune->choice_count : frag_tune_rows(tune, rows);

	for (uint32_t i = 0; i < count; i++)
		tune_put_row(t, tune, t->csv ? &tune->points[i] : &rows[i], NULL);
	if (t->csv ? tune->code.choice != UINT32_MAX : frag_tune_code_is_better(tune, &tune->without))
		tune_put_row(t, tune, &tune->code, CODE_LINE);
}

static const struct frag_table_rows rows = { columns, tune_fill };

const struct frag_format *const frag_tune_formats[] = {
	&text_format, FRAG_ANSWER_FORMS("tune", frag_tune_document, &rows),
};

#define NONE UINT64_MAX
#define ENV "PYTORCH_ALLOC_CONF="

/* What to set for a point; null where that is nothing. */
static void put_env(struct frag_node_ref in, const char *key, const struct frag_tune *t,
		    const char *name, const struct frag_point *p)
{
	const char *text;
	char *env;

	if (p->choice == UINT32_MAX || p->choice == 0
	    || !t->sources[0].choices[p->choice].ops->settings) {
		frag_json_null(in, key);
		return;
	}
	text = t->texts[p->choice];
	env = malloc(strlen(name) + strlen(text) + 1);
	if (env) {
		memcpy(env, name, strlen(name));
		memcpy(env + strlen(name), text, strlen(text) + 1);
	}
	frag_json_text(in, key, env);
	free(env);
}

static void put_bytes(struct frag_node_ref in, const char *key, uint64_t bytes)
{
	frag_json_u64_or_null(in, key, bytes != NONE, bytes);
}

/* null where there is none. */
static void put_point(struct frag_node_ref in, const char *key, const struct frag_tune *t,
		      const struct frag_point *p)
{
	const struct frag_attempt *at = &p->at;
	const struct frag_choice *choice;
	struct frag_node_ref o, oom;

	if (p->choice == UINT32_MAX) {
		frag_json_null(in, key);
		return;
	}
	choice = &t->sources[0].choices[p->choice];
	o = frag_json_object(in, key);
	frag_document_policy(o, choice);
	frag_json_text(o, "alloc_conf", choice->ops->settings ? t->texts[p->choice] : NULL);
	frag_json_text(o, "status", frag_run_status_name(!p->tried ? FRAG_RUN_INTERRUPTED
							 : at->survives ? FRAG_RUN_OK
							 : FRAG_RUN_OOM));
	if (at->survives || !p->tried) {
		frag_json_null(o, "oom");
	} else {
		oom = frag_json_object(o, "oom");
		frag_json_u64(oom, "trace", p->oom_trace);
		frag_json_u64(oom, "step", at->oom_step);
	}
	frag_json_u64(o, "calls", at->calls);
	frag_json_u64(o, "refused", at->refused);
	frag_json_u64(o, "retries", at->retries);
	frag_json_u64_or_null(o, "driver_ns", t->model != NULL, at->driver_ns);
	put_bytes(o, "smallest", p->smallest);
	put_bytes(o, "reliable", p->safe);
}

/* A line of code, with the first candidate, on its smallest device; and that candidate alone. */
static void put_code(struct frag_node_ref root, const struct frag_tune *t)
{
	struct frag_node_ref o;

	if (t->code.choice == UINT32_MAX) {
		frag_json_null(root, "code");
		return;
	}
	o = frag_json_object(root, "code");
	frag_json_text(o, "line", CODE_LINE);
	frag_json_bool(o, "better", frag_tune_code_is_better(t, &t->best));
	put_point(o, "with", t, &t->code);
	put_point(o, "without", t, &t->without_code);
}

static void put_test(struct frag_node_ref list, const struct frag_tune *t, uint32_t i,
		     const struct frag_trace_info *trace)
{
	const struct frag_tune_test *test = &t->tests[i];
	struct frag_node_ref o = frag_json_object(list, NULL), own;

	frag_document_trace(o, "trace", trace);
	frag_json_bool(o, "fits", test->survives);
	put_bytes(o, "smallest", test->smallest);
	if (test->own_smallest == NONE) {
		frag_json_null(o, "own_best");
		return;
	}
	own = frag_json_object(o, "own_best");
	frag_json_text(own, "alloc_conf", t->texts[test->own]);
	put_bytes(own, "smallest", test->own_smallest);
}

/* The members of the document, see fragsim-tune(1). */
void frag_tune_document(struct frag_node_ref root, const void *what)
{
	const struct frag_tune_answer *a = what;
	const struct frag_tune *t = a->tune;
	struct frag_node_ref list;

	frag_json_bool(root, "complete", !a->interrupted);
	list = frag_json_array(root, "traces");
	for (uint32_t i = 0; i < t->source_count; i++)
		frag_document_trace(list, NULL, a->traces[i]);
	list = frag_json_array(root, "tests");
	/* an interruption may have come before one was tried */
	for (uint32_t i = 0; i < t->test_count; i++)
		if (t->tests[i].tried || !a->interrupted)
			put_test(list, t, i, a->traces[t->source_count + i]);
	if (t->total)
		frag_document_device(root, &t->sources[0].devices[0], FRAG_NO_ORDINAL, t->total);
	else
		frag_json_null(root, "device");
	if (t->total)
		frag_json_fixed4(root, "headroom", t->no_headroom ? 0 : t->headroom);
	else
		frag_json_null(root, "headroom");
	frag_json_text(root, "grid", a->grid);
	frag_json_u64(root, "lower_bound", t->floor);
	frag_json_u64(root, "runs", t->runs);
	list = frag_json_array(root, "points");
	for (uint32_t i = 0; i < t->choice_count; i++)
		put_point(list, NULL, t, &t->points[i]);
	put_point(root, "best", t, &t->best);
	put_point(root, "best_without_expandable", t, &t->without);
	put_point(root, "default", t, &t->points[0]);
	put_env(root, "env", t, ENV, &t->best);
	put_point(root, "recommended", t, &t->simple);
	put_env(root, "recommended_env", t, CUDA_ENV, &t->simple);
	put_point(root, "best_newer", t, &t->newer);
	if (t->newer.choice == UINT32_MAX)
		frag_json_null(root, "newer_pytorch");
	else {
		char since[16];

		snprintf(since, sizeof(since), "2.%" PRIu32, t->since[t->newer.choice]);
		frag_json_text(root, "newer_pytorch", since);
	}
	frag_json_text(root, "pytorch", *a->release ? a->release : NULL);
	put_code(root, t);
	frag_document_evidence(root, t->sources[0].choices);
}
