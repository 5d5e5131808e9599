/*
 * result_write.c - writes runs: the result of one trace, the baseline of many, and the line of a
 * sweep, which is one trace of a baseline.
 *
 * A result contains all that a run has. A baseline contains the metrics that a condition can name,
 * and no marks. Both have the members of put_run() in common.
 */
#include "documents/document_head.h"
#include "documents/documents.h"
#include "documents/pytorch_oom_message.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "base/hash.h"
#include "fragsim/version.h"
#include "input/json_scan.h"
#include "metrics/driver_latency.h"
#include "metrics/metric.h"
#include "policy/configure_events.h"

#define UNIT(name) (1u << FRAG_METRIC_##name)

static uint32_t newest_edition(void)
{
	uint32_t edition = 1;

	for (const struct frag_metric *k = frag_metric_table(); k->name; k++)
		if (k->since > edition)
			edition = k->since;
	return edition;
}

struct frag_metrics_order frag_metrics_order(bool baseline, bool percents)
{
	/* the units of each group, up to the first 0 */
	static const unsigned result_groups[] = {
		UNIT(BYTES) | UNIT(SIGNED) | UNIT(COUNT), UNIT(PERCENT), 0,
	};
	static const unsigned baseline_groups[] = {
		UNIT(BYTES) | UNIT(COUNT), UNIT(PERCENT), UNIT(SIGNED), 0,
	};
	struct frag_metrics_order o = { .count = 0 };
	const uint32_t editions = newest_edition();

	for (uint32_t edition = 1; edition <= editions; edition++)
		for (const unsigned *group = baseline ? baseline_groups : result_groups; *group;
		     group++)
			for (const struct frag_metric *k = frag_metric_table(); k->name; k++)
				if (k->since == edition && *group & 1u << k->unit
				    && (percents || k->unit != FRAG_METRIC_PERCENT))
					o.metric[o.count++] = k;
	return o;
}

/* The lines of `frames` are JSON strings without their quotes. */
void frag_json_frames(struct frag_node_ref in, const char *frames)
{
	struct frag_node_ref list = frag_json_array(in, "frames");
	const char *end;

	for (; (end = strchr(frames, '\n')) != NULL; frames = end + 1) {
		const size_t length = (size_t)(end - frames);
		char *json = malloc(length + 3);

		if (!json) {
			in.doc->failed = true;
			return;
		}
		json[0] = json[length + 1] = '"';
		memcpy(json + 1, frames, length);
		json[length + 2] = '\0';
		frag_json_raw(list, NULL, json);
		free(json);
	}
}

/* Writes each tag with its largest stacks, where there are some. */
void frag_json_holders(struct frag_node_ref in, const char *key,
		       const struct frag_tag_usage *holders, uint32_t count)
{
	struct frag_node_ref list = frag_json_array(in, key), o, stacks, stack;

	for (const struct frag_tag_usage *h = holders; h < holders + count; h++) {
		o = frag_json_object(list, NULL);
		frag_json_raw(o, "tag", h->tag);
		frag_json_u64(o, "bytes", h->bytes);
		frag_json_u64(o, "blocks", h->blocks);
		frag_json_u64(o, "oldest", h->oldest);
		if (!h->all_stacks)
			continue;
		frag_json_u64(o, "all_stacks", h->all_stacks);
		stacks = frag_json_array(o, "stacks");
		for (uint32_t k = 0; k < h->stack_count; k++) {
			stack = frag_json_object(stacks, NULL);
			frag_json_frames(stack, h->stacks[k].frames);
			frag_json_u64(stack, "bytes", h->stacks[k].bytes);
			frag_json_u64(stack, "blocks", h->stacks[k].blocks);
			frag_json_u64(stack, "oldest", h->stacks[k].oldest);
		}
	}
}

/* The words of the report's first line. */
static const char *result_write_verdict_of(const struct frag_result *r)
{
	if (r->oom_count)
		return "does not fit";
	if (r->status == FRAG_RUN_INTERRUPTED)
		return "interrupted";
	return r->total ? "fits" : "no limit";
}

