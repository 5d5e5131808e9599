/* tune_answer.c - what fragsim tune found, in every form: for people, as rows, as a document. */
#include "answers/tune_answer.h"

#include "answers/answers.h"

#define TUNE_ROWS 10

#define CODE_ROOM 64

/* A line of code for the device of the traces. */
static const char *code_line(const struct frag_tune *t, char buf[CODE_ROOM])
{
	snprintf(buf, CODE_ROOM, "%s.empty_cache() after each iteration",
		 frag_device_words(t->sources[0].choices[0].accelerator)->module);
	return buf;
}
#define CODE_LINE(t) code_line((t), (char[CODE_ROOM]){ 0 })

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

static void print_costs(const char *line, const struct frag_text_style *to)
{
	const struct cost *latest = find_latest(line);
	const char *label = "costs";

	for (const struct cost *c = costs; c < costs + COSTS; c++) {
		if (!c->words || !has(line, c->setting))
			continue;
		frag_put_row(to, label, "%.*s: %s", (int)strcspn(c->setting, ":"), c->setting,
			     c->words);
		label = "";
	}
	if (latest)
		frag_put_row(to, "since", "PyTorch 2.%" PRIu32 ": older releases refuse %s",
			     latest->since, latest->setting);
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
static char *tune_gain_text(const struct frag_tune *t, const struct frag_point *p,
			    char out[GAIN_ROOM])
{
	if (t->total)
		snprintf(out, GAIN_ROOM, "%" PRIu64 " driver calls", p->at.calls);
	else if (!frag_claim_is_exact(&p->claim))
		snprintf(out, GAIN_ROOM, "device of at least %s", CAPACITY(p->claim.at_least));
	else if (p->smallest == UINT64_MAX)
		snprintf(out, GAIN_ROOM, "device of at most %s", CAPACITY(t->reached));
	else
		snprintf(out, GAIN_ROOM, "%s device", CAPACITY(p->smallest));
	return out;
}

/* "; default settings: 2900 MiB device (+7.7 %)"; the defaults themselves have no such part. */
static void tune_default_text(const struct frag_tune *t, const struct frag_point *p,
			      struct frag_words *w)
{
	const struct frag_point *usual = &t->points[0];
	const double before = (double)(t->total ? usual->at.calls : usual->smallest);
	const double after = (double)(t->total ? p->at.calls : p->smallest);
	char gain[GAIN_ROOM];

	if (p->choice == 0 || !usual->tried)
		return;
	if (t->total && !usual->at.fits)
		frag_add(w, "; default settings: OOM");
	else if (after > 0 && (t->total || (usual->smallest != UINT64_MAX
					    && p->smallest != UINT64_MAX)))
		frag_add(w, "; default settings: %s (%+.1f %%)", tune_gain_text(t, usual, gain),
			 100 * (before / after - 1));
}

/* Of the tuned recordings the one that proves least. */
static const struct frag_scope *tune_scope(const struct frag_tune *t)
{
	const struct frag_scope *scope = frag_source_scope(&t->sources[0]);

	for (uint32_t i = 1; i < t->source_count; i++)
		scope = frag_scope_less(scope, frag_source_scope(&t->sources[i]));
	return scope;
}

/* What the answer proves: the smallest of the settings whose devices were searched for. */
static struct frag_claim tune_claim(const struct frag_tune_answer *a)
{
	const struct frag_tune *t = a->tune;
	struct frag_claim claim = t->points[0].claim;

	for (uint32_t i = 1; i < t->choice_count; i++)
		if (t->points[i].smallest != UINT64_MAX)
			frag_claim_any(&claim, &t->points[i].claim);
	claim.part = frag_scope_part(tune_scope(t));
	return claim;
}

/* Line 1: the advised setting and its gain over the default settings. */
static void print_verdict(const struct frag_tune_answer *a, const struct frag_point *p,
			  const struct frag_text_style *to)
{
	const struct frag_tune *t = a->tune;
	char gain[GAIN_ROOM];
	struct frag_words w = WORDS(FRAG_PRINTABLE_ROOM + 8 * GAIN_ROOM);

	if (p)
		frag_add(&w, "%s: %s with %s",
			 p->choice ? "BEST SETTING" : a->interrupted ? "NOTHING BETTER FOUND"
			 : frag_tune_code_is_better(t, &t->best) ? "NO SETTING HELPS"
			 : "NOTHING TO GAIN", tune_gain_text(t, p, gain),
			 p->choice ? SHOWN(tune_name_of(t, p->choice)) : "the default settings");
	else if (a->interrupted)
		frag_add(&w, "NOT FOUND: no setting is known to fit");
	else
		frag_add(&w, "NONE FITS: %" PRIu32 " setting%s simulated%s", t->choice_count,
			 frag_s(t->choice_count), t->total ? "" : ", OOM on each device");
	if (t->total && (t->no_headroom || t->headroom == 0))
		frag_add(&w, " on %s, no headroom", SIZE(t->total));
	else if (t->total)
		frag_add(&w, " on %s with %.3g %% headroom", SIZE(t->total), 100 * t->headroom);
	if (p)
		tune_default_text(t, p, &w);
	if (p && p->smallest != UINT64_MAX)
		snprintf(gain, sizeof(gain), "%s", CAPACITY(p->smallest));
	frag_add_claim(&w, tune_scope(t), p && p->smallest != UINT64_MAX ? gain : NULL);
	frag_put_first_line(to, p ? INK_BOLD : INK_RED, "", "%s", w.text);
}

/* Settings whose simulation failed, with the reason of the first. */
static void put_skipped(const struct frag_tune *t, const struct frag_text_style *to)
{
	const char *first = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < t->choice_count; i++) {
		const char *why = frag_tune_why(t, i);

		first = first ? first : why;
		count += why != NULL;
	}
	if (count)
		frag_put_row(to, "skipped", "%" PRIu32 " of %" PRIu32 " settings: %s", count,
			     t->choice_count, first);
}

