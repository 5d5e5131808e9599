/* compared_metrics.c - the figures that are compared, and how two of them differ. */
#include "compare/compared_metrics.h"

#include <math.h>
#include <string.h>

#include "base/bug.h"
#include "base/format.h"
#include "metrics/metric.h"

/* How far the peak is above what no policy can do without, in percent of that. */
static double over_bound(const struct frag_result *r)
{
	if (!r->lower_bound)
		return 0;
	return 100 * ((double)r->peak.reserved / (double)r->lower_bound - 1);
}

static double efficiency(const struct frag_result *r)
{
	if (!r->peak.reserved)
		return 100;
	return 100 * (double)r->peak.allocated / (double)r->peak.reserved;
}

static double device_calls(const struct frag_result *r)
{
	return (double)(r->counts.segment_allocs + r->counts.segment_frees);
}

#define UNIT_BYTES FRAG_BYTES
#define UNIT_COUNT FRAG_NUMBER
#define ENTRY_APART(name, of)
#define ENTRY_FIGURE(name, of) { .path = "peak." #name, .unit = UNIT_##of },
#define ENTRY(name, unit, since, peak, pool, rows, diff, text) ENTRY_##diff(name, unit)

const struct frag_figure frag_figures[FRAG_FIGURES] = {
	[FRAG_PEAK_RESERVED] = { .path = "peak.reserved", .unit = FRAG_BYTES, .decides = true },
	[FRAG_PEAK_ALLOCATED] = { .path = "peak.allocated", .unit = FRAG_BYTES },
	[FRAG_OVER_BOUND] = { .path = "over_bound", .unit = FRAG_POINTS, .of_peaks = true,
			      .value = over_bound },
	[FRAG_EFFICIENCY] = { .path = "efficiency", .unit = FRAG_POINTS, .more_is_better = true,
			      .of_peaks = true, .value = efficiency },
	[FRAG_FI_DEVICE_MEAN] = { .path = "fi_device.mean", .unit = FRAG_POINTS, .decides = true },
	[FRAG_FI_DEVICE_P95] = { .path = "fi_device.p95", .unit = FRAG_POINTS },
	[FRAG_FI_DEVICE_MAX] = { .path = "fi_device.max", .unit = FRAG_POINTS, .decides = true },
	[FRAG_FI_MEAN] = { .path = "fi.mean", .unit = FRAG_POINTS },
	[FRAG_SEVERE_STEPS] = { .path = "fi_device.severe_steps", .unit = FRAG_NUMBER },
	[FRAG_OOMS] = { .path = "counts.ooms", .unit = FRAG_NUMBER, .decides = true,
			.of_end = true },
	[FRAG_RETRIES] = { .path = "counts.retries", .unit = FRAG_NUMBER, .decides = true },
	[FRAG_DEVICE_CALLS] = { .path = "device_calls", .unit = FRAG_NUMBER,
				.value = device_calls },
	[FRAG_DRIVER_TIME] = { .path = "modelled.driver_ns", .unit = FRAG_NANOSECONDS },
	[FRAG_SMALLEST] = { .path = "smallest", .unit = FRAG_BYTES, .decides = true, .of_end = true,
			    .optional = true },
	FRAG_METRICS(ENTRY)
};

bool frag_figure_value(const struct frag_figure *figure, const struct frag_result *result,
		       double *value)
{
	bool absent = false;

	if (!result)
		return false;
	if (figure->value)
		*value = figure->value(result);
	else if (!frag_result_value(result, figure->path, value, &absent) || absent)
		return false;
	if (figure->unit == FRAG_POINTS)
		*value = frag_fixed4(*value);
	return true;
}

static bool is_unread(const struct frag_figure *figure, const struct frag_result *result)
{
	return result && frag_result_unread(result, figure->path);
}

bool frag_figure_is_of_peaks(const struct frag_figure *figure)
{
	return figure->of_peaks || strncmp(figure->path, "peak.", strlen("peak.")) == 0;
}

bool frag_peaks_comparable(const struct frag_result *base, const struct frag_result *result)
{
	return base->status == FRAG_RUN_OK && result->status == FRAG_RUN_OK;
}

bool frag_results_comparable(const struct frag_result *base, const struct frag_result *result)
{
	if (frag_peaks_comparable(base, result))
		return true;
	return base->status == result->status && base->steps == result->steps
	       && base->counts.ooms == result->counts.ooms;
}

/*
 * A figure that both lack has not changed; one that only one side has did, but
 * nobody can say for better or worse. One that the other's file is too old for is
 * not compared.
 */
struct frag_change frag_figure_change(const struct frag_figure *figure,
				      const struct frag_result *base,
				      const struct frag_result *result)
{
	struct frag_change c = { .verdict = FRAG_SAME };

	c.has_base = frag_figure_value(figure, base, &c.base);
	c.has_value = frag_figure_value(figure, result, &c.value);
	if (!c.has_base || !c.has_value) {
		c.verdict = c.has_base == c.has_value || is_unread(figure, base)
			    || is_unread(figure, result) ? FRAG_SAME : FRAG_CHANGED;
		return c;
	}
	c.compared = figure->of_end || (frag_figure_is_of_peaks(figure)
					? frag_peaks_comparable(base, result)
					: frag_results_comparable(base, result));
	if (!c.compared) {
		c.verdict = c.base == c.value ? FRAG_SAME : FRAG_CHANGED;
		return c;
	}
	c.difference = c.value - c.base;
	c.has_percent = c.base != 0;
	if (c.has_percent)
		c.percent = 100 * (c.difference / fabs(c.base));
	if (c.difference != 0)
		c.verdict = (c.difference > 0) == figure->more_is_better ? FRAG_BETTER : FRAG_WORSE;
	return c;
}

bool frag_figure_is_listed(const struct frag_figure *figure, const struct frag_change *change)
{
	return !figure->optional || change->has_base || change->has_value;
}

const char *frag_verdict_name(enum frag_verdict verdict)
{
	static const char *const names[] = { "same", "changed", "better", "worse", "mixed" };

	FRAG_ASSERT((unsigned)verdict <= FRAG_MIXED);
	return names[verdict];
}
