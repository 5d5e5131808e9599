/* figures.c - what came out, as a table and as JSON. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "crossing/bench/bench.h"

#define NAME_WIDTH 26

static double per_event(const struct bench_sample *s)
{
	return s->events ? (double)s->ns / (double)s->events : 0;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The sample at `percent` of all, by ns an event. */
static double rank(const struct bench_series *series, uint32_t percent)
{
	double sorted[BENCH_REPEATS_MAX] = { 0 };

	for (uint32_t i = 0; i < series->count; i++)
		sorted[i] = per_event(&series->samples[i]);
	qsort(sorted, series->count, sizeof(sorted[0]), ascending);
	return sorted[series->count * percent / 101];
}

double bench_min(const struct bench_series *series)
{
	return rank(series, 0);
}

static uint64_t max_memory(const struct bench_series *series)
{
	uint64_t max = 0;

	for (uint32_t i = 0; i < series->count; i++)
		if (series->samples[i].memory > max)
			max = series->samples[i].memory;
	return max;
}

static const struct bench_series *find(const struct bench_report *r, const struct bench_case *c,
				       enum bench_kind kind, const char *policy)
{
	for (uint32_t i = 0; i < r->measure_count; i++)
		if (r->measures[i].kind == kind
		    && (!policy || strcmp(r->measures[i].policies[0], policy) == 0))
			return &c->series[i];
	return &c->series[BENCH_MEASURES_MAX - 1];
}

static double bound_of(const struct bench_report *r, const struct bench_case *c)
{
	return bench_min(find(r, c, BENCH_BOUND, NULL));
}

/* What a row of --steps adds; 0 where it was not measured. */
static double row_cost(const struct bench_report *r, const struct bench_case *c)
{
	const struct bench_series *rows = find(r, c, BENCH_ROWS, NULL);

	return rows->count ? bench_min(rows)
			     - bench_min(find(r, c, BENCH_FEED, "bestfit")) : 0;
}

static void put_cell(FILE *f, double ns, double bound)
{
	if (ns > 0 && bound > 0)
		fprintf(f, "%8.1f%6.1fx", ns, ns / bound);
	else
		fprintf(f, "%15s", "-");
}

/* One line of the table, where at least one of these cases has it. */
static void put_line(const struct bench_report *r, const struct bench_case *c, uint32_t count,
		     uint32_t measure, FILE *f)
{
	uint32_t taken = 0;

	for (uint32_t i = 0; i < count; i++)
		taken += c[i].series[measure].count;
	if (!taken)
		return;
	fprintf(f, "%-*s", NAME_WIDTH, r->measures[measure].name);
	for (uint32_t i = 0; i < count; i++)
		put_cell(f, bench_min(&c[i].series[measure]), bound_of(r, &c[i]));
	fputc('\n', f);
	if (r->measures[measure].kind != BENCH_ROWS)
		return;
	fprintf(f, "%-*s", NAME_WIDTH, "  of that, a row");
	for (uint32_t i = 0; i < count; i++)
		put_cell(f, row_cost(r, &c[i]), bound_of(r, &c[i]));
	fputc('\n', f);
}

static void put_memory(const struct bench_report *r, const struct bench_case *c, uint32_t count,
		       enum bench_kind kind, const char *name, FILE *f)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < count; i++)
		any |= max_memory(find(r, &c[i], kind, NULL));
	if (!any)
		return;
	fprintf(f, "%-*s", NAME_WIDTH, name);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t memory = max_memory(find(r, &c[i], kind, NULL));

		if (memory)
			fprintf(f, "%11.1f MiB", (double)memory / 1048576);
		else
			fprintf(f, "%15s", "-");
	}
	fputc('\n', f);
}

/* Cases of about as many events stand side by side. */
static void put_block(const struct bench_report *r, const struct bench_case *c, uint32_t count,
		      FILE *f)
{
	fprintf(f, "\n%-*s", NAME_WIDTH, "ns an event, times bound");
	for (uint32_t i = 0; i < count; i++)
		fprintf(f, "%15s", c[i].plan.name);
	fprintf(f, "\n%-*s", NAME_WIDTH, "events, repetitions");
	for (uint32_t i = 0; i < count; i++)
		fprintf(f, "%9.0f M, %2u", (double)c[i].plan.spec.events / 1e6, c[i].plan.repeats);
	fprintf(f, "\n%-*s", NAME_WIDTH, "bytes an event, as lines");
	for (uint32_t i = 0; i < count; i++)
		fprintf(f, "%15.1f", (double)c[i].lines_bytes / (double)c[i].plan.spec.events);
	fputc('\n', f);
	for (uint32_t m = 0; m < r->measure_count; m++)
		put_line(r, c, count, m, f);
	put_memory(r, c, count, BENCH_LINES, "peak memory, lines", f);
	put_memory(r, c, count, BENCH_OBJECT, "peak memory, object", f);
}

