/*
 * result_write.c - writes runs: the result of one trace, the baseline of many, and the line of a
 * sweep, which is one trace of a baseline.
 *
 * A result contains all that a run has. A baseline contains the metrics that a condition can name,
 * and no marks. Both have the members of put_run() in common.
 */
#include "documents/document_head.h"
#include "documents/documents.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "input/json_scan.h"
#include "metrics/driver_latency.h"
#include "metrics/metric.h"
#include "policy/choice.h"

const struct frag_json_row frag_result_device_rows[] = {
	ROW_AS("total_bytes", result, total), ROW_AS("context_bytes", result, context),
	ROW_AS("other_bytes", result, other), ROW_AS("granularity_bytes", result, granularity),
	ROW_END,
};
const struct frag_json_row frag_small_rows[] = {
	ROW_AS("small_granularity_bytes", result, small_granularity),
	ROW_AS("small_most_bytes", result, small_max), ROW_END,
};
const struct frag_json_row frag_distribution_rows[] = {
	ROW(distribution, min), ROW(distribution, mean), ROW(distribution, p50),
	ROW(distribution, p95), ROW(distribution, p99), ROW(distribution, max),
	ROW(distribution, last), ROW_END,
};
const struct frag_json_row frag_runs_rows[] = {
	ROW(runs, content), ROW(runs, events), ROW(runs, allocs), ROW(runs, frees),
	ROW(runs, complete), ROW_END,
};
const struct frag_json_row frag_counts_rows[] = {
#define X(name) ROW(counts, name),
	FRAG_COUNTS(X) ROW_END,
#undef X
};
const struct frag_json_row frag_planned_rows[] = {
#define X(name) ROW(planned, name),
	FRAG_PLANNED(X) ROW_END,
#undef X
};
const struct frag_json_row frag_compaction_rows[] = {
#define X(name) ROW_SUM(#name, compaction, name),
	FRAG_COMPACTION(X) ROW_END,
#undef X
};
const struct frag_json_row frag_modelled_rows[] = {
#define X(name) ROW_SUM(#name, modelled, name),
	FRAG_MODELLED(X) ROW_END,
#undef X
};

#define UNIT(name) (1u << FRAG_METRIC_##name)

static const struct frag_json_row holder_rows[] = {
	ROW_JSON("tag", tag_usage, tag), ROW(tag_usage, bytes), ROW(tag_usage, blocks),
	ROW(tag_usage, oldest), ROW_END,
}, stack_rows[] = {
	ROW(holder_stack, bytes), ROW(holder_stack, blocks), ROW(holder_stack, oldest), ROW_END,
};

