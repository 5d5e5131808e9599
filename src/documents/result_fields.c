/* result_fields.c - the members that runs have in common, wherever they are written. */
#include "documents/result_fields.h"

#include "metrics/metric.h"

/* Metrics ---------------------------------------------------------------------- */

static bool metric_is_known(const void *of, const struct frag_field *field)
{
	/* each metric of the struct has 8 bytes, in the order of the table */
	return frag_metric_known(of, &frag_metric_table()[field->at / sizeof(uint64_t)]);
}

enum { KNOWN, HIDDEN };
#define METRIC_BYTES FRAG_TYPE_SUM
#define METRIC_SIGNED FRAG_TYPE_INTEGER
#define METRIC_COUNT FRAG_TYPE_COUNT
#define METRIC_PERCENT FRAG_TYPE_PERCENT
#define METRIC(name, unit, since, peak, pool, rows, diff, text)                                 \
	{ #name, METRIC_##unit, FRAG_AT(metrics, name), text, .known = metric_is_known,         \
	  .nullable = (pool) == HIDDEN || METRIC_##unit == FRAG_TYPE_INTEGER },

/* A row where the unit is this, or one of these. */
#define NATURAL_BYTES(...) __VA_ARGS__
#define NATURAL_COUNT(...) __VA_ARGS__
#define NATURAL_SIGNED(...)
#define NATURAL_PERCENT(...)
#define NATURAL(name, unit, ...) NATURAL_##unit(METRIC(name, unit, __VA_ARGS__))
#define SIGNED_BYTES(...)
#define SIGNED_COUNT(...)
#define SIGNED_SIGNED(...) __VA_ARGS__
#define SIGNED_PERCENT(...)
#define SIGNED(name, unit, ...) SIGNED_##unit(METRIC(name, unit, __VA_ARGS__))
#define WHOLE_BYTES(...) __VA_ARGS__
#define WHOLE_COUNT(...) __VA_ARGS__
#define WHOLE_SIGNED(...) __VA_ARGS__
#define WHOLE_PERCENT(...)
#define WHOLE(name, unit, ...) WHOLE_##unit(METRIC(name, unit, __VA_ARGS__))
#define PERCENT_BYTES(...)
#define PERCENT_COUNT(...)
#define PERCENT_SIGNED(...)
#define PERCENT_PERCENT(...) __VA_ARGS__
#define PERCENT(name, unit, ...) PERCENT_##unit(METRIC(name, unit, __VA_ARGS__))

const struct frag_field frag_metrics_fields[] = {
	FRAG_METRICS_FIRST(WHOLE) FRAG_METRICS_FIRST(PERCENT) FRAG_METRICS_LATER(METRIC) { 0 },
};
const struct frag_field frag_peak_fields[] = {
	FRAG_METRICS_FIRST(WHOLE) FRAG_METRICS_LATER(WHOLE) { 0 },
};
const struct frag_field frag_baseline_metrics_fields[] = {
	FRAG_METRICS_FIRST(NATURAL) FRAG_METRICS_FIRST(PERCENT) FRAG_METRICS_FIRST(SIGNED)
	FRAG_METRICS_LATER(METRIC) { 0 },
};
const struct frag_field frag_baseline_peak_fields[] = {
	FRAG_METRICS_FIRST(NATURAL) FRAG_METRICS_FIRST(SIGNED) FRAG_METRICS_LATER(WHOLE) { 0 },
};

/* Of percentages over the steps ------------------------------------------------ */

static bool has_steps(const void *distribution, const struct frag_field *field)
{
	(void)field;
	return ((const struct frag_distribution *)distribution)->steps > 0;
}

#define OVER_STEPS(name, what)                                                                  \
	{ #name, FRAG_TYPE_PERCENT, FRAG_AT(distribution, name), what, .known = has_steps, .nullable = true }
#define OF_VALUES "the nearest rank, of values rounded to 0.01"
const struct frag_field frag_distribution_fields[] = {
	OVER_STEPS(min, "null, and so are those below: there are no events"),
	OVER_STEPS(mean, NULL), OVER_STEPS(p50, OF_VALUES), OVER_STEPS(p95, OF_VALUES),
	OVER_STEPS(p99, OF_VALUES), OVER_STEPS(max, NULL), OVER_STEPS(last, NULL),
	{ "time_weighted_mean", FRAG_TYPE_PERCENT, FRAG_AT(distribution, time_weighted_mean),
	  "each value for the time until the run's next row; null unless each row has a time, and they"
	  " differ", FRAG_THERE_IF(distribution, weighted) },
	{ "severe_steps", FRAG_TYPE_COUNT, FRAG_AT(distribution, severe_steps),
	  "events with a value above 70" },
	{ 0 },
};

#undef METRIC
#define METRIC(name, unit, since, peak, pool, rows, diff, text)                                 \
	{ #name, FRAG_TYPE_OBJECT, FRAG_AT(result, name), text ", over the events",              \
	  .fields = frag_distribution_fields },
const struct frag_field frag_distributions_fields[] = {
	FRAG_METRICS(PERCENT) { 0 },
};

/* The run ---------------------------------------------------------------------- */

const struct frag_field frag_device_sizes_fields[] = {
	{ "total_bytes", FRAG_TYPE_BYTES, FRAG_AT(result, total), "0: no limit" },
	{ "context_bytes", FRAG_TYPE_BYTES, FRAG_AT(result, context) },
	{ "other_bytes", FRAG_TYPE_BYTES, FRAG_AT(result, other), "of other processes" },
	{ "granularity_bytes", FRAG_TYPE_BYTES, FRAG_AT(result, granularity), .least = 1 },
	{ "small_granularity_bytes", FRAG_TYPE_BYTES, FRAG_AT(result, small_granularity),
	  "small segments share pages, and are rounded up to it", .absence = FRAG_UNLESS_ZERO,
	  .optional = true, .least = 1 },
	{ "small_most_bytes", FRAG_TYPE_BYTES, FRAG_AT(result, small_max), "the largest of them",
	  .absence = FRAG_UNLESS_ZERO, .optional = true, .least = 1 },
	{ 0 },
};

const struct frag_field frag_ordinal_field[] = {
	{ "ordinal", FRAG_TYPE_COUNT, FRAG_AT(result, device) }, { 0 },
};

const struct frag_field frag_result_device_fields[] = {
	FRAG_MEMBERS(FRAG_WHOLE, frag_ordinal_field),
	{ "name", FRAG_TYPE_TEXT, FRAG_AT(result, device_name), .nullable = true },
	FRAG_MEMBERS(FRAG_WHOLE, frag_device_sizes_fields),
	{ 0 },
};

const struct frag_field frag_status_fields[] = {
	{ "status", FRAG_TYPE_WORD, FRAG_AT(result, status), "error: the policy failed while others went"
	  " on; interrupted: by a signal; oom: a request failed", .words = frag_run_status_words },
	{ "steps", FRAG_TYPE_COUNT, FRAG_AT(result, steps), "rows of metrics: the valid events of this"
	  " device, up to the one at which the run stopped" },
	{ 0 },
};

#define X(name, what) { #name, FRAG_TYPE_COUNT, FRAG_AT(counts, name), what },
const struct frag_field frag_counts_fields[] = { FRAG_COUNTS(X) { 0 } };
#undef X
#define X(name, what) { #name, FRAG_TYPE_COUNT, FRAG_AT(planned, name), what },
static const struct frag_field planned_fields[] = { FRAG_PLANNED(X) { 0 } };
#undef X
#define X(name, type, what) { #name, FRAG_TYPE_##type, FRAG_AT(compaction, name), what },
static const struct frag_field compaction_fields[] = { FRAG_COMPACTION(X) { 0 } };
#undef X
#define X(name, what) { #name, FRAG_TYPE_COUNT, FRAG_AT(modelled, name), what },
static const struct frag_field modelled_fields[] = { FRAG_MODELLED(X) { 0 } };
#undef X

const struct frag_field frag_modelled_field[] = {
	{ "modelled", FRAG_TYPE_OBJECT, FRAG_AT(result, modelled), "with a profile of a device: what calls"
	  " of its driver would take", .fields = modelled_fields,
	  FRAG_THERE_IF(result, modelled.there), .optional = true },
	{ 0 },
};

const struct frag_field frag_placed_fields[] = {
	{ "compaction", FRAG_TYPE_OBJECT, FRAG_AT(result, compaction), "of policy compact: what was moved",
	  .fields = compaction_fields, FRAG_THERE_IF(result, compaction.there), .optional = true },
	{ "planned", FRAG_TYPE_OBJECT, FRAG_AT(result, planned), "of policy plan with a file: requests that were"
	  " placed as planned, and the causes for the others", .fields = planned_fields,
	  FRAG_THERE_IF(result, planned.there), .optional = true },
	{ 0 },
};

const char *const frag_oom_kinds[] = { "capacity", "fragmentation", NULL };

const struct frag_field frag_mark_fields[] = {
	{ "name", FRAG_TYPE_TEXT_JSON, FRAG_AT(mark, name) },
	{ "step", FRAG_TYPE_COUNT, FRAG_AT(mark, step) },
	{ 0 },
};

const struct frag_field frag_first_oom_fields[] = {
	{ "step", FRAG_TYPE_COUNT, FRAG_AT(oom, step) },
	{ "size", FRAG_TYPE_BYTES, FRAG_AT(oom, size) },
	{ "cause", FRAG_TYPE_WORD, FRAG_AT(oom, fragmentation), .words = frag_oom_kinds },
	{ 0 },
};
