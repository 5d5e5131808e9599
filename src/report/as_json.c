/* as_json.c - the result object of SPEC 7, and the list of policies. */
#include <string.h>

#include "report/head.h"
#include "report/measured.h"
#include "report/report.h"

static void put_metrics(struct frag_node_ref in, const struct frag_metrics *m, bool percents)
{
#define X(name)                                                               \
	if (m->opaque && frag_metric_is_opaque(#name))                        \
		frag_json_null(in, #name);                                    \
	else                                                                  \
		frag_json_u64(in, #name, m->name);
	FRAG_METRICS_BEFORE_DEVICE(X)
#undef X
#define X(name) frag_json_u64(in, #name, m->name);
	if (m->limited)
		frag_json_i64(in, "device_free", m->device_free);
	else
		frag_json_null(in, "device_free");
	X(process_used)
	FRAG_METRICS_COUNT(X)
#undef X
	if (percents) {
#define X(name)                                                               \
		if (m->opaque && frag_metric_is_opaque(#name))                \
			frag_json_null(in, #name);                            \
		else                                                          \
			frag_json_fixed4(in, #name, m->name);
		FRAG_METRICS_PERCENT(X)
#undef X
	}
}

static void put_distribution(struct frag_node_ref in, const char *key,
			     const struct frag_distribution *d)
{
	struct frag_node_ref o = frag_json_object(in, key);

#define X(name) frag_json_fixed4_or_null(o, #name, d->steps > 0, d->name);
	X(min) X(mean) X(p50) X(p95) X(p99) X(max) X(last)
#undef X
	frag_json_fixed4_or_null(o, "time_weighted_mean", d->weighted, d->time_weighted_mean);
	frag_json_u64(o, "severe_steps", d->severe_steps);
}

static void put_value(struct frag_node_ref in, const char *key,
		      const struct frag_param_spec *spec, uint64_t value)
{
	char text[FRAG_PARAM_TEXT];

	if (spec->type == FRAG_PARAM_BOOL) {
		frag_json_bool(in, key, value != 0);
	} else if (spec->type == FRAG_PARAM_OWN) {
		spec->print(value, text, sizeof(text));
		if (text[strspn(text, "0123456789.e+-")] == '\0')
			frag_json_raw(in, key, text);
		else
			frag_json_text(in, key, text);
	} else {
		frag_json_u64(in, key, value);
	}
}

static void put_policy(struct frag_node_ref in, const struct frag_choice *choice)
{
	struct frag_node_ref o = frag_json_object(in, "policy"), params;
	const struct frag_param_spec *spec = choice->ops->params;

	frag_json_text(o, "name", choice->ops->name);
	frag_json_text(o, "text", choice->text);
	params = frag_json_object(o, "params");
	for (uint32_t i = 0; spec && spec[i].name; i++)
		put_value(params, spec[i].name, &spec[i], choice->param[i]);
}

static void put_device(struct frag_node_ref in, const struct frag_result *r)
{
	struct frag_node_ref o = frag_json_object(in, "device");

	frag_json_u64(o, "ordinal", r->device);
	frag_json_text(o, "name", r->device_name);
	frag_json_u64(o, "total_bytes", r->total);
	frag_json_u64(o, "context_bytes", r->context);
	frag_json_u64(o, "other_bytes", r->other);
	frag_json_u64(o, "granularity_bytes", r->granularity);
	if (!r->small_most)
		return;
	frag_json_u64(o, "small_granularity_bytes", r->small_granularity);
	frag_json_u64(o, "small_most_bytes", r->small_most);
}

static void put_ooms(struct frag_node_ref in, const struct frag_result *r)
{
	struct frag_node_ref list = frag_json_array(in, "oom"), o;

	for (uint32_t i = 0; i < r->oom_count; i++) {
		const struct frag_oom *oom = &r->ooms[i];

		o = frag_json_object(list, NULL);
		frag_json_u64(o, "step", oom->step);
		frag_json_raw(o, "id", oom->id);
		frag_json_u64(o, "size", oom->size);
		frag_json_text(o, "message", oom->message);
		frag_json_text(o, "cause", oom->fragmentation ? "fragmentation" : "capacity");
	}
}

static void put_marks(struct frag_node_ref in, const struct frag_result *r)
{
	struct frag_node_ref list = frag_json_array(in, "marks"), o;

	for (uint32_t i = 0; i < r->mark_count; i++) {
		o = frag_json_object(list, NULL);
		frag_json_raw(o, "name", r->marks[i].name);
		frag_json_u64(o, "step", r->marks[i].step);
		put_metrics(o, &r->marks[i].metrics, true);
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

static void put_modelled(struct frag_node_ref in, const struct frag_modelled *m)
{
	struct frag_node_ref o = frag_json_object(in, "modelled");

#define X(name) frag_json_u64(o, #name, m->name);
	FRAG_MODELLED(X)
#undef X
}

static void put_run(struct frag_node_ref runs, const struct frag_result *r)
{
	struct frag_node_ref run = frag_json_object(runs, NULL), counts;

	put_policy(run, &r->choice);
	put_device(run, r);
	frag_json_text(run, "status", frag_run_status_name(r->status));
	frag_json_u64(run, "steps", r->steps);
	put_metrics(frag_json_object(run, "peak"), &r->peak, false);
	put_metrics(frag_json_object(run, "last"), &r->last, true);
#define X(name) put_distribution(run, #name, &r->name);
	FRAG_METRICS_PERCENT(X)
#undef X
	frag_json_u64(run, "lower_bound", r->lower_bound);
	counts = frag_json_object(run, "counts");
#define X(name) frag_json_u64(counts, #name, r->counts.name);
	FRAG_COUNTS(X)
#undef X
	if (r->has_stats)
		put_stats(run, r);
	if (r->modelled.there)
		put_modelled(run, &r->modelled);
	if (r->costs)
		frag_json_measured(run, r);
	put_ooms(run, r);
	put_marks(run, r);
}

static void put_head(struct frag_node_ref root, const struct frag_trace_info *trace)
{
	struct frag_node_ref o;

	frag_document_tool(root);
	o = frag_json_object(root, "trace");
	frag_json_text(o, "path", trace->path);
	frag_document_content(o, "content", trace->content);
	frag_json_u64(o, "events", trace->events);
	frag_json_u64(o, "allocs", trace->allocs);
	frag_json_u64(o, "frees", trace->frees);
	frag_json_bool(o, "complete", trace->whole);
}

int frag_report_json(const struct frag_report *report, struct frag_outfile *f,
		     struct frag_error *err)
{
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-result"), runs;
	int rc;

	put_head(root, report->trace);
	runs = frag_json_array(root, "runs");
	for (uint32_t i = 0; i < report->run_count; i++)
		put_run(runs, report->runs[i].result);
	rc = frag_json_write(&doc, f, err);
	frag_json_end(&doc);
	return rc;
}

static void put_param(struct frag_node_ref list, const struct frag_param_spec *spec)
{
	static const char *const types[] = { "size", "count", "bool", "own" };
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_json_text(o, "name", spec->name);
	frag_json_text(o, "type", types[spec->type]);
	if (spec->same_as)
		frag_json_text(o, "default", spec->same_as);
	else
		put_value(o, "default", spec, spec->fallback);
	if (spec->type == FRAG_PARAM_OWN)
		frag_json_text(o, "expects", spec->expects);
	if (spec->type == FRAG_PARAM_SIZE || spec->type == FRAG_PARAM_COUNT) {
		frag_json_u64(o, "least", spec->least);
		frag_json_bool(o, "power_of_two", spec->power_of_two);
	}
	frag_json_text(o, "help", spec->help);
}

int frag_report_policies_json(struct frag_outfile *f, struct frag_error *err)
{
	const struct frag_policy_ops *const *policies = frag_policies();
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-policies"), list, o, params;
	int rc;

	list = frag_json_array(root, "policies");
	for (uint32_t i = 0; policies[i]; i++) {
		o = frag_json_object(list, NULL);
		frag_json_text(o, "name", policies[i]->name);
		frag_json_text(o, "summary", policies[i]->summary);
		params = frag_json_array(o, "params");
		for (uint32_t k = 0; policies[i]->params && policies[i]->params[k].name; k++)
			put_param(params, &policies[i]->params[k]);
	}
	rc = frag_json_write(&doc, f, err);
	frag_json_end(&doc);
	return rc;
}