static void print_tried(const struct frag_tune_answer *a, const struct frag_text_style *to)
{
	const struct frag_tune *t = a->tune;

	frag_put_row(to, "tried", "%" PRIu32 " setting%s on %" PRIu32 " trace%s%s%s",
		     t->choice_count, frag_s(t->choice_count), t->source_count,
		     frag_s(t->source_count), *a->release ? " of PyTorch " : "", a->release);
	frag_put_context(to, t->total, t->sources[0].devices->context,
			 t->best.choice != UINT32_MAX);
	frag_put_evidence(to, t->sources[0].choices, "");
	put_skipped(t, to);
	if (t->no_headroom)
		frag_put_row(to, "note", "no setting fits with %.3g %% headroom",
			     100 * t->headroom);
	if (a->interrupted)
		frag_put_stopped(to, a->time_up);
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

	if (t->model || strcmp(path, "-") == 0 || strchr(path, '\'') || SHOWN(path) != path
	    || total == UINT64_MAX)
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
		       const struct frag_text_style *to)
{
	const struct frag_tune *t = a->tune;
	const struct frag_point *code = &t->code, *usual = &t->without_code;
	const bool fits = usual->smallest != UINT64_MAX,
		   reliable = code->reliable == code->smallest;
	char calls[FRAG_NUMBER_ROOM + 16] = "";

	if (!frag_tune_code_is_better(t, than))
		return;
	if (fits)
		snprintf(calls, sizeof(calls), " instead of %" PRIu64, usual->at.calls);
	frag_put_row(to, "code", "%s: needs %s%s%s%s%s%s, %" PRIu64 " driver calls%s", CODE_LINE(t),
		     CAPACITY(code->smallest), reliable ? "" : " (",
		     reliable ? "" : CAPACITY(code->reliable), reliable ? "" : " reliably)",
		     fits ? " instead of " : "", fits ? CAPACITY(usual->smallest) : "",
		     code->at.calls, calls);
	print_proof(a, code, 0, to->f);
}

/* The line to copy is never broken, however narrow the terminal is. */
static void print_choice(const struct frag_tune_answer *a, const struct frag_point *p,
			 const struct frag_text_style *to)
{
	const struct frag_tune *t = a->tune;
	const bool copied = p->choice && is_setting(t, p->choice);

	if (copied)
		frag_put_setting(to, &t->sources[0].choices[p->choice], t->texts[p->choice], "");
	if (!t->total && p->reliable != p->smallest && p->reliable != UINT64_MAX)
		frag_put_row(to, "reliable", "%s device: some between the two fail",
			     CAPACITY(p->reliable));
	print_proof(a, p, t->total ? t->total : p->smallest, to->f);
	if (copied)
		print_costs(t->texts[p->choice], to);
}