static void put_needs(struct frag_node_ref in, const struct frag_result *r,
		      const struct frag_diagnosis *a)
{
	struct frag_node_ref o;

	/* where the whole trace was not simulated to its end, even on an unlimited device */
	if (r->oom_count && !a->requested) {
		frag_json_null(in, "needs");
		return;
	}
	o = frag_json_object(in, "needs");
	frag_json_u64(o, "requested", a->requested);
	frag_json_u64(o, "allocated", a->allocated);
	frag_json_u64(o, "without_fragmentation", frag_answer_floor(a, r));
	frag_json_u64_or_null(o, "smallest", a->smallest > 0, a->smallest);
	frag_json_u64_or_null(o, "reliable", a->safe > 0, a->safe);
	frag_json_u64_or_null(o, "more_than", !a->smallest && a->failing, a->failing - 1);
}

static void put_lost(struct frag_node_ref in, const struct frag_result *r)
{
	struct frag_node_ref o;

	if (r->oom_count) {
		frag_json_null(in, "wasted");
		frag_json_null(in, "cached");
		return;
	}
	o = frag_json_object(in, "wasted");
	frag_json_u64(o, "bytes", r->at_peak.wasted);
	frag_json_u64(o, "most", r->peak.wasted);
	frag_json_u64(in, "cached", r->at_peak.releasable);
}

static void result_write_put_pin(struct frag_node_ref list, const struct frag_blocking_tag *pin)
{
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_json_raw(o, "tag", pin->tag);
	frag_json_u64(o, "bytes", pin->bytes);
	frag_json_u64(o, "blocks", pin->blocks);
	frag_json_u64(o, "free", pin->non_releasable);
	frag_json_u64(o, "places", pin->places);
	frag_json_bool(o, "alone", pin->alone);
}

/* Of a failed run: those that kept the hole, one place, from being free. */
static void put_pinned(struct frag_node_ref in, const struct frag_result *r,
		       const struct frag_diagnosis *a)
{
	struct frag_node_ref list = frag_json_array(in, "pinned");
	const struct frag_hole *hole = r->oom_count ? &r->ooms[0].hole : NULL;

	for (uint32_t i = 0; !hole && i < a->peak.pin_count; i++)
		result_write_put_pin(list, &a->peak.pins[i]);
	for (uint32_t i = 0; hole && hole->live < hole->bytes && i < hole->holder_count; i++) {
		const struct frag_tag_usage *h = &hole->holders[i];

		result_write_put_pin(list, &(struct frag_blocking_tag){
						   .tag = h->tag,
						   .bytes = h->bytes,
						   .blocks = h->blocks,
						   .places = 1,
						   .non_releasable = hole->bytes - hole->live,
						   .alone = hole->holder_count == 1,
					   });
	}
}

static void put_try(struct frag_node_ref in, const struct frag_diagnosis *a)
{
	char conf[FRAG_CONF_ROOM];
	struct frag_node_ref o;

	if (a->remedy.found) {
		frag_conf_text(&a->remedy.choice, conf, sizeof(conf));
		o = frag_json_object(in, "try");
		frag_json_text(o, "alloc_conf", conf);
		frag_json_u64(o, "requested", a->remedy.requested);
		frag_json_u64(o, "reserved", a->remedy.reserved);
		frag_json_u64(o, "wasted", a->remedy.wasted);
	} else {
		frag_json_null(in, "try");
	}
	frag_json_u64(in, "tried", a->remedies);
}

/* In the order and by the names of the report's rows. */
static void frag_json_answer(struct frag_node_ref run, const struct frag_result *r,
		      const struct frag_diagnosis *a)
{
	const struct frag_oom_diagnosis oom = frag_diagnosis_cause(a, r);
	struct frag_node_ref o;

	if (!a || r->last.opaque) {
		frag_json_null(run, "answer");
		return;
	}
	o = frag_json_object(run, "answer");
	frag_json_text(o, "verdict", result_write_verdict_of(r));
	frag_json_text(o, "cause", frag_oom_cause_name(oom.cause));
	put_needs(o, r, a);
	frag_json_bool(o, "hopeless", frag_diagnosis_exceeds_capacity(a, r));
	frag_json_bool(o, "nearly_full", oom.nearly_full);
	put_lost(o, r);
	put_pinned(o, r, a);
	if (r->oom_count)
		frag_json_holders(o, "held", r->ooms[0].holders, r->ooms[0].holder_count);
	else
		frag_json_holders(o, "held", a->peak.holders, a->peak.holder_count);
	put_try(o, a);
}

