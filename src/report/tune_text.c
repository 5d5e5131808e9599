/* tune_text.c - what fragsim tune found, for people: the line to paste, and what it costs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/print.h"
#include "base/printable.h"
#include "report/fit_words.h"
#include "report/ink.h"
#include "report/tune_formats.h"
#include "report/tune_rows.h"
#include "report/wrapped.h"

#define NAME_MIN 8
#define FIGURES 50              /* columns beside the name */
#define SINCE "PyTorch before 2.9: PYTORCH_CUDA_ALLOC_CONF"

/* What a setting costs, or what it rules out, by the beginning of its text. */
static const struct {
	const char *key, *words;
} costs[] = {
	{ "expandable_segments:True", "no tensors shared with other processes by CUDA IPC, and a driver"
	  " with virtual memory; some uses of NCCL and of CUDA graphs do without" },
	{ "roundup_power2_divisions", "each request is rounded up, so more is reserved than is asked"
	  " for" },
	{ "max_split_size_mb", "a cached block above that size serves large requests only, whole:"
	  " more calls of cudaMalloc and cudaFree, which wait for the GPU" },
	{ "garbage_collection_threshold", "segments go back before memory is short: more calls of"
	  " cudaFree, which wait for the GPU" },
	{ "large_segment_size_mb", "segments of that size: a small program reserves more" },
	{ "per_process_memory_fraction", "the rest of the device is out of reach for the program" },
	{ NULL, NULL },
};

static void print_costs(const char *text, const struct frag_paper *paper, FILE *f)
{
	char words[300];

	for (uint32_t i = 0; costs[i].key; i++) {
		if (!strstr(text, costs[i].key))
			continue;
		snprintf(words, sizeof(words), "%.*s: %s", (int)strcspn(costs[i].key, ":"),
			 costs[i].key, costs[i].words);
		frag_put_wrapped(paper->columns, "  costs   ", words, f);
	}
}

static void print_sources(const struct frag_tune_answer *a, const struct frag_paper *paper,
			  FILE *f)
{
	const struct frag_tune *t = a->tune;
	char path[FRAG_PRINTABLE_ROOM], size[FRAG_NUMBER_ROOM];

	fputs(frag_ink(paper->colour, INK_BOLD), f);
	for (uint32_t i = 0; i < t->source_count; i++)
		fprintf(f, "%s%s", i ? ", " : "",
			frag_printable(path, frag_input_name(a->traces[i]->path)));
	fputs(frag_ink(paper->colour, INK_PLAIN), f);
	if (t->total)
		frag_fprintf(f, ": %" PRIu32 " settings on a device of %s, with %.3g%% of it to"
			     " spare\n", t->choice_count, frag_capacity_text(size, t->total),
			     100 * t->headroom);
	else
		fprintf(f, ": the setting of %" PRIu32 " that needs the smallest device\n",
			t->choice_count);
}

/* "needs 2692MiB, default 2900MiB (-7.2%)", or on a device the calls. */
static void print_gain(const struct frag_tune *t, const struct frag_paper *paper, FILE *f)
{
	const struct frag_point *best = &t->best, *usual = &t->points[0];
	char a[FRAG_NUMBER_ROOM], b[FRAG_NUMBER_ROOM], text[300];

	if (t->total)
		snprintf(text, sizeof(text), "%" PRIu64 " calls of the driver on that device%s%s",
			 best->at.calls, usual->at.survives ? "" : ", where the defaults run out of"
			 " memory", t->no_headroom ? "; nothing survives with less: no room to spare"
						   : "");
	else if (best->smallest == UINT64_MAX)
		snprintf(text, sizeof(text), "at most %s", frag_capacity_text(a, t->reached));
	else if (usual->smallest == UINT64_MAX || !best->smallest)
		snprintf(text, sizeof(text), "%s", frag_capacity_text(a, best->smallest));
	else
		frag_snprintf(text, sizeof(text), "%s; the defaults %s (%+.1f%%)",
			      frag_capacity_text(a, best->smallest),
			      frag_capacity_text(b, usual->smallest),
			      100 * ((double)usual->smallest / (double)best->smallest - 1));
	frag_put_wrapped(paper->columns, "  needs   ", text, f);
}

static void print_best(const struct frag_tune_answer *a, const struct frag_paper *paper, FILE *f)
{
	const struct frag_tune *t = a->tune;
	char size[FRAG_NUMBER_ROOM];
	const char *text;

	if (t->best.choice == UINT32_MAX && a->interrupted)
		return;
	if (t->best.choice == UINT32_MAX) {
		fprintf(f, "%s  none%s    of them survives%s; so much is in use at once: %s\n",
			frag_ink(paper->colour, INK_RED), frag_ink(paper->colour, INK_PLAIN),
			t->total ? "" : " on any device", frag_capacity_text(size, t->floor));
		return;
	}
	text = t->texts[t->best.choice];
	if (t->best.choice == 0 && a->interrupted)
		fputs("  paste   nothing: no setting was better until then\n", f);
	else if (t->best.choice == 0)
		fprintf(f, "%s  paste%s   nothing: the defaults are as good as any\n",
			frag_ink(paper->colour, INK_GREEN), frag_ink(paper->colour, INK_PLAIN));
	else if (t->sources[0].choices[t->best.choice].ops->settings)
		fprintf(f, "%s  paste%s   PYTORCH_ALLOC_CONF=%s\n          (" SINCE "=...)\n",
			frag_ink(paper->colour, INK_GREEN), frag_ink(paper->colour, INK_PLAIN),
			text);
	else
		fprintf(f, "  best    policy %s\n", text);
	print_gain(t, paper, f);
	if (t->best.choice)
		print_costs(text, paper, f);
	if (a->interrupted)
		return;
	if (t->without.choice == UINT32_MAX)
		fputs("  without expandable segments none survives\n", f);
	else if (t->without.choice != t->best.choice)
		fprintf(f, "  without expandable segments: %s\n",
			*t->texts[t->without.choice] ? t->texts[t->without.choice]
						     : "the defaults");
}

