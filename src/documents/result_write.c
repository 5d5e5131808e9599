/* result_write.c - the result object: what was read, and each run. */
#include "documents/document_head.h"
#include "documents/documents.h"
#include "documents/metrics_order.h"
#include "documents/pytorch_oom_message.h"
#include "base/json.h"
#include "search/diagnose_run.h"
#include "policy/configure_events.h"
#include "metrics/result.h"

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
				     bool percents)
{
	const struct frag_metrics_order order = frag_result_order(percents);

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
		result_write_put_metrics(frag_json_object(o, "metrics"), &oom->metrics, true);
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
		result_write_put_metrics(o, &r->marks[i].metrics, true);
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

static void result_write_put_modelled(struct frag_node_ref in, const struct frag_modelled *m)
{
	struct frag_node_ref o = frag_json_object(in, "modelled");

#define X(name) frag_json_u64(o, #name, m->name);
	FRAG_MODELLED(X)
#undef X
}

static void put_compaction(struct frag_node_ref in, const struct frag_compaction *c)
{
	struct frag_node_ref o = frag_json_object(in, "compaction");

#define X(name) frag_json_u64(o, #name, c->name);
	FRAG_COMPACTION(X)
#undef X
}

static void put_planned(struct frag_node_ref in, const struct frag_planned *p)
{
	struct frag_node_ref o = frag_json_object(in, "planned");

#define X(name) frag_json_u64(o, #name, p->name);
	FRAG_PLANNED(X)
#undef X
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
}

void frag_document_run(struct frag_node_ref run, const struct frag_result *r,
		       const struct frag_diagnosis *answer)
{
	struct frag_node_ref counts;

	frag_document_policy(run, &r->choice);
	result_write_put_device(run, r);
	put_beginning(run, r);
	frag_json_text(run, "status", frag_run_status_name(r->status));
	frag_json_u64(run, "steps", r->steps);
	result_write_put_metrics(frag_json_object(run, "peak"), &r->peak, false);
	result_write_put_metrics(frag_json_object(run, "last"), &r->last, true);
	for (const struct frag_metric *k = frag_metric_table(); k->name; k++)
		if (k->unit == FRAG_METRIC_PERCENT)
			result_write_put_distribution(run, k->name,
						      frag_metric_distribution_of(r, k));
	frag_json_u64(run, "lower_bound", r->lower_bound);
	frag_json_u64(run, "overhead_bytes", frag_result_overhead(r));
	counts = frag_json_object(run, "counts");
#define X(name) frag_json_u64(counts, #name, r->counts.name);
	FRAG_COUNTS(X)
#undef X
	if (r->has_stats)
		put_stats(run, r);
	if (r->compaction.there)
		put_compaction(run, &r->compaction);
	if (r->planned.there)
		put_planned(run, &r->planned);
	if (r->modelled.there)
		result_write_put_modelled(run, &r->modelled);
	if (r->costs)
		frag_json_measured(run, r);
	frag_json_answer(run, r, answer);
	result_write_put_ooms(run, r);
	result_write_put_marks(run, r);
}

static void result_write_put_head(struct frag_node_ref root, const struct frag_trace_info *trace)
{
	frag_document_tool(root);
	frag_document_trace(root, "trace", trace);
}

int frag_result_write(const struct frag_trace_info *trace, const struct frag_result *const *results,
		      const struct frag_diagnosis *answers, uint32_t count,
		      struct frag_outfile *out, struct frag_error *err)
{
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-result"), runs;
	int rc;

	result_write_put_head(root, trace);
	runs = frag_json_array(root, "runs");
	for (uint32_t i = 0; i < count; i++)
		frag_document_run(frag_json_object(runs, NULL), results[i],
				  answers ? &answers[i] : NULL);
	rc = frag_json_write(&doc, out, err);
	frag_json_end(&doc);
	return rc;
}
