/* as_text.c - the text report: the trace, the results, and the details of a run. */
#include "answers/report.h"

#include <inttypes.h>
#include <string.h>

#include "metrics/driver_latency.h"
#include "metrics/fragmentation.h"
#include "policy/choice.h"
#include "base/bug.h"

/*
 * A chart: a run over its steps in a few lines of plain characters. It has a fixed number of
 * buckets, however long the trace is.
 */
#define COLUMNS 64
#define COLUMNS_MIN 16
#define LABEL 16        /* columns that precede the picture */
#define ROWS 8

static void chart_cover(struct frag_chart_stretch *to, const struct frag_chart_stretch *with)
{
	to->reserved = frag_max(to->reserved, with->reserved);
	to->allocated = frag_max(to->allocated, with->allocated);
	if (with->fi_device > to->fi_device)
		to->fi_device = with->fi_device;
}

/*
 * When the buckets run out, adjacent ones are merged and the width doubles, so the
 * chart of any trace costs the same.
 */
int frag_chart_observe(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	struct frag_chart *charts = ctx;
	struct frag_chart *c = &charts[step->device];
	const struct frag_chart_stretch now = {
		.reserved = step->metrics->reserved, .allocated = step->metrics->allocated,
		.fi_device = step->metrics->fi_device,
	};

	FRAG_ASSERT(c->count <= FRAG_CHART_MAX);
	(void)err;
	c->opaque = step->metrics->opaque;
	if (c->width == 0)
		c->width = 1;
	if (c->count == 0 || c->in_last == c->width) {
		if (c->count == FRAG_CHART_MAX) {
			for (uint32_t i = 0; i < FRAG_CHART_MAX / 2; i++) {
				c->stretch[i] = c->stretch[2 * i];
				chart_cover(&c->stretch[i], &c->stretch[2 * i + 1]);
			}
			c->count = FRAG_CHART_MAX / 2;
			c->width *= 2;
		}
		c->stretch[c->count++] = (struct frag_chart_stretch){ .reserved = 0 };
		c->in_last = 0;
	}
	c->in_last++;
	chart_cover(&c->stretch[c->count - 1], &now);
	return 0;
}

/* The buckets under one column of the picture. */
static struct frag_chart_stretch column(const struct frag_chart *c, uint32_t columns, uint32_t x)
{
	uint32_t from = (uint32_t)((uint64_t)x * c->count / columns);
	uint32_t to = (uint32_t)((uint64_t)(x + 1) * c->count / columns);
	struct frag_chart_stretch s = c->stretch[from];

	for (uint32_t i = from + 1; i < to; i++)
		chart_cover(&s, &c->stretch[i]);
	return s;
}

/* At most twice the usual width: any long run has that many buckets. */
static uint32_t fitting(const struct frag_chart *c, int columns)
{
	int room = columns ? columns - LABEL : COLUMNS;

	if (room < COLUMNS_MIN)
		room = COLUMNS_MIN;
	if (room > 2 * COLUMNS)
		room = 2 * COLUMNS;
	return c->count < (uint32_t)room ? c->count : (uint32_t)room;
}

/*
 * From the top row down. The character says the higher of two facts that are
 * nested: allocated never exceeds reserved.
 */
static void print_chart(const struct frag_chart *c, int terminal, FILE *f)
{
	uint32_t columns = fitting(c, terminal);
	uint64_t peak = 0;

	if (!c->count)
		return;
	for (uint32_t i = 0; i < c->count; i++)
		peak = frag_max(peak, c->stretch[i].reserved);
	if (!peak) {
		fprintf(f, "  nothing was ever reserved\n");
		return;
	}
	for (uint32_t row = ROWS; row > 0; row--) {
		/* a cell is filled where the value reaches its middle */
		double level = (double)peak * ((double)row - 0.5) / ROWS;

		fprintf(f, "  %12s |", row == ROWS ? SIZE(peak) : "");
		for (uint32_t x = 0; x < columns; x++) {
			struct frag_chart_stretch s = column(c, columns, x);

			fputc((double)s.allocated >= level ? '#'
			      : (double)s.reserved >= level ? ':' : ' ', f);
		}
		fputc('\n', f);
	}
	fprintf(f, "  %12s +", "0");
	for (uint32_t x = 0; x < columns; x++)
		fputc('-', f);
	if (!c->opaque)
		fprintf(f, "\n  %12s  ", "fi_device/10");
	for (uint32_t x = 0; x < columns && !c->opaque; x++) {
		int tenth = (int)(column(c, columns, x).fi_device / 10);

		fputc('0' + (tenth > 9 ? 9 : tenth), f);
	}
	fprintf(f, "\n  %12s  # allocated, : reserved, the highest of each range of events\n", "");
}