static void result_write_put_metric(struct frag_node_ref in, const struct frag_metrics *m,
				    const struct frag_metric *metric)
{
	const union frag_metric_value value = frag_metric_get(m, metric);

	if (!frag_metric_known(m, metric)) {
		frag_json_null(in, metric->name);
		return;
	}
	switch (metric->unit) {
	case FRAG_METRIC_BYTES:
	case FRAG_METRIC_COUNT:
		frag_json_u64(in, metric->name, value.u);
		break;
	case FRAG_METRIC_SIGNED:
		frag_json_i64(in, metric->name, value.i);
		break;
	case FRAG_METRIC_PERCENT:
		frag_json_fixed4(in, metric->name, value.d);
		break;
	}
}

static void result_write_put_metrics(struct frag_node_ref in, const struct frag_metrics *m,
				     bool percents, bool baseline)
{
	const struct frag_metrics_order order = frag_metrics_order(baseline, percents);

	for (uint32_t i = 0; i < order.count; i++)
		result_write_put_metric(in, m, order.metric[i]);
}

static void result_write_put_distribution(struct frag_node_ref in, const char *key,
			     const struct frag_distribution *d)
{
	struct frag_node_ref o = frag_json_object(in, key);

#define X(name) frag_json_fixed4_or_null(o, #name, d->steps > 0, d->name);
	X(min) X(mean) X(p50) X(p95) X(p99) X(max) X(last)
#undef X
	frag_json_fixed4_or_null(o, "time_weighted_mean", d->weighted, d->time_weighted_mean);
	frag_json_u64(o, "severe_steps", d->severe_steps);
}

static void result_write_put_device(struct frag_node_ref in, const struct frag_result *r)
{
	struct frag_node_ref o = frag_json_object(in, "device");

	frag_json_u64(o, "ordinal", r->device);
	frag_json_text(o, "name", r->device_name);
	frag_json_u64(o, "total_bytes", r->total);
	frag_json_u64(o, "context_bytes", r->context);
	frag_json_u64(o, "other_bytes", r->other);
	frag_json_u64(o, "granularity_bytes", r->granularity);
	if (!r->small_max)
		return;
	frag_json_u64(o, "small_granularity_bytes", r->small_granularity);
	frag_json_u64(o, "small_most_bytes", r->small_max);
}

static void put_hole(struct frag_node_ref in, const struct frag_hole *hole)
{
	struct frag_node_ref o;

	if (!hole->bytes) {
		frag_json_null(in, "hole");
		return;
	}
	o = frag_json_object(in, "hole");
	frag_json_u64(o, "segment", hole->segment);
	frag_json_u64(o, "offset", hole->offset);
	frag_json_u64(o, "bytes", hole->bytes);
	frag_json_u64(o, "live", hole->live);
	frag_json_bool(o, "whole", hole->whole);
	frag_json_holders(o, "holders", hole->holders, hole->holder_count);
}

static void result_write_put_ooms(struct frag_node_ref in, const struct frag_result *r)
{
	struct frag_node_ref list = frag_json_array(in, "oom"), o;
	char message[FRAG_OOM_MESSAGE_ROOM];

	for (uint32_t i = 0; i < r->oom_count; i++) {
		const struct frag_oom *oom = &r->ooms[i];

		o = frag_json_object(list, NULL);
		frag_json_u64(o, "step", oom->step);
		frag_json_raw(o, "id", oom->id);
		frag_json_u64(o, "size", oom->size);
		frag_json_text(o, "message", frag_oom_message(r, oom, message));
		frag_json_text(o, "cause", oom->fragmentation ? "fragmentation" : "capacity");
		frag_json_u64(o, "tried", oom->tried);
		frag_json_u64_or_null(o, "limit", oom->limit != UINT64_MAX, oom->limit);
		result_write_put_metrics(frag_json_object(o, "metrics"), &oom->metrics, true,
					 false);
		frag_json_holders(o, "holders", oom->holders, oom->holder_count);
		put_hole(o, &oom->hole);
	}
}

static void result_write_put_marks(struct frag_node_ref in, const struct frag_result *r)
{
	struct frag_node_ref list = frag_json_array(in, "marks"), o;

	for (uint32_t i = 0; i < r->mark_count; i++) {
		o = frag_json_object(list, NULL);
		frag_json_raw(o, "name", r->marks[i].name);
		frag_json_u64(o, "step", r->marks[i].step);
		result_write_put_metrics(o, &r->marks[i].metrics, true, false);
	}
}