static void print_none(const struct frag_tune_answer *a, const struct frag_text_style *to)
{
	const struct frag_tune *t = a->tune;

	for (uint32_t i = 0; i < t->place_count && i < t->tuned; i++)
		frag_put_row(to, i ? "" : "bound", "%s for %s: no allocator fits below",
			     CAPACITY(t->places[i].lower_bound),
			     SHOWN(frag_input_name(a->traces[t->places[i].source]->path)));
}

/* "2692 MiB device, 1.4 % less", or on a device that was given "148 driver calls, ...". */
static void print_cost(const struct frag_tune *t, const char *label, const char *release,
		       const struct frag_point *p, const struct frag_text_style *to)
{
	const double cost = (double)(t->total ? p->at.calls : p->smallest);
	const double advised = (double)(t->total ? t->simple.at.calls : t->simple.smallest);
	char gain[GAIN_ROOM], less[64] = "";

	if (t->simple.choice != UINT32_MAX && cost < advised)
		frag_snprintf(less, sizeof(less), ", %.1f %% less", 100 * (1 - cost / advised));
	frag_put_row(to, label, "%s%s: %s%s", release, tune_name_of(t, p->choice),
		     tune_gain_text(t, p, gain), less);
}

/* Settings that only newer releases accept are never the advice. */
static void print_newer(const struct frag_tune *t, const struct frag_text_style *to)
{
	char release[40];

	if (t->newer.choice == UINT32_MAX || (!t->total && t->newer.smallest == UINT64_MAX))
		return;
	snprintf(release, sizeof(release), "with PyTorch 2.%" PRIu32 " ", t->since[t->newer.choice]);
	print_cost(t, "newer", release, &t->newer, to);
}

/* The best, and the setting for those who cannot have expandable segments. */
static void print_best(const struct frag_tune_answer *a, const struct frag_text_style *to)
{
	const struct frag_tune *t = a->tune;
	const struct frag_point *p = t->simple.choice == UINT32_MAX ? &t->best : &t->simple;
	const bool found = t->best.choice != UINT32_MAX;
	char gain[GAIN_ROOM];

	print_verdict(a, found ? p : NULL, to);
	if (found)
		print_choice(a, p, to);
	else if (!a->interrupted)
		print_none(a, to);
	/* where a simpler setting is advised than the best one, the best follows */
	if (found && !a->interrupted && p == &t->simple && p->choice != t->best.choice)
		print_cost(t, "best", "", &t->best, to);
	if (!found || !a->interrupted) {
		print_newer(t, to);
		print_code(a, &t->best, to);
	}
	print_tried(a, to);
	if (!found || a->interrupted || t->without.choice == t->best.choice
	    || t->simple.choice == 0)
		return;
	if (t->without.choice == UINT32_MAX) {
		frag_put_row(to, "or", "without expandable segments no setting fits%s",
			     t->total ? "" : " on any device");
	} else {
		frag_put_row(to, "or", "without expandable segments: %s%s",
			     tune_gain_text(t, &t->without, gain),
			     t->without.choice ? "" : " with the default settings");
		print_choice(a, &t->without, to);
	}
	if (!frag_tune_code_is_better(t, &t->best))
		print_code(a, &t->without, to);
}

static void tune_add(const struct frag_point *p, struct frag_point *rows, uint32_t *count)
{
	if (p->choice == UINT32_MAX || *count == TUNE_ROWS)
		return;
	for (uint32_t i = 0; i < *count; i++)
		if (rows[i].choice == p->choice)
			return;
	rows[(*count)++] = *p;
}

static uint32_t tune_rows(const struct frag_tune *t, struct frag_point rows[TUNE_ROWS])
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
		    && (t->total ? t->points[i].qualifies : t->points[i].at.fits))
			tune_add(&t->points[i], rows, &count);
	return count;
}

