/* metrics_tables.c - the figures after the text report: every metric of every run. */
#include "report/metrics_tables.h"

#include <inttypes.h>
#include <string.h>

#include "base/format.h"
#include "base/c_locale.h"
#include "base/escape.h"
#include "base/wrap.h"
#include "metrics/fragmentation.h"
#include "report/color.h"
#include "report/layout.h"
#include "report/replay_timings_text.h"
#include "report/top_n.h"

#define RUNS_WITH_CHART 4
#define FIGURES 69              /* columns of a table after the name */

static const char *ink(const struct frag_report *r, enum frag_color_code which)
{
	return frag_color_code(r->colour, which);
}

static void put_name(const struct frag_report *r, const struct frag_result *run, int width, FILE *f)
{
	char name[FRAG_RUN_NAME_ROOM];

	frag_report_name(r, run, name);
	frag_print_name(name, width, f);
}

/* A peak; of a run that did not finish it is the least that it may be. */
static void print_peak(const struct frag_result *run, uint64_t bytes, int width, FILE *f)
{
	char text[FRAG_NUMBER_ROOM + 2];

	snprintf(text, sizeof(text), "%s%s", run->status == FRAG_RUN_OK ? "" : ">=",
		 SIZE(bytes));
	fprintf(f, "  %*s", width, text);
}

static void print_memory(const struct frag_report *r, int width, FILE *f)
{
	char end[FRAG_NUMBER_ROOM];

	fprintf(f, "\n%-*s  %12s  %12s  %13s  %8s  %12s\n", width, "policy", "requested",
		"peak alloc", "peak reserved", "over", "at the end");
	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_result *run = r->runs[i].result;
		const double over = run->lower_bound ? 100.0 * ((double)run->peak.reserved
				/ (double)run->lower_bound - 1) : 0;

		put_name(r, run, width, f);
		print_peak(run, run->peak.requested, 12, f);
		print_peak(run, run->peak.allocated, 12, f);
		print_peak(run, run->peak.reserved, 13, f);
		if (run->status == FRAG_RUN_OK)
			frag_fprintf(f, "  %+7.2f%%", over);
		else
			fprintf(f, "  %8s", "-");
		fprintf(f, "  %12s\n", frag_size_text(end, run->last.reserved));
	}
}

/* known: of a pool of the driver's it is not. */
static void print_percent(const struct frag_report *r, bool known, double value, FILE *f)
{
	if (!known) {
		fprintf(f, " %6s", "-");
		return;
	}
	if (value > FRAG_SEVERE_PCT)
		frag_fprintf(f, " %s%6.2f%s", ink(r, INK_YELLOW), value, ink(r, INK_PLAIN));
	else
		frag_fprintf(f, " %6.2f", value);
}

static void print_indices(const struct frag_report *r, int width, FILE *f)
{
	fprintf(f, "\n%-*s  %-27s   %-27s  %8s\n%-*s", width, "index, %", "fi_device", "fi",
		"severe", width, "");
	for (int i = 0; i < 2; i++)
		fprintf(f, "%s %6s %6s %6s %6s", i ? "  " : " ", "mean", "p95", "max", "end");
	fprintf(f, "  %8s\n", "steps");
	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_result *run = r->runs[i].result;
		const struct frag_distribution *both[] = { &run->fi_device, &run->fi };
		const bool known = !run->last.opaque;

		put_name(r, run, width, f);
		for (int k = 0; k < 2; k++) {
			fputs(k ? "  " : " ", f);
			print_percent(r, known, both[k]->mean, f);
			print_percent(r, known, both[k]->p95, f);
			print_percent(r, known, both[k]->max, f);
			print_percent(r, known, both[k]->last, f);
		}
		fprintf(f, "  %8" PRIu64 "\n", run->severe_steps);
	}
}

static void print_counts(const struct frag_report *r, int width, FILE *f)
{
	fprintf(f, "\n%-*s  %8s  %8s  %8s  %7s  %7s  %5s  %s\n", width, "segments",
		"obtained", "released", "at most", "hits", "retries", "OOMs", "status");
	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_result *run = r->runs[i].result;
		const struct frag_counts *c = &run->counts;
		bool bad = run->status != FRAG_RUN_OK;

		put_name(r, run, width, f);
		frag_fprintf(f, "  %8" PRIu64 "  %8" PRIu64 "  %8" PRIu64 "  %6.2f%%  %7" PRIu64
			     "  %5" PRIu64 "  %s%s%s\n", c->segment_allocs, c->segment_frees,
			     run->peak.segments,
			     c->allocs ? 100.0 * (double)c->hits / (double)c->allocs : 0.0,
			     c->retries, c->ooms, bad ? ink(r, INK_RED) : "",
			     frag_run_status_name(run->status), bad ? ink(r, INK_PLAIN) : "");
	}
}

static double mark_index(const void *list, uint32_t i)
{
	const struct frag_mark *marks = list;

	return marks[i].metrics.fi_device;
}

/*
 * Of many marks those with the highest fi_device, the highest first: that is where
 * one would look.
 */
static void print_marks(const struct frag_result *run, FILE *f)
{
	uint32_t worst[FRAG_WORST_MAX];
	uint32_t count = frag_top_indexes(worst, run->marks, run->mark_count, mark_index);
	char name[FRAG_SHORT_NAME];

	if (!count)
		return;
	fprintf(f, "  %10s  %9s  %6s  %11s  %11s  %s\n", "step", "fi_device", "fi", "reserved",
		"allocated", "mark");
	for (uint32_t i = 0; i < count; i++) {
		const struct frag_mark *mark = &run->marks[worst[i]];
		const struct frag_metrics *m = &mark->metrics;

		if (m->opaque)
			fprintf(f, "  %10" PRIu64 "  %9s  %6s", mark->step, "-", "-");
		else
			frag_fprintf(f, "  %10" PRIu64 "  %9.2f  %6.2f", mark->step, m->fi_device,
				     m->fi);
		fprintf(f, "  %11s  %11s  %s\n", SIZE(m->reserved),
			SIZE(m->allocated), frag_short_name(mark->name, name));
	}
	if (run->mark_count > count && run->last.opaque)
		fprintf(f, "  the first of %u marks\n", run->mark_count);
	else if (run->mark_count > count)
		fprintf(f, "  these have the highest fi_device of %u marks\n", run->mark_count);
}

/*
 * A section of its own has only a run with something to show; with many policies
 * charts and marks would bury the tables.
 */
static void print_timeline(const struct frag_report *r, const struct frag_report_run *run, FILE *f)
{
	const struct frag_result *result = run->result;
	const bool chart = run->chart && run->chart->count;
	char name[FRAG_RUN_NAME_ROOM];

	if (r->run_count > RUNS_WITH_CHART || (!chart && !result->mark_count))
		return;
	frag_report_name(r, result, name);
	fprintf(f, "\n%s%s%s over its %" PRIu64 " step%s\n", ink(r, INK_BOLD), name,
		ink(r, INK_PLAIN), result->steps, frag_s(result->steps));
	if (chart)
		frag_chart_print(run->chart, r->columns, f);
	print_marks(result, f);
}

void frag_report_tables(const struct frag_report *r, FILE *f)
{
	const int width = frag_name_width(r, strlen("index, %"), FIGURES);

	print_memory(r, width, f);
	print_indices(r, width, f);
	print_counts(r, width, f);
	for (uint32_t i = 0; i < r->run_count; i++)
		print_timeline(r, &r->runs[i], f);
}