static void put_stat(struct frag_node_ref in, const char *key, const struct frag_stat *s)
{
	struct frag_node_ref o = frag_json_object(in, key);

	frag_json_i64(o, "current", s->current);
	frag_json_u64(o, "peak", s->peak);
	frag_json_u64(o, "allocated", s->allocated);
	frag_json_u64(o, "freed", s->freed);
}

static void put_pool_stat(struct frag_node_ref in, const char *key,
			  const struct frag_pool_stat *s)
{
	struct frag_node_ref o = frag_json_object(in, key);

	put_stat(o, "all", &s->all);
	put_stat(o, "large_pool", &s->large);
	put_stat(o, "small_pool", &s->small);
}

/* As torch.cuda.memory_stats_as_nested_dict() names them, whichever policy keeps them. */
static void put_stats(struct frag_node_ref run, const struct frag_result *r)
{
	struct frag_node_ref o = frag_json_object(run, "pytorch");

#define X(name) frag_json_u64(o, #name, r->stats.name);
	FRAG_STAT_COUNTS(X)
#undef X
#define X(name) put_pool_stat(o, #name, &r->stats.name);
	FRAG_POOL_STATS(X)
#undef X
#define X(name) put_stat(o, #name, &r->stats.name);
	FRAG_PLAIN_STATS(X)
#undef X
}

/* Of a baseline `counts` and `modelled` alone. */
static void put_counters(struct frag_node_ref run, const struct frag_result *r, bool baseline)
{
	struct frag_node_ref o = frag_json_object(run, "counts");

#define X(name) frag_json_u64(o, #name, r->counts.name);
	FRAG_COUNTS(X)
#undef X
	if (!baseline && r->has_stats)
		put_stats(run, r);
	if (!baseline && r->compaction.there) {
		o = frag_json_object(run, "compaction");
#define X(name) frag_json_u64(o, #name, r->compaction.name);
		FRAG_COMPACTION(X)
#undef X
	}
	if (!baseline && r->planned.there) {
		o = frag_json_object(run, "planned");
#define X(name) frag_json_u64(o, #name, r->planned.name);
		FRAG_PLANNED(X)
#undef X
	}
	if (r->modelled.there) {
		o = frag_json_object(run, "modelled");
#define X(name) frag_json_u64(o, #name, r->modelled.name);
		FRAG_MODELLED(X)
#undef X
	}
}

/* What a snapshot had before its first event. */
static void put_beginning(struct frag_node_ref run, const struct frag_result *r)
{
	const struct frag_beginning *b = &r->beginning;
	struct frag_node_ref o;

	if (!b->segments && !b->live)
		return;
	o = frag_json_object(run, "beginning");
	frag_json_u64(o, "segments", b->segments);
	frag_json_u64(o, "live", b->live);
	frag_json_bool(o, "as_requests", b->as_requests
		       || !r->choice.ops->restore_segment);
	frag_json_bool(o, "peak", frag_peak_is_before(r));
}

static void put_class(struct frag_node_ref o, uint32_t which)
{
	frag_json_u64_or_null(o, "up_to_bytes", which < FRAG_SIZE_CLASSES - 1,
			      frag_size_class_max(which));
}

static void result_write_put_call(struct frag_node_ref list, const char *kind, uint32_t which,
				    const struct frag_latency *l)
{
	struct frag_node_ref o;

	if (!l->count)
		return;
	o = frag_json_object(list, NULL);
	frag_json_text(o, "call", kind);
	put_class(o, which);
	frag_json_u64(o, "count", l->count);
	frag_json_u64(o, "refused", l->refused);
	frag_json_u64(o, "total_ns", l->total_ns);
	frag_json_u64(o, "min_ns", l->min_ns);
	frag_json_u64(o, "p50_ns", frag_latency_rank(l, 50));
	frag_json_u64(o, "p95_ns", frag_latency_rank(l, 95));
	frag_json_u64(o, "p99_ns", frag_latency_rank(l, 99));
	frag_json_u64(o, "max_ns", l->max_ns);
}

void frag_json_calls(struct frag_node_ref in, const struct frag_driver_costs *c)
{
	struct frag_node_ref list = frag_json_array(in, "calls");

	for (uint32_t kind = 0; kind < FRAG_GPU_KINDS; kind++)
		for (uint32_t i = 0; i < FRAG_SIZE_CLASSES; i++)
			result_write_put_call(list, frag_gpu_kind_name((enum frag_gpu_kind)kind),
						i, &c->calls[kind][i]);
}