/* With a given device, smaller ones are not searched for. */
static void tune_print_row(const struct frag_tune *t, const struct frag_point *p, int width,
			   const struct frag_text_style *to)
{
	const bool good = p->at.fits;

	fprintf(to->f, "%s%-6s%s  ", good ? "" : frag_ink(to, INK_RED),
		p->tried ? good ? "fits" : p->at.broken ? "error" : "OOM" : "-", frag_ink(to, INK_PLAIN));
	frag_put_name(tune_name_of(t, p->choice), width, 8, to->f);
	if (!t->total) {
		frag_put_capacity(p->smallest, to->f);
		frag_put_capacity(p->reliable, to->f);
	}
	if (good)
		fprintf(to->f, "  %12" PRIu64 "  %7" PRIu64 "\n", p->at.calls, p->at.retries);
	else
		fprintf(to->f, "  %12s  %7s\n", "-", "-");
}

/* Facts that explain the table. */
static void print_remarks(const struct frag_tune *t, const struct frag_point *rows, uint32_t count,
			  const struct frag_text_style *to)
{
	if (!t->total && t->best.choice != UINT32_MAX)
		frag_put_wrapped(to, "", "result, driver calls and retries: on the smallest device"
				 " that was found; -: not searched");
	for (uint32_t i = 0; i < count; i++)
		if (rows[i].smallest < t->best.smallest && rows[i].reliable != UINT64_MAX)
			frag_put_row(to, "failing", "%s fits on %s, but fails on larger ones;"
				     " reliable from %s on", tune_name_of(t, rows[i].choice),
				     CAPACITY(rows[i].smallest), CAPACITY(rows[i].reliable));
}

static void tune_print_table(const struct frag_tune *t, const struct frag_text_style *to)
{
	struct frag_point rows[TUNE_ROWS];
	const uint32_t count = tune_rows(t, rows);
	size_t longest = 0;
	int width;

	for (uint32_t i = 0; i < count; i++)
		frag_note_longest(&longest, tune_name_of(t, rows[i].choice));
	width = frag_name_column(longest, NAME_MIN, FIGURES, to->columns);
	fprintf(to->f, "\nresult  %-*s%s  %12s  %7s\n", width, "setting",
		t->total ? "" : "     smallest     reliable", "driver calls", "retries");
	for (uint32_t i = 0; i < count; i++)
		tune_print_row(t, &rows[i], width, to);
	print_remarks(t, rows, count, to);
}

/* The result on traces that were not tuned on, next to their own best. */
static void print_tests(const struct frag_tune_answer *a, const struct frag_text_style *to)
{
	const struct frag_tune *t = a->tune;

	for (uint32_t i = 0; i < t->test_count && t->best.choice != UINT32_MAX; i++) {
		const struct frag_tune_test *test = &t->tests[i];
		const struct frag_trace_info *trace = a->traces[t->source_count + i];
		const bool part = frag_scope_part(&trace->scope) != FRAG_PART_WHOLE;
		const bool needs = test->smallest != UINT64_MAX;
		const bool has_own = test->own_smallest != UINT64_MAX;

		if (!test->tried)
			continue;
		if (!i)
			putc('\n', to->f);
		frag_put_row(to, "test", "%s %s%s%s%s%s%s%s",
			     SHOWN(frag_input_name(trace->path)),
			     !test->fits ? "OOM" : part ? "fits the recorded part" : "fits",
			     needs ? ", smallest device " : "",
			     needs ? CAPACITY(test->smallest) : "",
			     has_own ? "; its own best: " : "",
			     has_own ? CAPACITY(test->own_smallest) : "",
			     has_own ? ", with " : "", has_own ? tune_name_of(t, test->own) : "");
	}
}