#define RULE_WIDTH 75

static void print_rule(char c, FILE *f)
{
	putc('|', f);
	for (int i = 0; i < RULE_WIDTH; i++)
		putc(c, f);
	fputs("|\n", f);
}

/*
 * Divides n by step as often as brings `scale`, the value of all pools, below three
 * quarters of step squared, so that a column has one unit. How often: the unit.
 */
static int divide(int64_t *n, int64_t scale, int64_t step, int max)
{
	const double bound = 0.75 * (double)(step * step);
	double rest = (double)scale;
	int unit = 0;

	for (; unit < max && rest >= bound; unit++) {
		*n /= step;
		rest /= (double)step;
	}
	return unit;
}

static void print_bytes(int64_t n, int64_t scale, FILE *f)
{
	static const char *const units[] = { "B  ", "KiB", "MiB", "GiB", "TiB", "PiB" };
	const int unit = divide(&n, scale, 1024, 5);

	fprintf(f, " | %6" PRId64 " %s", n, units[unit]);
}

static void print_count(int64_t n, int64_t scale, FILE *f)
{
	static const char units[] = " KM";
	const int unit = divide(&n, scale, 1000, 2);

	fprintf(f, " | %7" PRId64 " %c ", n, units[unit]);
}

typedef void print_fn(int64_t n, int64_t scale, FILE *f);

static void as_pytorch_print_row(const char *name, const struct frag_stat *s,
				 const struct frag_stat *scale, print_fn *print, FILE *f)
{
	fprintf(f, "| %-21s", name);
	print(s->current, scale->current, f);
	print((int64_t)s->peak, (int64_t)scale->peak, f);
	print((int64_t)s->allocated, (int64_t)scale->allocated, f);
	print((int64_t)s->freed, (int64_t)scale->freed, f);
	fputs(" |\n", f);
}

static void print_pools(const char *name, const struct frag_pool_stat *s, print_fn *print, FILE *f)
{
	print_rule('-', f);
	as_pytorch_print_row(name, &s->all, &s->all, print, f);
	as_pytorch_print_row("      from large pool", &s->large, &s->all, print, f);
	as_pytorch_print_row("      from small pool", &s->small, &s->all, print, f);
}

/*
 * Line for line what torch.cuda.memory_summary() prints, so that the two can be
 * put side by side.
 */
static void print_pytorch(const struct frag_result *run, FILE *f)
{
	const struct frag_memory_stats *s = &run->stats;

	putc('\n', f);
	print_rule('=', f);
	fprintf(f, "| %16s PyTorch CUDA memory summary, device ID %-17" PRIu32 " |\n", "",
		run->device);
	print_rule('-', f);
	fprintf(f, "|  %9s CUDA OOMs: %-12" PRIu64 " | %6s cudaMalloc retries: %-8" PRIu64 "  |\n",
		"", s->num_ooms, "", s->num_alloc_retries);
	print_rule('=', f);
	fputs("|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n", f);
	print_pools("Allocated memory", &s->allocated_bytes, print_bytes, f);
	print_pools("Active memory", &s->active_bytes, print_bytes, f);
	print_pools("Requested memory", &s->requested_bytes, print_bytes, f);
	print_pools("GPU reserved memory", &s->reserved_bytes, print_bytes, f);
	print_pools("Non-releasable memory", &s->inactive_split_bytes, print_bytes, f);
	print_pools("Allocations", &s->allocation, print_count, f);
	print_pools("Active allocs", &s->active, print_count, f);
	print_pools("GPU reserved segments", &s->segment, print_count, f);
	print_pools("Non-releasable allocs", &s->inactive_split, print_count, f);
	print_rule('-', f);
	as_pytorch_print_row("Oversize allocations", &s->oversize_allocations,
			     &s->oversize_allocations, print_count, f);
	print_rule('-', f);
	as_pytorch_print_row("Oversize GPU segments", &s->oversize_segments, &s->oversize_segments,
			     print_count, f);
	print_rule('=', f);
}