static void result_write_put_segments(struct frag_node_ref driver,
					const struct frag_driver_costs *c)
{
	struct frag_node_ref list = frag_json_array(driver, "segments"), o;

	for (uint32_t i = 0; i < FRAG_SIZE_CLASSES; i++) {
		const struct frag_taking *t = &c->segments[i];

		if (!t->count)
			continue;
		o = frag_json_object(list, NULL);
		put_class(o, i);
		frag_json_u64(o, "count", t->count);
		frag_json_u64(o, "asked", t->requested);
		frag_json_u64(o, "predicted", t->predicted);
		frag_json_u64(o, "taken", t->taken);
	}
}

static void put_prediction(struct frag_node_ref o, const struct frag_prediction *p)
{
	frag_json_bool(o, "differs", p->differs);
	frag_json_u64_or_null(o, "first_difference", p->differs, p->first_difference);
	frag_json_u64(o, "steps", p->steps);
	frag_json_u64(o, "reserved_predicted", p->reserved_predicted);
	frag_json_u64(o, "reserved_measured", p->reserved_measured);
	frag_json_u64(o, "used_predicted", p->used_predicted);
	frag_json_u64(o, "used_measured", p->used_measured);
	frag_json_i64(o, "free_predicted", p->free_predicted);
	frag_json_i64(o, "free_measured", p->free_measured);
	frag_json_u64_or_null(o, "oom_step_predicted", p->oom_predicted, p->oom_step_predicted);
	frag_json_u64_or_null(o, "oom_step_measured", p->oom_measured, p->oom_step_measured);
	frag_json_i64(o, "error_bytes", p->error_bytes);
	frag_json_fixed4(o, "error_percent", p->error_percent);
}

static void put_probes(struct frag_node_ref run, const struct frag_probes *all)
{
	struct frag_node_ref list, o;

	if (!all->count)
		return;
	list = frag_json_array(run, "probes");
	for (uint32_t i = 0; i < all->kept; i++) {
		o = frag_json_object(list, NULL);
		frag_json_u64(o, "step", all->probe[i].step);
		frag_json_raw(o, "mark", all->probe[i].mark);
		frag_json_u64(o, "free_bytes", all->probe[i].free);
		frag_json_u64(o, "largest_bytes", all->probe[i].largest);
		frag_json_fixed4(o, "fi", all->probe[i].fi);
	}
}

static void put_measured(struct frag_node_ref run, const struct frag_result *r)
{
	struct frag_node_ref driver;

	if (r->prediction.there)
		put_prediction(frag_json_object(run, "prediction"), &r->prediction);
	driver = frag_json_object(run, "driver");
	frag_json_calls(driver, r->costs);
	result_write_put_segments(driver, r->costs);
	put_probes(run, r->probes);
}

/* The members that a result and a baseline have in common, in the order of each. */
static void put_run(struct frag_node_ref run, const struct frag_result *r, bool baseline)
{
	result_write_put_device(run, r);
	if (!baseline)
		put_beginning(run, r);
	frag_json_text(run, "status", frag_run_status_name(r->status));
	frag_json_u64(run, "steps", r->steps);
	if (baseline)
		frag_json_u64(run, "lower_bound", r->lower_bound);
	result_write_put_metrics(frag_json_object(run, "peak"), &r->peak, false, baseline);
	result_write_put_metrics(frag_json_object(run, "last"), &r->last, true, baseline);
	for (const struct frag_metric *k = frag_metric_table(); k->name; k++)
		if (k->unit == FRAG_METRIC_PERCENT)
			result_write_put_distribution(run, k->name,
						      frag_metric_distribution_of(r, k));
	if (!baseline) {
		frag_json_u64(run, "lower_bound", r->lower_bound);
		frag_json_u64(run, "overhead_bytes", frag_result_overhead(r));
	}
	put_counters(run, r, baseline);
}

void frag_document_run(struct frag_node_ref run, const struct frag_result *r,
		       const struct frag_diagnosis *answer)
{
	char evidence[FRAG_EVIDENCE_ROOM];

	frag_document_policy(run, &r->choice);
	put_run(run, r, false);
	if (r->costs)
		put_measured(run, r);
	if (!r->last.opaque)
		frag_json_text(run, "evidence", frag_diagnosis_evidence(answer, r, evidence));
	frag_json_answer(run, r, answer);
	result_write_put_ooms(run, r);
	result_write_put_marks(run, r);
}