static void tune_print(const void *what, const struct frag_text_style *to)
{
	const struct frag_tune_answer *a = what;

	print_best(a, to);
	frag_put_recorded(to, a->traces, a->iterations, a->tune->source_count);
	frag_put_growth(to, a->traces, a->tune->source_count);
	tune_print_table(a->tune, to);
	print_tests(a, to);
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

static const char *status_of(const struct frag_point *p)
{
	return frag_run_status_name(!p->tried ? FRAG_RUN_INTERRUPTED
				    : p->at.fits ? FRAG_RUN_OK
				    : p->at.broken ? FRAG_RUN_ERROR : FRAG_RUN_OOM);
}

/* code: a line of the program, or NULL. */
static void tune_put_row(struct frag_table *t, const struct frag_tune *tune,
			 const struct frag_point *p, const char *code)
{
	const struct frag_choice *choice = &tune->sources[0].choices[p->choice];
	const char *text = tune->texts[p->choice];
	const bool oom = p->tried && !p->at.fits && !p->at.broken, there = t->csv ? p->tried : p->at.fits;

	frag_cell_text(t, choice->ops->name);
	frag_cell_text(t, choice->ops->settings ? text : NULL);
	frag_cell_text(t, status_of(p));
	frag_cell_text(t, code ? code : *text ? text : "default");
	frag_cell(t, oom, p->oom_trace);
	frag_cell(t, oom, p->at.oom_step);
	frag_cell_bytes(t, p->smallest);
	frag_cell_bytes(t, p->reliable);
	frag_cell(t, there, p->at.calls);
	frag_cell(t, p->tried, p->at.refused);
	frag_cell(t, there, p->at.retries);
	frag_cell(t, p->tried && tune->model, p->at.driver_ns);
	frag_cell_bytes(t, p->smallest);
	frag_cell_bytes(t, p->reliable);
	frag_cell_text(t, code);
}

/* For programs every point, in the order of the grid. */
static void tune_fill(struct frag_table *t, const void *what)
{
	const struct frag_tune *tune = ((const struct frag_tune_answer *)what)->tune;
	struct frag_point rows[TUNE_ROWS];
	const uint32_t count = t->csv ? tune->choice_count : tune_rows(tune, rows);

	for (uint32_t i = 0; i < count; i++)
		tune_put_row(t, tune, t->csv ? &tune->points[i] : &rows[i], NULL);
	if (t->csv ? tune->code.choice != UINT32_MAX : frag_tune_code_is_better(tune, &tune->without))
		tune_put_row(t, tune, &tune->code, CODE_LINE(tune));
}

#define ENV "PYTORCH_ALLOC_CONF"        /* which not every release of torch_npu reads */

/* What to set for a point; null where that is nothing. */
static void put_env(struct frag_node_ref in, const char *key, const struct frag_tune *t,
		    const char *name, const struct frag_point *p)
{
	const bool set = p->choice != UINT32_MAX && p->choice && is_setting(t, p->choice);
	char env[FRAG_CONF_ROOM + 64];

	if (set)
		snprintf(env, sizeof(env), "%s=%s", name, t->texts[p->choice]);
	frag_json_text(in, key, set ? env : NULL);
}

/* null where there is none. */
static void put_point(struct frag_node_ref in, const char *key, const struct frag_tune *t,
		      const struct frag_point *p)
{
	static const struct frag_json_row oom_rows[] = {
		ROW_AS("trace", point, oom_trace), ROW_AS("step", point, at.oom_step), ROW_END,
	}, call_rows[] = {
		ROW_AS("calls", point, at.calls), ROW_AS("refused", point, at.refused),
		ROW_AS("retries", point, at.retries), ROW_END,
	}, device_rows[] = {
		ROW_MAX("smallest", point, smallest), ROW_MAX("reliable", point, reliable), ROW_END,
	};
	struct frag_node_ref o = frag_json_object_or_null(in, key, p->choice != UINT32_MAX);
	const struct frag_choice *choice;

	if (!o.node)
		return;
	choice = &t->sources[0].choices[p->choice];
	frag_document_policy(o, choice);
	frag_json_text(o, "alloc_conf", choice->ops->settings ? t->texts[p->choice] : NULL);
	frag_json_text(o, "status", status_of(p));
	frag_json_text(o, "why", p->choice < t->choice_count ? frag_tune_why(t, p->choice) : NULL);
	frag_json_of(o, "oom", oom_rows, p->at.fits || p->at.broken || !p->tried ? NULL : p);
	frag_json_rows(o, call_rows, p);
	frag_json_u64_or_null(o, "driver_ns", t->model != NULL, p->at.driver_ns);
	frag_json_rows(o, device_rows, p);
	frag_json_text(o, "bound", frag_bound_name(frag_scope_part(tune_scope(t))));
	/* of the others nothing is known but that they are worse than the best */
	frag_json_u64_or_null(o, "at_least", p->claim.at_least && p->claim.at_least != UINT64_MAX,
			      p->claim.at_least);
}

/* A line of code, with the first candidate, on its smallest device; and that candidate alone. */
static void put_code(struct frag_node_ref root, const struct frag_tune *t)
{
	struct frag_node_ref o = frag_json_object_or_null(root, "code", t->code.choice != UINT32_MAX);

	if (!o.node)
		return;
	frag_json_text(o, "line", CODE_LINE(t));
	frag_json_bool(o, "better", frag_tune_code_is_better(t, &t->best));
	put_point(o, "with", t, &t->code);
	put_point(o, "without", t, &t->without_code);
}

static void put_test(struct frag_node_ref list, const struct frag_tune *t, uint32_t i,
		     const struct frag_trace_info *trace)
{
	static const struct frag_json_row rows[] = {
		ROW_AS("fits", tune_test, fits), ROW_MAX("smallest", tune_test, smallest),
		ROW_END,
	};
	const struct frag_tune_test *test = &t->tests[i];
	struct frag_node_ref o = frag_json_object(list, NULL), own;

	frag_document_trace(o, "trace", trace);
	frag_json_rows(o, rows, test);
	own = frag_json_object_or_null(o, "own_best", test->own_smallest != UINT64_MAX);
	if (!own.node)
		return;
	frag_json_text(own, "alloc_conf", t->texts[test->own]);
	frag_json_u64(own, "smallest", test->own_smallest);
}

/* The members of the document, see fragsim-tune(1). */
static void tune_document(struct frag_node_ref root, const void *what)
{
	const struct frag_tune_answer *a = what;
	const struct frag_tune *t = a->tune;
	const struct frag_claim claim = tune_claim(a);
	const bool newer = t->newer.choice != UINT32_MAX;
	const bool npu = t->sources[0].choices[0].accelerator == FRAG_NPU;
	const char *variable = frag_device_words(t->sources[0].choices[0].accelerator)->variable;
	struct frag_node_ref list;
	char since[16];
	uint32_t shown;

	frag_json_bool(root, "complete", !a->interrupted);
	list = frag_json_array(root, "traces");
	for (uint32_t i = 0; i < t->source_count; i++)
		frag_document_trace(list, NULL, a->traces[i]);
	frag_document_scopes(root, a->traces, t->source_count);
	list = frag_json_array(root, "tests");
	/* an interruption may have come before one was tried */
	for (uint32_t i = 0; i < t->test_count; i++)
		if (t->tests[i].tried || !a->interrupted)
			put_test(list, t, i, a->traces[t->source_count + i]);
	if (t->total)
		frag_document_device(root, &t->sources[0].devices[0], FRAG_NO_ORDINAL, t->total);
	else
		frag_json_null(root, "device");
	frag_json_fixed4_or_null(root, "headroom", t->total, t->no_headroom ? 0 : t->headroom);
	frag_json_text(root, "grid", a->grid);
	frag_json_u64(root, "lower_bound", t->lower_bound);
	frag_document_claim(root, &claim);
	frag_json_u64(root, "runs", t->runs);
	list = frag_json_array(root, "points");
	shown = frag_json_shown(root, "points", t->choice_count);
	for (uint32_t i = 0; i < shown; i++)
		put_point(list, NULL, t, &t->points[i]);
	put_point(root, "best", t, &t->best);
	put_point(root, "best_without_expandable", t, &t->without);
	put_point(root, "default", t, &t->points[0]);
	put_env(root, "env", t, npu ? variable : ENV, &t->best);
	put_point(root, "recommended", t, &t->simple);
	put_env(root, "recommended_env", t, variable, &t->simple);
	put_point(root, "best_newer", t, &t->newer);
	snprintf(since, sizeof(since), "2.%" PRIu32, newer ? t->since[t->newer.choice] : 0);
	frag_json_text(root, "newer_pytorch", newer ? since : NULL);
	frag_json_text(root, "pytorch", *a->release ? a->release : NULL);
	put_code(root, t);
	frag_document_evidence(root, t->sources[0].choices);
}

const struct frag_format *const frag_tune_formats[] = {
	FRAG_TEXT_FORM("text", tune_print),
	FRAG_ANSWER_FORMS("tune", tune_document, columns, tune_fill),
};