const char *frag_report_name(const struct frag_report *r, const struct frag_result *run,
			     char buf[FRAG_RUN_NAME_ROOM])
{
	frag_format_printable(buf, FRAG_RUN_NAME_ROOM, r->trace->device_count > 1 ? "%s @%u" : "%s",
			      frag_choice_label(&run->choice), run->device);
	return buf;
}

uint32_t frag_top_indexes(uint32_t worst[FRAG_WORST_MAX], const void *list, uint32_t count,
			  double (*value)(const void *list, uint32_t i))
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		const double now = value(list, i);
		uint32_t at = kept;

		while (at > 0 && now > value(list, worst[at - 1]))
			at--;
		if (at == FRAG_WORST_MAX)
			continue;
		kept += kept < FRAG_WORST_MAX;
		memmove(&worst[at + 1], &worst[at], (kept - at - 1) * sizeof(*worst));
		worst[at] = i;
	}
	return kept;
}

/* Two texts: no setting fits the live blocks, or requests replace the initial segments. */
bool frag_beginning_text(const struct frag_result *run, bool first, char buf[FRAG_BEGINNING_ROOM])
{
	const struct frag_beginning *b = &run->beginning;
	const uint64_t room = frag_usable_bytes(run);
	const bool full = b->segments > room && run->total;

	if (run->total && b->live > room) {
		snprintf(buf, FRAG_BEGINNING_ROOM, "device %u: %s are live before the recording"
			 " begins, in segments of %s, and the device has %s for them: no setting"
			 " makes that fit", run->device, SIZE(b->live), SIZE(b->segments), SIZE(room));
		return first;
	}
	snprintf(buf, FRAG_BEGINNING_ROOM, "policy %.300s, device %u: the recording begins with"
		 " segments of %s (%s live), and %s %s for them: the live blocks are"
		 " ordinary requests here, by their addresses, as their ages are unknown",
		 run->choice.text, run->device, SIZE(b->segments), SIZE(b->live),
		 full ? "the device has" : "the policy does not take",
		 full ? SIZE(room) : "that number of bytes");
	return b->as_requests;
}

#define CLASS(which) class_text((char[FRAG_NUMBER_ROOM]){ 0 }, (which))

static const char *class_text(char buf[FRAG_NUMBER_ROOM], uint32_t which)
{
	const uint64_t max = frag_size_class_max(which), mib = max >> 20;

	if (max == UINT64_MAX)
		return "more";
	snprintf(buf, FRAG_NUMBER_ROOM, mib < 1024 ? "%" PRIu64 " MiB" : "%" PRIu64 " GiB",
		 mib < 1024 ? mib : mib >> 10);
	return buf;
}

/* A peak; of an unfinished run it is a minimum, marked ">=". */
static void print_peak(bool least, uint64_t bytes, int width, FILE *f)
{
	char text[FRAG_NUMBER_ROOM + 2];

	snprintf(text, sizeof(text), "%s%s", least ? ">=" : "", SIZE(bytes));
	fprintf(f, "  %*s", width, text);
}

/* How far one is off the other can be said where both went equally far. */
static void print_pair(const char *what, uint64_t predicted, uint64_t measured,
		       const struct frag_prediction *p, FILE *f)
{
	const double percent = measured ? 100 * ((double)predicted / (double)measured - 1) : 0;

	fprintf(f, "  %-20s", what);
	print_peak(p->oom_predicted, predicted, 12, f);
	print_peak(p->oom_measured, measured, 12, f);
	if (p->oom_predicted == p->oom_measured && p->oom_step_predicted == p->oom_step_measured)
		frag_fprintf(f, "  %+9.4f%%\n", percent);
	else
		fprintf(f, "  %10s\n", "-");
}

static const char *oom_text(char buf[FRAG_NUMBER_ROOM], bool there, uint64_t step)
{
	snprintf(buf, FRAG_NUMBER_ROOM, there ? "event %" PRIu64 : "none", step);
	return buf;
}

