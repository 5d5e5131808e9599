/* as_text.c - the text report: what was read, what came out, what to look at. */
#include <inttypes.h>
#include <string.h>

#include "base/format.h"
#include "base/path.h"
#include "base/print.h"
#include "base/printable.h"
#include "documents/oom_message.h"
#include "report/ink.h"
#include "report/measured.h"
#include "report/oom_text.h"
#include "report/report.h"
#include "report/worst.h"

#define OOMS_SHOWN 5
#define RUNS_WITH_CHART 4
#define SEVERE_PCT 70.0
#define WRAPPED_LEAST 30        /* columns; in fewer it is not worth it */
#define FIGURES 69              /* columns of a table behind the name */
#define NAME_ROOM 600           /* a policy as it was written, and a device */

static const char *ink(const struct frag_report *r, enum frag_ink which)
{
	return frag_ink(r->colour, which);
}

static void print_trace(const struct frag_report *r, FILE *f)
{
	const struct frag_trace_info *t = r->trace;
	char path[FRAG_PRINTABLE_ROOM], size[FRAG_NUMBER_ROOM];

	fprintf(f,
		"%s%s%s: %" PRIu64 " events, %" PRIu64 " allocs, %" PRIu64 " frees (%s form)%s\n",
		ink(r, INK_BOLD), frag_printable(path, frag_input_name(t->path)), ink(r, INK_PLAIN),
		t->events, t->allocs, t->frees, t->form, t->whole ? "" : ", not read to its end");
	if (t->skipped)
		fprintf(f, "  %" PRIu64 " bad events left out\n", t->skipped);
	if (t->ends_at_oom)
		fprintf(f, "  recording ends here: at its own out-of-memory, %s at step %" PRIu64
			"\n", frag_size_text(size, t->oom_bytes), t->oom_step);
}

/*
 * A figure that the trace does not give is left out, but for the capacity: without one it is
 * unlimited.
 */
void frag_report_device(const struct frag_result *d, const char *indent, FILE *f)
{
	char a[FRAG_NUMBER_ROOM], b[FRAG_NUMBER_ROOM], name[FRAG_PRINTABLE_ROOM];

	fprintf(f, "%sdevice %u: ", indent, d->device);
	if (d->device_name)
		fprintf(f, "%s, ", frag_printable(name, d->device_name));
	if (d->total)
		fprintf(f, "%s", frag_size_text(a, d->total));
	else
		fputs("unlimited", f);
	if (d->context)
		fprintf(f, ", context %s", frag_size_text(a, d->context));
	if (d->other)
		fprintf(f, ", other processes %s", frag_size_text(b, d->other));
	fprintf(f, ", pages of %s", frag_size_text(a, d->granularity));
	if (d->small_most)
		fprintf(f, ", up to %s in steps of %s", frag_size_text(a, d->small_most),
			frag_size_text(b, d->small_granularity));
	putc('\n', f);
}

/* The devices are those of the first policy's runs. */
static void print_devices(const struct frag_report *r, FILE *f)
{
	for (uint32_t i = 0; i < r->run_count && r->runs[i].result->device == i; i++)
		frag_report_device(r->runs[i].result, "", f);
}

static bool many_devices(const struct frag_report *r)
{
	return r->run_count > 1 && r->runs[1].result->device > 0;
}

static void run_name(const struct frag_report *r, const struct frag_result *run, char *buf,
		     size_t size)
{
	if (many_devices(r))
		frag_format_printable(buf, size, "%s @%u", frag_choice_label(&run->choice),
				      run->device);
	else
		frag_format_printable(buf, size, "%s", frag_choice_label(&run->choice));
}

/* As wide as the longest name, or as the terminal has room for beside the figures. */
static int name_width(const struct frag_report *r)
{
	const size_t least = strlen("index, %");
	const size_t room = r->columns > FIGURES ? (size_t)(r->columns - FIGURES) : 0;
	size_t width = least;
	char name[NAME_ROOM];

	for (uint32_t i = 0; i < r->run_count; i++) {
		run_name(r, r->runs[i].result, name, sizeof(name));
		if (strlen(name) > width)
			width = strlen(name);
	}
	if (r->columns && width > room)
		width = room > least ? room : least;
	return (int)width;
}

/* The first column of a row; a name that is too long for it has a line of its own. */
static void print_name(const struct frag_report *r, const struct frag_result *run, int width,
		       FILE *f)
{
	char name[NAME_ROOM];

	run_name(r, run, name, sizeof(name));
	if (strlen(name) > (size_t)width)
		fprintf(f, "%s\n%*s", name, width, "");
	else
		fprintf(f, "%-*s", width, name);
}