void bench_table(const struct bench_report *r, FILE *f)
{
	uint32_t next;

	fprintf(f, "%s, %ld processors; %s\n", r->processor, r->processors, r->compiler);
	fputs("The least of all repetitions, of the processor's time; where threads are\n"
	      "compared, of the clock on the wall.\n", f);
	for (uint32_t i = 0; i < r->case_count; i = next) {
		for (next = i + 1; next < r->case_count; next++)
			if (r->cases[next].plan.spec.events > r->cases[i].plan.spec.events * 5)
				break;
		put_block(r, r->cases + i, next - i, f);
	}
	for (uint32_t i = 0; i < r->snapshot_count; i++)
		bench_snapshot_table(&r->snapshots[i], f);
	if (r->recorded_count)
		bench_recorded_table(r->recorded, r->recorded_count, f);
	if (r->sweep.traces)
		bench_sweep_table(&r->sweep, f);
	if (r->growth_count)
		bench_growth_table(r, f);
}

static void put_series(const struct bench_report *r, const struct bench_case *c, uint32_t i,
		       struct frag_node_ref in)
{
	const struct bench_series *series = &c->series[i];
	double bound = bound_of(r, c), min = bench_min(series);

	frag_json_text(in, "name", r->measures[i].name);
	frag_json_fixed4(in, "ns_least", min);
	frag_json_fixed4(in, "ns_median", rank(series, 50));
	if (bound > 0)
		frag_json_fixed4(in, "times_bound", min / bound);
	if (max_memory(series))
		frag_json_u64(in, "peak_memory_bytes", max_memory(series));
	if (r->measures[i].kind == BENCH_ROWS)
		frag_json_fixed4(in, "ns_row", row_cost(r, c));
}

static void put_case(const struct bench_report *r, const struct bench_case *c,
		     struct frag_node_ref in)
{
	struct frag_node_ref measures;

	frag_json_text(in, "name", c->plan.name);
	frag_json_u64(in, "events", c->plan.spec.events);
	frag_json_u64(in, "blocks", c->plan.spec.live);
	frag_json_u64(in, "lines_bytes", c->lines_bytes);
	frag_json_u64(in, "repetitions", c->plan.repeats);
	measures = frag_json_array(in, "measures");
	for (uint32_t i = 0; i < r->measure_count; i++)
		if (c->series[i].count)
			put_series(r, c, i, frag_json_object(measures, NULL));
}

int bench_json(const struct bench_report *r, const char *path, struct frag_error *err)
{
	struct frag_json doc;
	struct frag_node_ref root = frag_json_begin(&doc), cases;
	struct frag_outfile f;
	int rc;

	frag_json_text(root, "run", r->run);
	frag_json_text(root, "processor", r->processor);
	frag_json_i64(root, "processors", r->processors);
	frag_json_text(root, "compiler", r->compiler);
	cases = frag_json_array(root, "cases");
	for (uint32_t i = 0; i < r->case_count; i++)
		put_case(r, &r->cases[i], frag_json_object(cases, NULL));
	cases = frag_json_array(root, "snapshots");
	for (uint32_t i = 0; i < r->snapshot_count; i++)
		bench_snapshot_json(&r->snapshots[i], frag_json_object(cases, NULL));
	cases = frag_json_array(root, "recorded");
	for (uint32_t i = 0; i < r->recorded_count; i++)
		bench_recorded_json(&r->recorded[i], frag_json_object(cases, NULL));
	bench_sweep_json(&r->sweep, frag_json_object(root, "sweep"));
	bench_growth_json(r, frag_json_object(root, "growth"));
	rc = frag_outfile_open(&f, path, err);
	if (!rc) {
		rc = frag_json_write(&doc, &f, err);
		if (rc)
			frag_outfile_abandon(&f);
		else
			rc = frag_outfile_commit(&f, err);
	}
	frag_json_end(&doc);
	return rc;
}
