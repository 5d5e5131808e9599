/* as_text.c - the text report: what was read, what came out, what to look at. */
#include <inttypes.h>
#include <string.h>

#include "base/format.h"
#include "base/path.h"
#include "base/c_locale.h"
#include "base/escape.h"
#include "report/diagnosis_text.h"
#include "report/initial_state_text.h"
#include "policy/alloc_conf_text.h"
#include "report/color.h"
#include "report/layout.h"
#include "report/replay_timings_text.h"
#include "report/metrics_tables.h"

#define MODELLED_FIGURES 30     /* columns beside the name, */
#define PLANNED_FIGURES 66
#define MODELLED_MIN 8          /* and that it has at least */

static const char *ink(const struct frag_report *r, enum frag_color_code which)
{
	return frag_color_code(r->colour, which);
}

static void print_trace(const struct frag_report *r, FILE *f)
{
	const struct frag_trace_info *t = r->trace;
	char path[FRAG_PRINTABLE_ROOM], text[FRAG_PRINTABLE_ROOM + 256];

	snprintf(text, sizeof(text), "%s%s%s: %" PRIu64 " event%s, %" PRIu64 " alloc%s, %" PRIu64
		 " free%s (%s form)%s", ink(r, INK_BOLD),
		 frag_printable(path, frag_input_name(t->path)), ink(r, INK_PLAIN), t->events,
		 frag_s(t->events), t->allocs, frag_s(t->allocs), t->frees, frag_s(t->frees),
		 t->form, t->whole ? "" : ", not read to its end");
	frag_print_wrapped(r, "  ", text, f);
	if (t->skipped)
		fprintf(f, "    %" PRIu64 " bad event%s left out\n", t->skipped, frag_s(t->skipped));
	if (t->ends_at_oom)
		fprintf(f, "  recording ends here: at its own out-of-memory, %s at step %" PRIu64
			"\n", SIZE(t->oom_bytes), t->oom_step);
}

/* Why the policy is the one that it is, where nobody chose it. */
static void print_default(const struct frag_report *r, FILE *f)
{
	const struct frag_choice *choice = &r->runs[0].result->choice;
	char conf[FRAG_CONF_ROOM];

	frag_conf_text(choice, conf, sizeof(conf));
	/* pytorch as it comes is what everybody expects of PyTorch's recordings */
	if (!r->by_default || (r->trace->pytorch && !*conf))
		return;
	fprintf(f, "  default policy: %s%s, because the trace %s recorded under PyTorch\n",
		choice->ops->name, *conf ? " with the recorded settings" : "",
		r->trace->pytorch ? "was" : "does not say it was");
}

/*
 * A figure that the trace does not give is left out, but for the capacity: without one it is
 * unlimited.
 */
void frag_report_device(const struct frag_result *d, const char *indent, FILE *f)
{
	char name[FRAG_PRINTABLE_ROOM];

	fprintf(f, "%sdevice %u: ", indent, d->device);
	if (d->device_name)
		fprintf(f, "%s, ", frag_printable(name, d->device_name));
	if (d->total)
		fprintf(f, "%s", SIZE(d->total));
	else
		fputs("unlimited", f);
	if (d->context)
		fprintf(f, ", context %s", SIZE(d->context));
	if (d->other)
		fprintf(f, ", other processes %s", SIZE(d->other));
	fprintf(f, ", pages of %s", SIZE(d->granularity));
	if (d->small_max)
		fprintf(f, ", up to %s in steps of %s", SIZE(d->small_max),
			SIZE(d->small_granularity));
	putc('\n', f);
}

/* The devices are those of the first policy's runs. */
static void print_devices(const struct frag_report *r, FILE *f)
{
	for (uint32_t i = 0; i < r->run_count && r->runs[i].result->device == i; i++)
		frag_report_device(r->runs[i].result, "  ", f);
}

