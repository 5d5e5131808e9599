/* diff_json.c - a comparison as a JSON object, see fragsim-diff(1). */
#include <string.h>

#include "answers/diff_formats.h"
#include "documents/document_head.h"

static void put_value(struct frag_node_ref in, const char *key, enum frag_unit unit, bool there,
		      double value)
{
	if (!there)
		frag_json_null(in, key);
	else if (unit == FRAG_POINTS)
		frag_json_fixed4(in, key, value);
	else
		frag_json_i64(in, key, value < 0x1p63 ? (int64_t)value : INT64_MAX);
}

static void put_figures(struct frag_node_ref in, const struct frag_pair *pair)
{
	struct frag_node_ref figures = frag_json_object(in, "figures"), o;

	for (uint32_t i = 0; i < FRAG_FIGURES; i++) {
		const struct frag_figure *figure = &frag_figures[i];
		const struct frag_change c = frag_pair_change(figure, pair);

		if (!frag_figure_is_listed(figure, &c))
			continue;
		o = frag_json_object(figures, figure->path);
		put_value(o, "base", figure->unit, c.has_base, c.base);
		put_value(o, "value", figure->unit, c.has_value, c.value);
		put_value(o, "difference", figure->unit, c.compared, c.difference);
		put_value(o, "percent", FRAG_POINTS, c.has_percent, c.percent);
		frag_json_text(o, "verdict", c.compared ? frag_verdict_name(c.verdict) : NULL);
	}
}

static void put_words(struct frag_node_ref in, const char *key, const char *words)
{
	char json[FRAG_PLACE_ROOM];

	/* it is JSON already, except the quotes */
	snprintf(json, sizeof(json), "\"%s\"", words);
	frag_json_raw(in, key, *words ? json : NULL);
}

static void put_place(struct frag_node_ref in, const char *key,
		      const struct frag_divergence_point *w)
{
	static const char *const kinds[] = { "", "step", "mark", "steps" };
	struct frag_node_ref o;

	if (w->kind == FRAG_WHERE_NOWHERE) {
		frag_json_null(in, key);
		return;
	}
	o = frag_json_object(in, key);
	frag_json_text(o, "at", kinds[w->kind]);
	frag_json_u64(o, "step", w->step);
	frag_json_u64(o, "last_step", w->last);
	put_words(o, "event", w->event);
	put_words(o, "mark", w->mark);
	frag_json_u64(o, "base_reserved", w->base_reserved);
	frag_json_u64(o, "reserved", w->reserved);
	frag_json_u64(o, "base_allocated", w->base_allocated);
	frag_json_u64(o, "allocated", w->allocated);
}

static void put_lines(struct frag_node_ref in, const char *key, const char *lines)
{
	struct frag_node_ref list = frag_json_array(in, key);
	char line[FRAG_LINE_ROOM];

	while (frag_next_line(&lines, line))
		frag_json_text(list, NULL, line);
}

static void put_side(struct frag_node_ref in, const char *key, const struct frag_run *run)
{
	struct frag_node_ref o;

	if (!run) {
		frag_json_null(in, key);
		return;
	}
	o = frag_json_object(in, key);
	frag_json_text(o, "policy", run->policy);
	frag_json_text(o, "params", run->params);
	frag_json_text(o, "status", frag_run_status_name(run->result.status));
}

static void put_pair(struct frag_node_ref list, const struct frag_pair *pair)
{
	struct frag_node_ref o = frag_json_object(list, NULL);
	const struct frag_run *run = pair->run ? pair->run : pair->base;
	char reason[FRAG_REASON_ROOM];

	frag_json_u64(o, "device", run->result.device);
	put_side(o, "base", pair->base);
	put_side(o, "run", pair->run);
	frag_json_text(o, "verdict", pair->run && pair->base ? frag_verdict_name(pair->verdict)
		       : NULL);
	frag_unfinished_text(reason, pair);
	frag_json_text(o, "not_compared", *reason ? reason : NULL);
	put_lines(o, "conditions", pair->conditions);
	put_figures(o, pair);
	put_place(o, "first", &pair->first);
	put_place(o, "largest", &pair->largest);
}

static void put_trace(struct frag_node_ref in, const char *key, const struct frag_runs *runs)
{
	struct frag_node_ref o;

	if (!runs) {
		frag_json_null(in, key);
		return;
	}
	o = frag_json_object(in, key);
	frag_json_text(o, "path", runs->path);
	frag_json_text(o, "content", runs->content);
	frag_json_u64(o, "events", runs->events);
	frag_json_bool(o, "complete", runs->complete);
}