static void print_prediction(const struct frag_prediction *p, FILE *f)
{
	char a[FRAG_NUMBER_ROOM], b[FRAG_NUMBER_ROOM];

	fprintf(f, "  %-20s  %12s  %12s  %10s\n", "prediction", "simulated", "on the GPU",
		"off by");
	print_pair("reserved at most", p->reserved_predicted, p->reserved_measured, p, f);
	print_pair("device memory at most", p->used_predicted, p->used_measured, p, f);
	fprintf(f, "  %-20s  %12s  %12s\n", "out of memory",
		oom_text(a, p->oom_predicted, p->oom_step_predicted),
		oom_text(b, p->oom_measured, p->oom_step_measured));
	if (p->differs)
		fprintf(f, "  decisions differ from event %" PRIu64 " on\n", p->first_difference);
	else
		fprintf(f, "  decisions identical in %s%" PRIu64 " event%s\n",
			p->steps == 1 ? "the " : "all ", p->steps, frag_s(p->steps));
}

static void print_calls(const struct frag_driver_costs *c, FILE *f)
{
	bool head = false;

	for (uint32_t i = 0; i < FRAG_GPU_KINDS * FRAG_SIZE_CLASSES; i++) {
		const uint32_t kind = i / FRAG_SIZE_CLASSES, which = i % FRAG_SIZE_CLASSES;
		const struct frag_latency *l = &c->calls[kind][which];
		const uint64_t times[] = {
			l->total_ns, l->min_ns, frag_latency_rank(l, 50), frag_latency_rank(l, 95),
			frag_latency_rank(l, 99), l->max_ns,
		};
		char time[FRAG_NUMBER_ROOM];

		if (!l->count)
			continue;
		if (!head)
			fprintf(f, "  %-15s %8s %8s %9s %9s %9s %9s %9s %9s\n", "calls", "up to",
				"count", "total", "min", "p50", "p95", "p99", "max");
		head = true;
		fprintf(f, "  %-15s %8s %8" PRIu64, frag_gpu_kind_name((enum frag_gpu_kind)kind),
			CLASS(which), l->count);
		for (int k = 0; k < 6; k++)
			fprintf(f, " %9s", frag_time_text(time, times[k]));
		putc('\n', f);
	}
}

static void print_segments(const struct frag_driver_costs *c, FILE *f)
{
	bool head = false;

	for (uint32_t i = 0; i < FRAG_SIZE_CLASSES; i++) {
		const struct frag_taking *t = &c->segments[i];

		if (!t->count)
			continue;
		if (!head)
			fprintf(f, "  %-10s %8s %8s %13s %13s %13s\n", "segments", "up to", "count",
				"requested", "predicted", "taken");
		head = true;
		fprintf(f, "  %-10s %8s %8" PRIu64 " %13s %13s %13s\n", "", CLASS(i), t->count,
			SIZE(t->requested), SIZE(t->predicted), SIZE(t->taken));
	}
}

static double probe_index(const void *list, uint32_t i)
{
	const struct frag_probes *all = list;

	return all->probe[i].fi;
}

/* Of many probes those with the highest index, as with marks. */
static void print_probes(const struct frag_probes *all, FILE *f)
{
	uint32_t worst[FRAG_WORST_MAX];
	uint32_t count = frag_top_indexes(worst, all, all->kept, probe_index);

	if (!count)
		return;
	fprintf(f, "  %-10s %8s %13s %13s %9s  %s\n", "probes", "event", "free", "in one piece",
		"index, %", "mark");
	for (uint32_t i = 0; i < count; i++) {
		const struct frag_probe *p = &all->probe[worst[i]];

		frag_fprintf(f, "  %-10s %8" PRIu64 " %13s %13s %9.2f%s%.60s\n", "", p->step,
			     SIZE(p->free), SIZE(p->largest), p->fi,
			     p->mark ? "  " : "", p->mark ? p->mark : "");
	}
	if (all->count > count)
		fprintf(f, "  these have the highest index of %" PRIu64 " probes\n", all->count);
}