/* Writes each tag with its largest stacks, where there are some. */
static void put_holders(struct frag_node_ref in, const char *key,
			const struct frag_tag_usage *holders, uint32_t count)
{
	struct frag_node_ref list = frag_json_array(in, key), o, stacks, stack;

	for (uint32_t i = 0; i < count; i++) {
		const struct frag_tag_usage *h = &holders[i];

		o = frag_json_of(list, NULL, holder_rows, h);
		if (!h->all_stacks)
			continue;
		frag_json_u64(o, "all_stacks", h->all_stacks);
		stacks = frag_json_array(o, "stacks");
		for (uint32_t k = 0; k < h->stack_count; k++) {
			stack = frag_json_object(stacks, NULL);
			frag_json_frames(stack, "frames", h->stacks[k].frames);
			frag_json_rows(stack, stack_rows, &h->stacks[k]);
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
	/* null where the whole trace was not simulated to its end, even on an unlimited device */
	struct frag_node_ref o = frag_json_object_or_null(in, "needs", !r->oom_count || a->requested);

	if (!o.node)
		return;
	frag_json_u64(o, "requested", a->requested);
	frag_json_u64(o, "allocated", a->allocated);
	frag_json_u64(o, "without_fragmentation", frag_diagnosis_lower_bound(a, r));
	frag_json_u64_or_null(o, "smallest", a->smallest > 0, a->smallest);
	frag_json_u64_or_null(o, "reliable", a->reliable > 0, a->reliable);
	frag_json_u64_or_null(o, "more_than", !a->smallest && a->failing, a->failing - 1);
}

static void put_lost(struct frag_node_ref in, const struct frag_result *r)
{
	static const struct frag_json_row rows[] = {
		ROW_AS("bytes", result, at_peak.wasted), ROW_AS("most", result, peak.wasted),
		ROW_END,
	};

	frag_json_of(in, "wasted", rows, r->oom_count ? NULL : r);
	frag_json_u64_or_null(in, "cached", !r->oom_count, r->at_peak.releasable);
}

static const struct frag_json_row blocking_rows[] = {
	ROW_JSON("tag", blocking_tag, tag), ROW(blocking_tag, bytes), ROW(blocking_tag, blocks),
	ROW_AS("free", blocking_tag, non_releasable), ROW(blocking_tag, places),
	ROW(blocking_tag, alone), ROW_END,
};

/* Of a failed run: those that kept the hole, one place, from being free. */
static void put_pinned(struct frag_node_ref in, const struct frag_result *r,
		       const struct frag_diagnosis *a)
{
	struct frag_node_ref list = frag_json_array(in, "pinned");
	const struct frag_hole *hole = r->oom_count ? &r->ooms[0].hole : NULL;

	for (uint32_t i = 0; !hole && i < a->peak.blocking_count; i++)
		frag_json_of(list, NULL, blocking_rows, &a->peak.blocking[i]);
	for (uint32_t i = 0; hole && hole->live < hole->bytes && i < hole->holder_count; i++) {
		const struct frag_tag_usage *h = &hole->holders[i];
		const struct frag_blocking_tag blocking = {
			.tag = h->tag, .bytes = h->bytes, .blocks = h->blocks, .places = 1,
			.non_releasable = hole->bytes - hole->live,
			.alone = hole->holder_count == 1,
		};

		frag_json_of(list, NULL, blocking_rows, &blocking);
	}
}

static void put_try(struct frag_node_ref in, const struct frag_diagnosis *a)
{
	static const struct frag_json_row rows[] = {
		ROW(setting_fix, requested), ROW(setting_fix, reserved), ROW(setting_fix, wasted),
		ROW_END,
	};
	struct frag_node_ref o = frag_json_object_or_null(in, "try", a->fix.found);

	if (o.node) {
		frag_json_text(o, "alloc_conf", CONF(&a->fix.choice));
		frag_json_rows(o, rows, &a->fix);
	}
	frag_json_u64(in, "tried", a->fixes);
}

/* In the order and by the names of the report's rows. */
static void frag_json_answer(struct frag_node_ref run, const struct frag_result *r,
		      const struct frag_diagnosis *a)
{
	const struct frag_oom_diagnosis oom = frag_diagnosis_cause(a, r);
	struct frag_node_ref o = frag_json_object_or_null(run, "answer", a && !r->last.opaque);

	if (!o.node)
		return;
	frag_json_text(o, "verdict", result_write_verdict_of(r));
	frag_json_text(o, "cause", frag_oom_cause_name(oom.cause));
	put_needs(o, r, a);
	frag_json_bool(o, "hopeless", frag_diagnosis_exceeds_capacity(a, r));
	frag_json_bool(o, "nearly_full", oom.nearly_full);
	put_lost(o, r);
	put_pinned(o, r, a);
	if (r->oom_count)
		put_holders(o, "held", r->ooms[0].holders, r->ooms[0].holder_count);
	else
		put_holders(o, "held", a->peak.holders, a->peak.holder_count);
	put_try(o, a);
}

static void result_write_put_metric(struct frag_node_ref in, const struct frag_metrics *m,
				    const struct frag_metric *metric)
{
	const union frag_metric_value value = frag_metric_get(m, metric);

	if (!frag_metric_known(m, metric))
		frag_json_null(in, metric->name);
	else if (metric->unit == FRAG_METRIC_PERCENT)
		frag_json_fixed4(in, metric->name, value.d);
	else if (metric->unit == FRAG_METRIC_SIGNED)
		frag_json_i64(in, metric->name, value.i);
	else
		frag_json_u64(in, metric->name, value.u);
}

/*
 * Metrics of the first edition, then those that the second one added, and so on; in each edition
 * bytes and counts before percentages. A result has signed bytes among the former, a baseline
 * after the latter. A peak has no percentages.
 */
static void result_write_put_metrics(struct frag_node_ref in, const struct frag_metrics *m,
				     bool percents, bool baseline)
{
	/* the units of each group, up to the first 0 */
	static const unsigned result_groups[] = {
		UNIT(BYTES) | UNIT(SIGNED) | UNIT(COUNT), UNIT(PERCENT), 0,
	};
	static const unsigned baseline_groups[] = {
		UNIT(BYTES) | UNIT(COUNT), UNIT(PERCENT), UNIT(SIGNED), 0,
	};
	uint32_t newest = 1;

	for (uint32_t edition = 1; edition <= newest; edition++)
		for (const unsigned *group = baseline ? baseline_groups : result_groups; *group;
		     group++)
			for (const struct frag_metric *k = frag_metric_table(); k->name; k++) {
				newest = k->since > newest ? k->since : newest;
				if (k->since == edition && *group & 1u << k->unit
				    && (percents || k->unit != FRAG_METRIC_PERCENT))
					result_write_put_metric(in, m, k);
			}
}

static void result_write_put_distribution(struct frag_node_ref in, const char *key,
					  const struct frag_distribution *d)
{
	struct frag_node_ref o = frag_json_object(in, key);

	for (const struct frag_json_row *row = frag_distribution_rows; row->name; row++)
		frag_json_fixed4_or_null(o, row->name, d->steps > 0,
					 *(const double *)((const char *)d + row->at));
	frag_json_fixed4_or_null(o, "time_weighted_mean", d->weighted, d->time_weighted_mean);
	frag_json_u64(o, "severe_steps", d->severe_steps);
}

static void put_hole_holders(struct frag_node_ref in, const void *of)
{
	const struct frag_hole *hole = of;

	put_holders(in, "holders", hole->holders, hole->holder_count);
}

static const struct frag_json_row hole_rows[] = {
	ROW(hole, segment), ROW(hole, offset), ROW(hole, bytes), ROW(hole, live), ROW(hole, whole),
	ROW_CALL(put_hole_holders), ROW_END,
};

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
		frag_json_text(o, "message", frag_oom_message(r, oom, false, message));
		frag_json_text(o, "cause", oom->fragmentation ? "fragmentation" : "capacity");
		frag_json_u64(o, "tried", oom->tried);
		frag_json_u64_or_null(o, "limit", oom->limit != UINT64_MAX, oom->limit);
		result_write_put_metrics(frag_json_object(o, "metrics"), &oom->metrics, true,
					 false);
		put_holders(o, "holders", oom->holders, oom->holder_count);
		frag_json_of(o, "hole", hole_rows, oom->hole.bytes ? &oom->hole : NULL);
	}
}