/* Those of all runs whose devices have no room for what the recording begins with. */
static void print_beginnings(const struct frag_report *r, FILE *f)
{
	const uint32_t devices = frag_device_count(r);
	char text[FRAG_BEGINNING_ROOM], shown[FRAG_PRINTABLE_ROOM];

	for (uint32_t i = 0; i < r->run_count; i++)
		if (frag_beginning_text(r->runs[i].result, i < devices, text))
			frag_print_wrapped(r, "  ", frag_printable(shown, text), f);
}

/* The devices are all the profile's. */
static void print_modelled(const struct frag_report *r, FILE *f)
{
	const char *device = r->runs[0].result->device_name;
	const int width = frag_name_width(r, MODELLED_MIN, MODELLED_FIGURES);
	char time[FRAG_NUMBER_ROOM], name[FRAG_PRINTABLE_ROOM], run_name[FRAG_RUN_NAME_ROOM];

	if (!r->runs[0].result->modelled.there)
		return;
	fprintf(f, "\ntime in the driver, modelled from the profile of %s\n%-*s  %10s  %10s\n",
		device ? frag_printable(name, device) : "a device without a name", width, "", "time", "calls");
	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_modelled *m = &r->runs[i].result->modelled;

		frag_report_name(r, r->runs[i].result, run_name);
		frag_print_name(run_name, width, f);
		fprintf(f, "  %10s  %10" PRIu64, frag_time_text(time, m->driver_ns), m->calls);
		if (m->unmeasured_calls)
			fprintf(f, "  without %" PRIu64 " that the profile knows nothing of",
				m->unmeasured_calls);
		putc('\n', f);
	}
}

/* Of the runs under a policy that moves blocks. */
static void print_compaction(const struct frag_report *r, FILE *f)
{
	const int width = frag_name_width(r, MODELLED_MIN, MODELLED_FIGURES);
	char run_name[FRAG_RUN_NAME_ROOM];
	bool any = false;

	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_compaction *c = &r->runs[i].result->compaction;

		if (!c->there)
			continue;
		if (!any)
			fprintf(f, "\nmoved when out of memory\n%-*s  %10s  %10s  %10s\n", width, "",
				"moves", "blocks", "bytes");
		any = true;
		frag_report_name(r, r->runs[i].result, run_name);
		frag_print_name(run_name, width, f);
		fprintf(f, "  %10" PRIu64 "  %10" PRIu64 "  %10s\n", c->moves, c->blocks,
			SIZE(c->bytes));
	}
}

/* Of the runs that followed a plan: what was placed by it, and why all else was not. */
static void print_planned(const struct frag_report *r, FILE *f)
{
	const int width = frag_name_width(r, MODELLED_MIN, PLANNED_FIGURES);
	char run_name[FRAG_RUN_NAME_ROOM];
	bool any = false;

	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_planned *p = &r->runs[i].result->planned;

		if (!p->there)
			continue;
		if (!any)
			fprintf(f, "\nplaced as planned, or why not\n%-*s  %9s  %9s  %9s  %9s  %9s  %9s\n",
				width, "", "hits", "too large", "pool", "not free", "beyond", "before");
		any = true;
		frag_report_name(r, r->runs[i].result, run_name);
		frag_print_name(run_name, width, f);
		fprintf(f, "  %9" PRIu64 "  %9" PRIu64 "  %9" PRIu64 "  %9" PRIu64 "  %9" PRIu64
			"  %9" PRIu64 "\n", p->hits, p->too_large, p->other_pool, p->not_free,
			p->beyond, p->before);
	}
}

void frag_report_text(const struct frag_report *report, FILE *f)
{
	frag_print_verdict(report, f);
	print_trace(report, f);
	print_default(report, f);
	print_devices(report, f);
	print_beginnings(report, f);
	frag_print_settings(report, f);
	frag_print_details(report, f);
	if (report->verbose)
		frag_report_tables(report, f);
	print_modelled(report, f);
	print_compaction(report, f);
	print_planned(report, f);
	for (uint32_t i = 0; i < report->run_count; i++) {
		if (report->summary && report->runs[i].result->has_stats)
			frag_report_pytorch(report->runs[i].result, f);
		frag_report_measured(report->runs[i].result, f);
	}
}