static void print_measured(const struct frag_result *run, FILE *f)
{
	if (!run->costs)
		return;
	fprintf(f, "\n%s on device %u, %s\n", SHOWN(run->choice.text), run->device,
		run->device_name ? SHOWN(run->device_name) : "without a name");
	if (run->prediction.there)
		print_prediction(&run->prediction, f);
	else
		fputs("  the driver's own pool: nothing predicts it\n", f);
	print_calls(run->costs, f);
	print_segments(run->costs, f);
	print_probes(run->probes, f);
}

#define RUNS_WITH_CHART 4
#define FIGURES 69              /* columns of a table after the name */

static void as_text_put_name(const struct frag_report *r, uint32_t run, int width)
{
	frag_put_name(REPORT_NAME(r, r->runs[run].result), width, 0, r->to.f);
}

static void print_memory(const struct frag_report *r, int width)
{
	FILE *f = r->to.f;

	fprintf(f, "\n%-*s  %12s  %12s  %13s  %8s  %12s\n", width, "policy", "requested",
		"peak alloc", "peak reserved", "over", "at the end");
	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_result *run = r->runs[i].result;
		const double over = run->lower_bound ? 100.0 * ((double)run->peak.reserved
				/ (double)run->lower_bound - 1) : 0;
		const bool whole = run->status == FRAG_RUN_OK;

		as_text_put_name(r, i, width);
		print_peak(!whole, run->peak.requested, 12, f);
		print_peak(!whole, run->peak.allocated, 12, f);
		print_peak(!whole, run->peak.reserved, 13, f);
		if (whole)
			frag_fprintf(f, "  %+7.2f%%", over);
		else
			fprintf(f, "  %8s", "-");
		fprintf(f, "  %12s\n", SIZE(run->last.reserved));
	}
}

/* known: of a pool of the driver's it is not. */
static void print_percent(const struct frag_text_style *to, bool known, double value)
{
	const bool severe = value > FRAG_SEVERE_PCT;

	if (known)
		frag_fprintf(to->f, " %s%6.2f%s", severe ? frag_ink(to, INK_YELLOW) : "", value,
			     severe ? frag_ink(to, INK_PLAIN) : "");
	else
		fprintf(to->f, " %6s", "-");
}

/* Fragmentation indices of each run: mean, 95th percentile, maximum and last value. */
static void print_indices(const struct frag_report *r, int width)
{
	FILE *f = r->to.f;

	fprintf(f, "\n%-*s  %-27s   %-27s  %8s\n%-*s", width, "index, %", "fi_device", "fi",
		"severe", width, "");
	for (int i = 0; i < 2; i++)
		fprintf(f, "%s %6s %6s %6s %6s", i ? "  " : " ", "mean", "p95", "max", "end");
	fprintf(f, "  %8s\n", "events");
	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_result *run = r->runs[i].result;
		const struct frag_distribution *both[] = { &run->fi_device, &run->fi };
		const bool known = !run->last.opaque;

		as_text_put_name(r, i, width);
		for (int k = 0; k < 2; k++) {
			fputs(k ? "  " : " ", f);
			print_percent(&r->to, known, both[k]->mean);
			print_percent(&r->to, known, both[k]->p95);
			print_percent(&r->to, known, both[k]->max);
			print_percent(&r->to, known, both[k]->last);
		}
		fprintf(f, "  %8" PRIu64 "\n", run->severe_steps);
	}
}

static void print_counts(const struct frag_report *r, int width)
{
	FILE *f = r->to.f;

	fprintf(f, "\n%-*s  %8s  %8s  %8s  %7s  %7s  %5s  %s\n", width, "segments",
		"obtained", "released", "at most", "hits", "retries", "OOMs", "status");
	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_result *run = r->runs[i].result;
		const struct frag_counts *c = &run->counts;
		const bool bad = run->status != FRAG_RUN_OK;

		as_text_put_name(r, i, width);
		frag_fprintf(f, "  %8" PRIu64 "  %8" PRIu64 "  %8" PRIu64 "  %6.2f%%  %7" PRIu64
			     "  %5" PRIu64 "  %s%s%s\n", c->segment_allocs, c->segment_frees,
			     run->peak.segments,
			     c->allocs ? 100.0 * (double)c->hits / (double)c->allocs : 0.0,
			     c->retries, c->ooms, bad ? frag_ink(&r->to, INK_RED) : "",
			     frag_run_status_name(run->status),
			     bad ? frag_ink(&r->to, INK_PLAIN) : "");
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

	if (!count)
		return;
	fprintf(f, "  %10s  %9s  %6s  %11s  %11s  %s\n", "event", "fi_device", "fi", "reserved",
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
			SIZE(m->allocated), SHORT(mark->name));
	}
	if (run->mark_count > count && run->last.opaque)
		fprintf(f, "  the first of %u marks\n", run->mark_count);
	else if (run->mark_count > count)
		fprintf(f, "  these have the highest fi_device of %u marks\n", run->mark_count);
}