static void result_write_put_marks(struct frag_node_ref in, const struct frag_result *r)
{
	struct frag_node_ref list = frag_json_array(in, "marks"), o;
	const uint32_t shown = frag_json_shown(in, "marks", r->mark_count);

	for (uint32_t i = 0; i < shown; i++) {
		o = frag_json_object(list, NULL);
		frag_json_raw(o, "name", r->marks[i].name);
		frag_json_u64(o, "step", r->marks[i].step);
		result_write_put_metrics(o, &r->marks[i].metrics, true, false);
	}
}

static const struct frag_json_row stat_rows[] = {
	ROW(stat, current), ROW(stat, peak), ROW(stat, allocated), ROW(stat, freed), ROW_END,
}, pool_stat_rows[] = {
	ROW_OBJECT("all", pool_stat, all, stat_rows),
	ROW_OBJECT("large_pool", pool_stat, large, stat_rows),
	ROW_OBJECT("small_pool", pool_stat, small, stat_rows), ROW_END,
}, memory_stats_rows[] = {
/* as torch.cuda.memory_stats_as_nested_dict() names them, whichever policy keeps them */
#define X(name) ROW(memory_stats, name),
	FRAG_STAT_COUNTS(X)
#undef X
#define X(name) ROW_OBJECT(#name, memory_stats, name, pool_stat_rows),
	FRAG_POOL_STATS(X)
#undef X
#define X(name) ROW_OBJECT(#name, memory_stats, name, stat_rows),
	FRAG_PLAIN_STATS(X)
#undef X
	ROW_END,
};