/* Ratios are null for a policy that has no run to compare with the first one's. */
static void put_standings(struct frag_node_ref root, const struct frag_diff *diff)
{
	struct frag_node_ref list = frag_json_array(root, "summary"), o;

	for (uint32_t i = 0; i < diff->standing_count; i++) {
		const struct frag_policy_summary *s = &diff->standings[i];

		o = frag_json_object(list, NULL);
		frag_json_text(o, "policy", s->run->policy);
		frag_json_u64(o, "runs", s->runs);
		frag_json_u64(o, "survived", s->survived);
		frag_json_u64(o, "compared", s->ratios);
		put_value(o, "peak_reserved_ratio", FRAG_POINTS, s->ratios > 0, s->ratio);
		put_value(o, "over_bound", FRAG_POINTS, s->ratios > 0, s->over_bound);
		put_value(o, "fi_device_mean_difference", FRAG_POINTS, s->ratios > 0, s->fi_device);
		frag_json_text(o, "best_trace", s->ratios ? frag_group_path(s->best) : NULL);
		put_value(o, "best_ratio", FRAG_POINTS, s->ratios > 0, s->best_ratio);
		frag_json_text(o, "worst_trace", s->ratios ? frag_group_path(s->worst) : NULL);
		put_value(o, "worst_ratio", FRAG_POINTS, s->ratios > 0, s->worst_ratio);
	}
}

static void put_broken(struct frag_node_ref list, const struct frag_broken *b)
{
	struct frag_node_ref o = frag_json_object(list, NULL);
	const struct frag_run *run = !b->pair ? NULL : b->pair->run ? b->pair->run : b->pair->base;
	const struct frag_condition *held = run && !b->alone ? b->found.condition : NULL;

	frag_json_text(o, "trace", frag_group_path(b->group));
	frag_json_text(o, "policy", run ? run->policy : NULL);
	if (run)
		frag_json_u64(o, "device", run->result.device);
	else
		frag_json_null(o, "device");
	frag_json_text(o, "condition", held ? held->text : NULL);
	frag_json_text(o, "path", held ? held->path : NULL);
	frag_json_text(o, "message", frag_broken_text(b));
}

/* Several conditions may come from one text, which is listed once. */
static void put_gate(struct frag_node_ref root, const struct frag_diff *diff)
{
	const struct frag_gate *gate = diff->gate;
	struct frag_node_ref o = frag_json_object(root, "gate"), list;

	frag_json_text(o, "verdict", frag_gate_word(diff));
	list = frag_json_array(o, "conditions");
	for (uint32_t i = 0; i < gate->condition_count; i++)
		if (frag_gate_begins_text(gate, i))
			frag_json_text(list, NULL, gate->conditions[i].text);
	list = frag_json_array(o, "broken");
	for (uint32_t i = 0; i < gate->count; i++)
		put_broken(list, &gate->broken[i]);
}

static void put_head(struct frag_node_ref root, const struct frag_comparison *c)
{
	frag_document_tool(root);
	frag_json_text(root, "of", c->policies ? "policies" : "runs");
	frag_json_text(root, "base", c->base.path);
	frag_json_text(root, "new", c->now.path);
	frag_json_bool(root, "interrupted", c->interrupted);
	put_lines(root, "conditions", c->conditions);
}

/* The members that fragsim-diff(1) describes, in its order. */
static int print(const struct frag_diff *diff, FILE *f, struct frag_error *err)
{
	const struct frag_comparison *c = diff->comparison;
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-comparison");
	struct frag_node_ref traces, o, pairs;
	int rc;

	put_head(root, c);
	put_gate(root, diff);
	put_standings(root, diff);
	traces = frag_json_array(root, "traces");
	for (uint32_t i = 0; i < c->count; i++) {
		const struct frag_group *g = &c->group[i];

		o = frag_json_object(traces, NULL);
		put_trace(o, "base", g->base);
		put_trace(o, "trace", g->runs);
		frag_json_bool(o, "changed", g->changed);
		put_lines(o, "conditions", g->conditions);
		pairs = frag_json_array(o, "runs");
		for (uint32_t k = 0; k < g->count; k++)
			put_pair(pairs, &g->pair[k]);
	}
	rc = frag_json_print(&doc, f, err);
	frag_json_end(&doc);
	return rc;
}

const struct frag_diff_format frag_diff_json = { .name = "json", .print = print };