/*
 * Only a run with a chart or marks has a section; with many policies, charts and marks
 * would bury the tables.
 */
static void print_timeline(const struct frag_report *r, const struct frag_report_run *run)
{
	const struct frag_result *result = run->result;
	const bool chart = run->chart && run->chart->count;

	if (r->run_count > RUNS_WITH_CHART || (!chart && !result->mark_count))
		return;
	fprintf(r->to.f, "\n%s%s%s over its %" PRIu64 " event%s\n", frag_ink(&r->to, INK_BOLD),
		REPORT_NAME(r, result), frag_ink(&r->to, INK_PLAIN), result->steps, frag_s(result->steps));
	if (chart)
		print_chart(run->chart, r->to.columns, r->to.f);
	print_marks(result, r->to.f);
}

/* Peaks, indices and counts of each run, its timeline over the steps, and its worst marks. */
static void print_tables(const struct frag_report *r)
{
	const int width = frag_name_width(r, strlen("index, %"), FIGURES);

	print_memory(r, width);
	print_indices(r, width);
	print_counts(r, width);
	for (uint32_t i = 0; i < r->run_count; i++)
		print_timeline(r, &r->runs[i]);
}

#define MODELLED_FIGURES 30     /* columns after the name, */
#define PLANNED_FIGURES 66
#define MODELLED_MIN 8          /* and that it has at least */

static void print_trace(const struct frag_report *r)
{
	const struct frag_trace_info *t = r->trace;
	char text[FRAG_PRINTABLE_ROOM + 256];

	snprintf(text, sizeof(text), "%s%s%s: %" PRIu64 " event%s, %" PRIu64 " alloc%s, %" PRIu64
		 " free%s (%s form)%s", frag_ink(&r->to, INK_BOLD), SHOWN(frag_input_name(t->path)),
		 frag_ink(&r->to, INK_PLAIN), t->events, frag_s(t->events), t->allocs,
		 frag_s(t->allocs), t->frees, frag_s(t->frees), t->form,
		 t->whole ? "" : ", not read to its end");
	frag_put_wrapped(&r->to, "  ", text);
	if (t->skipped)
		fprintf(r->to.f, "    %" PRIu64 " bad event%s left out\n", t->skipped,
			frag_s(t->skipped));
	if (t->scope.ends == FRAG_ENDS_OOM)
		fprintf(r->to.f, "  recording ends here: at its own out-of-memory, %s at event %"
			PRIu64 "\n", SIZE(t->oom_bytes), t->oom_step);
}

/* The reason for the default policy, where no option chose one. */
static void print_default(const struct frag_report *r)
{
	const struct frag_choice *choice = &r->runs[0].result->choice;
	const char *conf = CONF(choice);

	/* the default settings of pytorch need no reason for a recording of PyTorch */
	if (!r->by_default || (r->trace->pytorch && !*conf))
		return;
	fprintf(r->to.f, "  default policy: %s%s, because the trace %s recorded under PyTorch\n",
		choice->ops->name, *conf ? " with the recorded settings" : "",
		r->trace->pytorch ? "was" : "does not say it was");
}

/*
 * Values that the trace does not contain are omitted, except the capacity: without one it is
 * unlimited.
 */
