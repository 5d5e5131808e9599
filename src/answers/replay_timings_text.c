/* replay_timings_text.c - what a replay measured, as text. */
#include "answers/replay_timings_text.h"

#include <inttypes.h>

#include "base/format.h"
#include "base/c_locale.h"
#include "base/escape.h"
#include "metrics/driver_latency.h"
#include "answers/top_n.h"

static const char *class_text(char buf[FRAG_NUMBER_ROOM], uint32_t which)
{
	uint64_t max = frag_size_class_max(which);

	if (max == UINT64_MAX)
		snprintf(buf, FRAG_NUMBER_ROOM, "more");
	else if (max < UINT64_C(1) << 30)
		snprintf(buf, FRAG_NUMBER_ROOM, "%" PRIu64 " MiB", max >> 20);
	else
		snprintf(buf, FRAG_NUMBER_ROOM, "%" PRIu64 " GiB", max >> 30);
	return buf;
}

/* A peak; where memory ran out it is the least that it may be. */
static const char *peak_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes, bool oom)
{
	snprintf(buf, FRAG_NUMBER_ROOM, "%s%.29s", oom ? ">=" : "", SIZE(bytes));
	return buf;
}

/* How far one is off the other can be said where both went equally far. */
static void print_pair(const char *what, uint64_t predicted, uint64_t measured,
		       const struct frag_prediction *p, FILE *f)
{
	const double percent = measured ? 100 * ((double)predicted / (double)measured - 1) : 0;
	char a[FRAG_NUMBER_ROOM], b[FRAG_NUMBER_ROOM];

	fprintf(f, "  %-20s  %12s  %12s", what, peak_text(a, predicted, p->oom_predicted),
		peak_text(b, measured, p->oom_measured));
	if (p->oom_predicted == p->oom_measured && p->oom_step_predicted == p->oom_step_measured)
		frag_fprintf(f, "  %+9.4f%%\n", percent);
	else
		fprintf(f, "  %10s\n", "-");
}

static const char *oom_text(char buf[FRAG_NUMBER_ROOM], bool there, uint64_t step)
{
	snprintf(buf, FRAG_NUMBER_ROOM, "none");
	if (there)
		snprintf(buf, FRAG_NUMBER_ROOM, "step %" PRIu64, step);
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
		fprintf(f, "  decisions differ from step %" PRIu64 " on\n", p->first_difference);
	else
		fprintf(f, "  decisions identical in %s%" PRIu64 " step%s\n",
			p->steps == 1 ? "the " : "all ", p->steps, frag_s(p->steps));
}

static void print_call(const char *kind, uint32_t which, const struct frag_latency *l, FILE *f)
{
	char class[FRAG_NUMBER_ROOM], t[6][FRAG_NUMBER_ROOM];

	fprintf(f, "  %-15s %8s %8" PRIu64 " %9s %9s %9s %9s %9s %9s\n", kind,
		class_text(class, which), l->count, frag_time_text(t[0], l->total_ns),
		frag_time_text(t[1], l->min_ns), frag_time_text(t[2], frag_latency_rank(l, 50)),
		frag_time_text(t[3], frag_latency_rank(l, 95)),
		frag_time_text(t[4], frag_latency_rank(l, 99)), frag_time_text(t[5], l->max_ns));
}

static void print_calls(const struct frag_driver_costs *c, FILE *f)
{
	bool head = false;

	for (uint32_t kind = 0; kind < FRAG_GPU_KINDS; kind++) {
		for (uint32_t i = 0; i < FRAG_SIZE_CLASSES; i++) {
			if (!c->calls[kind][i].count)
				continue;
			if (!head)
				fprintf(f, "  %-15s %8s %8s %9s %9s %9s %9s %9s %9s\n", "calls",
					"up to", "count", "total", "min", "p50", "p95", "p99",
					"max");
			head = true;
			print_call(frag_gpu_kind_name((enum frag_gpu_kind)kind), i,
				   &c->calls[kind][i], f);
		}
	}
}

static void print_segments(const struct frag_driver_costs *c, FILE *f)
{
	char class[FRAG_NUMBER_ROOM];
	bool head = false;

	for (uint32_t i = 0; i < FRAG_SIZE_CLASSES; i++) {
		const struct frag_taking *t = &c->segments[i];

		if (!t->count)
			continue;
		if (!head)
			fprintf(f, "  %-10s %8s %8s %13s %13s %13s\n", "segments", "up to", "count",
				"requested", "predicted", "taken");
		head = true;
		fprintf(f, "  %-10s %8s %8" PRIu64 " %13s %13s %13s\n", "", class_text(class, i),
			t->count, SIZE(t->requested), SIZE(t->predicted),
			SIZE(t->taken));
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
	fprintf(f, "  %-10s %8s %13s %13s %9s  %s\n", "probes", "step", "free", "in one piece",
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

void frag_report_measured(const struct frag_result *run, FILE *f)
{
	char policy[FRAG_PRINTABLE_ROOM], name[FRAG_PRINTABLE_ROOM];

	if (!run->costs)
		return;
	fprintf(f, "\n%s on device %u, %s\n", frag_printable(policy, run->choice.text), run->device,
		run->device_name ? frag_printable(name, run->device_name) : "without a name");
	if (run->prediction.there)
		print_prediction(&run->prediction, f);
	else
		fputs("  the driver's own pool: nothing predicts it\n", f);
	print_calls(run->costs, f);
	print_segments(run->costs, f);
	print_probes(run->probes, f);
}