int frag_result_write(const struct frag_trace_info *trace, const struct frag_result *const *results,
		      const struct frag_diagnosis *answers, uint32_t count,
		      struct frag_outfile *out, struct frag_error *err)
{
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-result"), runs;
	int rc;

	frag_document_tool(root);
	frag_document_trace(root, "trace", trace);
	runs = frag_json_array(root, "runs");
	for (uint32_t i = 0; i < count; i++)
		frag_document_run(frag_json_object(runs, NULL), results[i],
				  answers ? &answers[i] : NULL);
	rc = frag_json_write(&doc, out, err);
	frag_json_end(&doc);
	return rc;
}

/* Windows of the course of a run in a baseline. */
#define STRETCHES 16

static void put_course(struct frag_node_ref run, const struct frag_timeline *timeline)
{
	struct frag_node_ref o = frag_json_object(run, "course"), list, one;
	struct frag_timeline c = *timeline;

	frag_timeline_shorten(&c, STRETCHES);
	frag_json_u64(o, "width", c.width);
	frag_json_u64(o, "in_last", c.in_last);
	list = frag_json_array(o, "stretches");
	for (uint32_t i = 0; i < c.count; i++) {
		one = frag_json_array(list, NULL);
		frag_json_u64(one, NULL, c.stretch[i].from);
		frag_json_u64(one, NULL, c.stretch[i].reserved);
		frag_json_u64(one, NULL, c.stretch[i].allocated);
	}
}

/* A value of "key=value,...": true, false and integers as such, all others as a string. */
static void result_write_put_param(struct frag_node_ref in, const char *key, const char *value,
				   size_t length)
{
	char text[FRAG_PARAM_TEXT];

	snprintf(text, sizeof(text), "%.*s", (int)length, value);
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0
	    || (*text && strspn(text, "0123456789") == length && (*text != '0' || length == 1)))
		frag_json_raw(in, key, text);
	else
		frag_json_text(in, key, text);
}

/*
 * The keys are read from the text `key=value,...` of the run: a run that was read from a file has
 * no choice.
 */
static void put_policy_text(struct frag_node_ref in, const struct frag_run *run)
{
	struct frag_node_ref o = frag_json_object(in, "policy"), params;
	char key[FRAG_PARAM_TEXT];

	frag_json_text(o, "name", run->name);
	frag_json_text(o, "text", run->policy);
	params = frag_json_object(o, "params");
	for (const char *p = run->params; *p;) {
		size_t n = strcspn(p, "="), length;
		const char *value = frag_params_find(run->params, p, n, &length);

		snprintf(key, sizeof(key), "%.*s", (int)n, p);
		result_write_put_param(params, key, value, length);
		p = value + length;
		p += *p == ',';
	}
}

static void put_baseline_run(struct frag_node_ref o, const struct frag_run *run)
{
	const struct frag_result *r = &run->result;
	struct frag_node_ref list, oom;

	put_policy_text(o, run);
	put_run(o, r, true);
	list = frag_json_array(o, "oom");
	if (r->oom_count) {
		oom = frag_json_object(list, NULL);
		frag_json_u64(oom, "step", r->ooms[0].step);
		frag_json_u64(oom, "size", r->ooms[0].size);
		frag_json_text(oom, "cause",
			       r->ooms[0].fragmentation ? "fragmentation" : "capacity");
	}
	put_course(o, &run->timeline);
}

/* A file name that is not UTF-8 is written as the hexadecimal digits of its bytes, too. */
static void put_path(struct frag_node_ref in, const char *path)
{
	const size_t length = strlen(path);
	char *hex = NULL;

	frag_json_text(in, "path", path);
	if (frag_utf8_is((const unsigned char *)path, length))
		return;
	hex = malloc(2 * length + 1);
	for (size_t i = 0; hex && i < length; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)path[i]);
	in.doc->failed |= !hex;
	frag_json_text(in, "path_bytes", hex);
	free(hex);
}

static void put_baseline_trace(struct frag_node_ref o, const struct frag_runs *runs)
{
	struct frag_node_ref list;

	put_path(o, runs->path);
	frag_json_text(o, "content", runs->content);
	frag_json_u64(o, "events", runs->events);
	frag_json_u64(o, "allocs", runs->allocs);
	frag_json_u64(o, "frees", runs->frees);
	frag_json_bool(o, "complete", runs->complete);
	list = frag_json_array(o, "runs");
	for (uint32_t i = 0; i < runs->count; i++)
		put_baseline_run(frag_json_object(list, NULL), &runs->run[i]);
}