/* Of a baseline `counts` and `modelled` alone. */
static void put_counters(struct frag_node_ref run, const struct frag_result *r, bool baseline)
{
	frag_json_of(run, "counts", frag_counts_rows, &r->counts);
	if (!baseline && r->has_stats)
		frag_json_of(run, "pytorch", memory_stats_rows, &r->stats);
	if (!baseline && r->compaction.there)
		frag_json_of(run, "compaction", frag_compaction_rows, &r->compaction);
	if (!baseline && r->planned.there)
		frag_json_of(run, "planned", frag_planned_rows, &r->planned);
	if (r->modelled.there)
		frag_json_of(run, "modelled", frag_modelled_rows, &r->modelled);
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

static void result_write_put_segments(struct frag_node_ref driver,
					const struct frag_driver_costs *c)
{
	static const struct frag_json_row rows[] = {
		ROW(taking, count), ROW_AS("asked", taking, requested), ROW(taking, predicted),
		ROW(taking, taken), ROW_END,
	};
	struct frag_node_ref list = frag_json_array(driver, "segments"), o;

	for (uint32_t i = 0; i < FRAG_SIZE_CLASSES; i++) {
		if (!c->segments[i].count)
			continue;
		o = frag_json_object(list, NULL);
		frag_json_u64_or_null(o, "up_to_bytes", i < FRAG_SIZE_CLASSES - 1,
				      frag_size_class_max(i));
		frag_json_rows(o, rows, &c->segments[i]);
	}
}

static const struct frag_json_row prediction_rows[] = {
#define P(name) ROW(prediction, name)
	P(differs), ROW_IF(differs, "first_difference", prediction, first_difference), P(steps),
	P(reserved_predicted), P(reserved_measured), P(used_predicted), P(used_measured),
	P(free_predicted), P(free_measured),
	ROW_IF(oom_predicted, "oom_step_predicted", prediction, oom_step_predicted),
	ROW_IF(oom_measured, "oom_step_measured", prediction, oom_step_measured),
	P(error_bytes), P(error_percent), ROW_END,
#undef P
}, probe_rows[] = {
	ROW(probe, step), ROW_JSON("mark", probe, mark), ROW_AS("free_bytes", probe, free),
	ROW_AS("largest_bytes", probe, largest), ROW(probe, fi), ROW_END,
};

static void put_measured(struct frag_node_ref run, const struct frag_result *r)
{
	struct frag_node_ref driver;

	if (r->prediction.there)
		frag_json_of(run, "prediction", prediction_rows, &r->prediction);
	driver = frag_json_object(run, "driver");
	frag_json_calls(driver, r->costs);
	result_write_put_segments(driver, r->costs);
	if (r->probes->count)
		FRAG_JSON_LIST(run, "probes", probe_rows, r->probes->probe, r->probes->kept);
}

/* The members that a result and a baseline have in common, in the order of each. */
static void put_run(struct frag_node_ref run, const struct frag_result *r, bool baseline)
{
	struct frag_node_ref device = frag_json_object(run, "device");

	frag_json_u64(device, "ordinal", r->device);
	frag_json_text(device, "name", r->device_name);
	frag_json_rows(device, frag_result_device_rows, r);
	if (r->small_max)
		frag_json_rows(device, frag_small_rows, r);
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
		frag_json_u64(run, "overhead_bytes", r->peak.reserved > r->peak.requested
			      ? r->peak.reserved - r->peak.requested : 0);
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
		      const struct frag_diagnosis *answers, const struct frag_claim *claims, uint32_t count,
		      struct frag_outfile *out, struct frag_error *err)
{
	const struct frag_claim none = {
		.part = frag_scope_part(&trace->scope), .at_least = UINT64_MAX,
	};
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-result"), runs;

	frag_document_tool(root);
	frag_document_trace(root, "trace", trace);
	runs = frag_json_array(root, "runs");
	for (uint32_t i = 0; i < count; i++) {
		struct frag_node_ref run = frag_json_object(runs, NULL);

		frag_document_run(run, results[i], answers ? &answers[i] : NULL);
		frag_document_claim(run, claims ? &claims[i] : &none);
	}
	return frag_json_write(&doc, out, err);
}

/* Windows of the course of a run in a baseline. */
#define STRETCHES 16

static void put_course(struct frag_node_ref run, const struct frag_timeline *timeline)
{
	struct frag_node_ref o = frag_json_object(run, "course"), list, one;
	struct frag_timeline c = *timeline;

	while (c.count > STRETCHES)
		frag_timeline_widen(&c, 2 * c.width);
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
	frag_json_rows(o, frag_runs_rows, runs);
	if (frag_runs_are_part(runs))
		frag_document_scope(o, "scope", &runs->scope);
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
static bool take_digits(const char *p, uint64_t *value)
{
	*value = strtoull(p, NULL, 16);
	return strspn(p, "0123456789abcdef") == DIGITS;
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