static void print_memory(const struct frag_report *r, int width, FILE *f)
{
	char a[FRAG_NUMBER_ROOM], b[FRAG_NUMBER_ROOM], c[FRAG_NUMBER_ROOM];
	char d[FRAG_NUMBER_ROOM];

	fprintf(f, "\n%-*s  %12s  %12s  %12s  %8s  %12s\n", width, "policy", "peak asked",
		"peak alloc", "peak reserved", "over", "at the end");
	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_result *run = r->runs[i].result;
		double over = run->lower_bound ? 100.0 * ((double)run->peak.reserved
				/ (double)run->lower_bound - 1) : 0;

		print_name(r, run, width, f);
		frag_fprintf(f, "  %12s  %12s  %13s  %+7.2f%%  %12s\n",
			     frag_size_text(a, run->peak.requested),
			     frag_size_text(b, run->peak.allocated),
			     frag_size_text(c, run->peak.reserved), over,
			     frag_size_text(d, run->last.reserved));
	}
}

/* known: of a pool of the driver's it is not. */
static void print_percent(const struct frag_report *r, bool known, double value, FILE *f)
{
	if (!known) {
		fprintf(f, " %6s", "-");
		return;
	}
	if (value > SEVERE_PCT)
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

		print_name(r, run, width, f);
		for (int k = 0; k < 2; k++) {
			fputs(k ? "  " : " ", f);
			print_percent(r, known, both[k]->mean, f);
			print_percent(r, known, both[k]->p95, f);
			print_percent(r, known, both[k]->max, f);
			print_percent(r, known, both[k]->last, f);
		}
		fprintf(f, "  %8" PRIu64 "\n", run->fi_device.severe_steps);
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

		print_name(r, run, width, f);
		frag_fprintf(f, "  %8" PRIu64 "  %8" PRIu64 "  %8" PRIu64 "  %6.2f%%  %7" PRIu64
			     "  %5" PRIu64 "  %s%s%s\n", c->segment_allocs, c->segment_frees,
			     run->peak.segments,
			     c->allocs ? 100.0 * (double)c->hits / (double)c->allocs : 0.0,
			     c->retries, c->ooms, bad ? ink(r, INK_RED) : "",
			     frag_run_status_name(run->status), bad ? ink(r, INK_PLAIN) : "");
	}
}

/* The devices are all the profile's. */
static void print_modelled(const struct frag_report *r, int width, FILE *f)
{
	const char *device = r->runs[0].result->device_name;
	char time[FRAG_NUMBER_ROOM], name[FRAG_PRINTABLE_ROOM];

	if (!r->runs[0].result->modelled.there)
		return;
	fprintf(f, "\ntime in the driver, modelled from the profile of %s\n%-*s  %10s  %10s\n",
		device ? frag_printable(name, device) : "a device without a name", width, "", "time", "calls");
	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_modelled *m = &r->runs[i].result->modelled;

		print_name(r, r->runs[i].result, width, f);
		fprintf(f, "  %10s  %10" PRIu64, frag_time_text(time, m->driver_ns), m->calls);
		if (m->unmeasured_calls)
			fprintf(f, "  without %" PRIu64 " that the profile knows nothing of",
				m->unmeasured_calls);
		putc('\n', f);
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
	uint32_t worst[FRAG_WORST_MOST];
	uint32_t count = frag_worst(worst, run->marks, run->mark_count, mark_index);
	char a[FRAG_NUMBER_ROOM], b[FRAG_NUMBER_ROOM];

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
		fprintf(f, "  %11s  %11s  %.60s\n", frag_size_text(a, m->reserved),
			frag_size_text(b, m->allocated), mark->name);
	}
	if (run->mark_count > count && run->last.opaque)
		fprintf(f, "  the first of %u marks\n", run->mark_count);
	else if (run->mark_count > count)
		fprintf(f, "  these have the highest fi_device of %u marks\n", run->mark_count);
}

/* Words behind a head, in lines that fit the terminal; elsewhere in one line. */
static void print_wrapped(const struct frag_report *r, const char *head, const char *text, FILE *f)
{
	const int indent = (int)strlen(head);
	size_t room = r->columns > WRAPPED_LEAST ? (size_t)(r->columns - indent) : SIZE_MAX;

	while (*text) {
		size_t n = strlen(text);

		if (n > room) {
			for (n = room; n > 0 && text[n] != ' '; n--)
				;
			n = n ? n : room;
		}
		fprintf(f, "%*s%.*s\n", indent, head, (int)n, text);
		text += n;
		text += strspn(text, " ");
		head = "";
	}
}

/* Frames are not wrapped: who looks for one wants its line in one piece. */
static void print_frames(const char *frames, FILE *f)
{
	while (*frames) {
		const size_t n = strcspn(frames, "\n"), blanks = strspn(frames, " ");
		const bool colons = strncmp(frames + blanks, "::", 2) == 0;
		const size_t first = colons ? blanks + 1 : 0;

		/* the rest of what frag_printable() does has been done: it is JSON */
		fprintf(f, "%14s%s%.*s\n", "", colons ? "\\u003a" : "", (int)(n - first),
			frames + first);
		frames += n + 1;
	}
}