/* The device sizes of the options, which a later comparison must be given too. */
static void put_given(struct frag_node_ref root, const struct frag_given *given)
{
	struct frag_node_ref o = { .node = NULL };

#define X(name)                                                        \
	if (given->has_##name) {                                       \
		o = o.node ? o : frag_json_object(root, "given");      \
		frag_json_u64(o, #name "_bytes", given->name);         \
	}
	FRAG_GIVEN(X)
#undef X
}

/* A change of one metric changes one line of the file. */
int frag_baseline_write(const struct frag_run_set *set, FILE *f, struct frag_error *err)
{
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-baseline"), list;
	int rc;

	frag_document_tool(root);
	put_given(root, &set->given);
	list = frag_json_array(root, "traces");
	for (uint32_t i = 0; i < set->count; i++)
		put_baseline_trace(frag_json_object(list, NULL), &set->trace[i]);
	rc = frag_json_print_lines(&doc, 5, "events", f, err);
	frag_json_end(&doc);
	return rc;
}

#define MANIFEST ", \"manifest\": \""
#define CHECK ", \"check\": \""
#define DIGITS 16
#define TAIL (sizeof(CHECK) - 1 + DIGITS + sizeof("\"}") - 1)

/* The hash replaces the brace that ends the object. */
int frag_run_line_write(const struct frag_runs *runs, uint32_t run, uint64_t manifest,
			const char *policy, uint64_t total, char **text, size_t *length,
			struct frag_error *err)
{
	struct frag_json doc;
	struct frag_node_ref root = frag_json_begin(&doc);
	struct frag_memory line;
	char *whole = NULL;
	int failed;

	*text = NULL;
	frag_json_u64(root, "run", run);
	frag_document_content(root, "manifest", manifest);
	frag_document_tool(root);
	frag_json_text(root, "policy", policy);
	frag_json_u64_or_null(root, "device_bytes", total != UINT64_MAX, total);
	put_baseline_trace(root, runs);
	failed = !frag_memory_open(&line);
	if (!failed) {
		failed = frag_json_print_lines(&doc, 0, "", line.f, err) != 0;
		failed |= !frag_memory_close(&line);
		whole = failed ? NULL : realloc(line.text, line.size + TAIL + 2);
		if (!whole)
			free(line.text);
	}
	frag_json_end(&doc);
	if (!whole)
		return frag_fail_nomem(err);
	*length = line.size - 2;        /* without the brace and the line end */
	*length += (size_t)snprintf(whole + *length, TAIL + 2, CHECK "%016" PRIx64 "\"}\n",
				    frag_hash_content(whole, *length, 0));
	*text = whole;
	return 0;
}

/* Exactly 16 digits. */
static const char *take_digits(const char *p, uint64_t *value)
{
	*value = 0;
	for (int i = 0; i < DIGITS; i++, p++) {
		if (*p >= '0' && *p <= '9')
			*value = *value << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			*value = *value << 4 | (uint64_t)(*p - 'a' + 10);
		else
			return NULL;
	}
	return p;
}

bool frag_run_line_parse(struct frag_run_line *line, const char *text, size_t length)
{
	const size_t begin = sizeof(FRAG_RUN_LINE_BEGIN) - 1;
	const size_t least = begin + 1 + sizeof(MANIFEST) - 1 + DIGITS + 1 + TAIL;
	const char *tail = text + length - TAIL, *p = text + begin, *digits = p;
	uint64_t run = 0;

	if (length < least || memcmp(text, FRAG_RUN_LINE_BEGIN, begin) != 0
	    || memcmp(tail, CHECK, sizeof(CHECK) - 1) != 0
	    || memcmp(text + length - 2, "\"}", 2) != 0)
		return false;
	for (; p < digits + 8 && *p >= '0' && *p <= '9'; p++)
		run = run * 10 + (uint64_t)(*p - '0');
	if (p == digits || (size_t)(tail - p) < sizeof(MANIFEST) + DIGITS
	    || memcmp(p, MANIFEST, sizeof(MANIFEST) - 1) != 0)
		return false;
	line->run = (uint32_t)run;
	return take_digits(p + sizeof(MANIFEST) - 1, &line->manifest)
	       && take_digits(tail + sizeof(CHECK) - 1, &line->check)
	       && frag_hash_content(text, (size_t)(tail - text), 0) == line->check;
}