static const char *name_of(const struct frag_tune *t, const struct frag_point *p)
{
	return *t->texts[p->choice] ? t->texts[p->choice] : "default";
}

static void print_row(const struct frag_tune *t, const struct frag_point *p, int width,
		      const struct frag_paper *paper, FILE *f)
{
	const bool good = p->at.survives;
	char size[FRAG_NUMBER_ROOM], room[FRAG_PRINTABLE_ROOM];
	const char *name = frag_printable(room, name_of(t, p));

	fprintf(f, "%s%-6s%s  ", good ? "" : frag_ink(paper->colour, INK_RED),
		p->tried ? good ? "fits" : "OOM" : "-", frag_ink(paper->colour, INK_PLAIN));
	if (strlen(name) > (size_t)width)
		fprintf(f, "%s\n%*s", name, width + 8, "");
	else
		fprintf(f, "%-*s", width, name);
	fprintf(f, "  %11s", p->smallest == UINT64_MAX ? "-"
				: frag_capacity_text(size, p->smallest));
	fprintf(f, "  %11s", p->safe == UINT64_MAX ? "-" : frag_capacity_text(size, p->safe));
	if (good)
		fprintf(f, "  %7" PRIu64 "  %7" PRIu64 "\n", p->at.calls, p->at.retries);
	else
		fprintf(f, "  %7s  %7s\n", "-", "-");
}

static void print_table(const struct frag_tune *t, const struct frag_paper *paper, FILE *f)
{
	struct frag_point rows[FRAG_TUNE_ROWS];
	const uint32_t count = frag_tune_rows(t, rows);
	size_t width = NAME_MIN;

	for (uint32_t i = 0; i < count; i++) {
		const size_t n = strlen(name_of(t, &rows[i]));

		width = n > width ? n : width;
	}
	if (paper->columns && width + FIGURES > (size_t)paper->columns)
		width = paper->columns > FIGURES + NAME_MIN ? (size_t)paper->columns - FIGURES
							    : NAME_MIN;
	fprintf(f, "\nstatus  %-*s  %11s  %11s  %7s  %7s\n", (int)width, "setting", "smallest",
		"safe", "calls", "retries");
	for (uint32_t i = 0; i < count; i++)
		print_row(t, &rows[i], (int)width, paper, f);
}

static void print_tests(const struct frag_tune_answer *a, const struct frag_paper *paper, FILE *f)
{
	const struct frag_tune *t = a->tune;
	char path[FRAG_PRINTABLE_ROOM], size[FRAG_NUMBER_ROOM], own[FRAG_NUMBER_ROOM];

	for (uint32_t i = 0; i < t->test_count && t->best.choice != UINT32_MAX; i++) {
		const struct frag_tune_test *test = &t->tests[i];
		const bool good = test->survives;

		if (!test->tried)
			continue;
		fprintf(f, "%s%s%s%s: %s", i ? "" : "\n",
			good ? "" : frag_ink(paper->colour, INK_RED),
			frag_printable(path, frag_input_name(a->traces[t->source_count + i]->path)),
			good ? "" : frag_ink(paper->colour, INK_PLAIN),
			good ? "survives" : "runs out of memory");
		if (test->smallest != UINT64_MAX)
			fprintf(f, ", needs %s", frag_capacity_text(size, test->smallest));
		if (test->own_smallest != UINT64_MAX)
			fprintf(f, "; its own best %s, with %s",
				frag_capacity_text(own, test->own_smallest),
				*t->texts[test->own] ? t->texts[test->own] : "the defaults");
		putc('\n', f);
	}
}

static int print(const void *what, const struct frag_paper *paper, FILE *f,
		 struct frag_error *err)
{
	const struct frag_tune_answer *a = what;

	(void)err;
	if (a->interrupted)
		fputs("interrupted: what is known until then\n\n", f);
	print_sources(a, paper, f);
	print_best(a, paper, f);
	print_table(a->tune, paper, f);
	print_tests(a, paper, f);
	putc('\n', f);
	if (a->tune->source_count == 1)
		frag_put_wrapped(paper->columns, "", "another run of the program may need more: tune on"
			  " several traces of it, try it on others (--test), leave 5 % of room", f);
	return 0;
}

const struct frag_format frag_tune_text = { .name = "text", .print = print };