/* The stacks that are not shown are summed up in the last line. */
static void print_stacks(const struct frag_holder *holder, FILE *f)
{
	uint64_t bytes = holder->bytes, blocks = holder->blocks;
	char size[FRAG_NUMBER_ROOM];

	for (uint32_t i = 0; i < holder->stack_count; i++) {
		const struct frag_holder_stack *stack = &holder->stacks[i];

		/* one that all of them have needs no figures of its own */
		if (stack->blocks != holder->blocks)
			fprintf(f, "%12s%s in %" PRIu64 " block%s, the oldest from step %" PRIu64
				":\n", "", frag_size_text(size, stack->bytes), stack->blocks,
				stack->blocks == 1 ? "" : "s", stack->oldest);
		print_frames(stack->frames, f);
		bytes -= stack->bytes;
		blocks -= stack->blocks;
	}
	if (holder->stack_count && blocks)
		fprintf(f, "%12s%s in %" PRIu64 " block%s of other stacks, %u in all\n", "",
			frag_size_text(size, bytes), blocks, blocks == 1 ? "" : "s",
			holder->all_stacks);
}

static void print_holder(const struct frag_report *r, const struct frag_holder *holder,
			 const char *head, FILE *f)
{
	char size[FRAG_NUMBER_ROOM], text[512];

	snprintf(text, sizeof(text), "%s in %" PRIu64 " block%s, the oldest from step %" PRIu64
		 ", %.60s", frag_size_text(size, holder->bytes), holder->blocks,
		 holder->blocks == 1 ? "" : "s", holder->oldest,
		 holder->tag ? holder->tag : "without a tag");
	print_wrapped(r, head, text, f);
	print_stacks(holder, f);
}

/* The least that would have to be freed, and who holds that. */
static void print_hole(const struct frag_report *r, const struct frag_hole *hole, FILE *f)
{
	char size[FRAG_NUMBER_ROOM], live[FRAG_NUMBER_ROOM], text[256];

	if (!hole->bytes)
		return;
	frag_size_text(size, hole->bytes);
	frag_size_text(live, hole->live);
	if (hole->whole)
		snprintf(text, sizeof(text), "%s, which would give back segment %u, %s", live,
			 hole->segment, size);
	else
		snprintf(text, sizeof(text), "%s, which would leave %s in one piece in segment %u"
			 " from byte %" PRIu64 " on", live, size, hole->segment, hole->offset);
	print_wrapped(r, "    least to free: ", text, f);
	for (uint32_t i = 0; i < hole->holder_count; i++)
		print_holder(r, &hole->holders[i], "          ", f);
}

static void print_oom(const struct frag_report *r, const struct frag_result *run,
		      const struct frag_oom *oom, FILE *f)
{
	char message[FRAG_OOM_MESSAGE_ROOM], advice[FRAG_OOM_ADVICE_ROOM];

	fprintf(f, "  %sOOM at step %" PRIu64 "%s", ink(r, INK_RED), oom->step, ink(r, INK_PLAIN));
	if (oom->id)
		fprintf(f, ", id %.60s, %" PRIu64 " bytes", oom->id, oom->size);
	fprintf(f, ", cause: %s\n", oom->fragmentation ? "fragmentation" : "capacity");
	print_wrapped(r, "    ", frag_oom_message(run, oom, message), f);
	print_wrapped(r, "    ", frag_oom_advice(oom, advice), f);
	for (uint32_t i = 0; i < oom->holder_count; i++)
		print_holder(r, &oom->holders[i], i ? "          " : "    held: ", f);
	print_hole(r, &oom->hole, f);
}

/*
 * A section of its own has only a run with something to show; with many policies
 * charts and marks would bury the tables.
 */
static void print_run(const struct frag_report *r, const struct frag_report_run *run, FILE *f)
{
	const struct frag_result *result = run->result;
	bool chart = run->chart && run->chart->count && r->run_count <= RUNS_WITH_CHART;
	char name[NAME_ROOM];

	if (!chart && !result->oom_count && !(result->mark_count && r->run_count == 1))
		return;
	run_name(r, result, name, sizeof(name));
	fprintf(f, "\n%s%s%s over its %" PRIu64 " steps\n", ink(r, INK_BOLD), name,
		ink(r, INK_PLAIN), result->steps);
	if (chart)
		frag_chart_print(run->chart, r->columns, f);
	if (r->run_count <= RUNS_WITH_CHART)
		print_marks(result, f);
	for (uint32_t i = 0; i < result->oom_count && i < OOMS_SHOWN; i++)
		print_oom(r, result, &result->ooms[i], f);
	if (result->counts.ooms > OOMS_SHOWN)
		fprintf(f, "  ... %" PRIu64 " OOMs in all\n", result->counts.ooms);
}

void frag_report_text(const struct frag_report *report, FILE *f)
{
	int width = name_width(report);

	print_trace(report, f);
	print_devices(report, f);
	print_memory(report, width, f);
	print_indices(report, width, f);
	print_counts(report, width, f);
	print_modelled(report, width, f);
	for (uint32_t i = 0; i < report->run_count; i++) {
		print_run(report, &report->runs[i], f);
		if (report->summary && report->runs[i].result->has_stats)
			frag_report_pytorch(report->runs[i].result, f);
		frag_report_measured(report->runs[i].result, f);
	}
}