void frag_report_device(const struct frag_result *d, const char *indent, FILE *f)
{
	fprintf(f, "%sdevice %u: ", indent, d->device);
	if (d->device_name)
		fprintf(f, "%s, ", SHOWN(d->device_name));
	fputs(d->total ? SIZE(d->total) : "unlimited", f);
	if (d->context)
		fprintf(f, ", context %s", SIZE(d->context));
	if (d->other)
		fprintf(f, ", other processes %s", SIZE(d->other));
	fprintf(f, ", granularity %s", SIZE(d->granularity));
	if (d->small_max)
		fprintf(f, ", up to %s in steps of %s", SIZE(d->small_max),
			SIZE(d->small_granularity));
	putc('\n', f);
}

/* The devices are all the profile's. */
static void print_modelled(const struct frag_report *r)
{
	const char *device = r->runs[0].result->device_name;
	const int width = frag_name_width(r, MODELLED_MIN, MODELLED_FIGURES);
	char time[FRAG_NUMBER_ROOM];

	if (!r->runs[0].result->modelled.there)
		return;
	fprintf(r->to.f, "\ntime in the driver, modelled from the profile of %s\n%-*s  %10s  %10s\n",
		device ? SHOWN(device) : "a device without a name", width, "", "time", "calls");
	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_modelled *m = &r->runs[i].result->modelled;

		as_text_put_name(r, i, width);
		fprintf(r->to.f, "  %10s  %10" PRIu64, frag_time_text(time, m->driver_ns), m->calls);
		if (m->unmeasured_calls)
			fprintf(r->to.f, "  without %" PRIu64 " of an unknown duration",
				m->unmeasured_calls);
		putc('\n', r->to.f);
	}
}

/* Of the runs under a policy that moves blocks. */
static void print_compaction(const struct frag_report *r)
{
	const int width = frag_name_width(r, MODELLED_MIN, MODELLED_FIGURES);
	bool any = false;

	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_compaction *c = &r->runs[i].result->compaction;

		if (!c->there)
			continue;
		if (!any)
			fprintf(r->to.f, "\nmoved when out of memory\n%-*s  %10s  %10s  %10s\n",
				width, "", "moves", "blocks", "bytes");
		any = true;
		as_text_put_name(r, i, width);
		fprintf(r->to.f, "  %10" PRIu64 "  %10" PRIu64 "  %10s\n", c->moves, c->blocks,
			SIZE(c->bytes));
	}
}

/* Of the runs that followed a plan: what was placed by it, and why all else was not. */
static void print_planned(const struct frag_report *r)
{
	const int width = frag_name_width(r, MODELLED_MIN, PLANNED_FIGURES);
	bool any = false;

	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_planned *p = &r->runs[i].result->planned;
		const uint64_t counts[] = { p->hits, p->too_large, p->other_pool, p->not_free,
					    p->beyond, p->before };

		if (!p->there)
			continue;
		if (!any)
			fprintf(r->to.f, "\nplaced as planned, or why not\n%-*s  %9s  %9s  %9s  %9s"
				"  %9s  %9s\n", width, "", "hits", "too large", "pool", "not free",
				"beyond", "before");
		any = true;
		as_text_put_name(r, i, width);
		for (int k = 0; k < 6; k++)
			fprintf(r->to.f, "  %9" PRIu64, counts[k]);
		putc('\n', r->to.f);
	}
}

void frag_report_text(const struct frag_report *r)
{
	char text[FRAG_BEGINNING_ROOM];

	frag_print_verdict(r);
	if (r->verbose)
		print_trace(r);
	print_default(r);
	/* the devices are those of the first policy's runs */
	for (uint32_t i = 0; r->verbose && i < r->trace->device_count; i++)
		frag_report_device(r->runs[i].result, "  ", r->to.f);
	/* and the runs whose device cannot hold the initial state of the recording */
	for (uint32_t i = 0; i < r->run_count; i++)
		if (frag_beginning_text(r->runs[i].result, i < r->trace->device_count, text))
			frag_put_wrapped(&r->to, "  ", SHOWN(text));
	frag_print_settings(r);
	frag_print_details(r);
	if (r->verbose)
		print_tables(r);
	print_modelled(r);
	print_compaction(r);
	print_planned(r);
	for (uint32_t i = 0; i < r->run_count; i++) {
		if (r->summary && r->runs[i].result->has_stats)
			print_pytorch(r->runs[i].result, r->to.f);
		print_measured(r->runs[i].result, r->to.f);
	}
}
