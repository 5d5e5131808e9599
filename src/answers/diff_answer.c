/* diff_answer.c - a comparison: the texts that its formats share, its rows and its document. */
#include "answers/diff_answer.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/escape.h"
#include "answers/table.h"
#include "documents/document_head.h"

const char *frag_figure_text(char buf[FRAG_NUMBER_ROOM], enum frag_unit unit, double value)
{
	if (unit == FRAG_BYTES)
		return frag_size_text(buf, (uint64_t)value);
	if (unit == FRAG_NANOSECONDS)
		return frag_time_text(buf, (uint64_t)value);
	frag_snprintf(buf, FRAG_NUMBER_ROOM, unit == FRAG_POINTS ? "%.2f" : "%.0f", value);
	return buf;
}

const char *frag_run_status_word(const struct frag_run *run)
{
	return run->result.status == FRAG_RUN_OOM ? "OOM"
	       : frag_run_status_name(run->result.status);
}

const char *frag_run_figure_text(char buf[FRAG_NUMBER_ROOM], const struct frag_figure *figure,
				 const struct frag_run *run)
{
	const bool whole = run->result.status == FRAG_RUN_OK;
	char text[FRAG_NUMBER_ROOM];
	double value;

	if (!frag_figure_value(figure, &run->result, &value) || (figure->of_peaks && !whole))
		return memcpy(buf, "-", sizeof("-"));
	if (whole || !frag_figure_is_of_peaks(figure))
		return frag_figure_text(buf, figure->unit, value);
	snprintf(buf, FRAG_NUMBER_ROOM, ">=%.29s", frag_figure_text(text, figure->unit, value));
	return buf;
}

/* "OOM at step 7", "interrupted after 12 steps", "finished". */
static const char *end_text(char buf[96], const struct frag_run *run)
{
	const struct frag_result *r = &run->result;

	if (r->status == FRAG_RUN_OK)
		snprintf(buf, 96, "finished");
	else if (r->status == FRAG_RUN_OOM && r->oom_count)
		snprintf(buf, 96, "OOM at step %" PRIu64, r->ooms[0].step);
	else
		snprintf(buf, 96, "%s %" PRIu64 " step%s",
			 r->status == FRAG_RUN_OOM ? "OOM within" : "interrupted after",
			 r->steps, frag_s(r->steps));
	return buf;
}

/* Do peaks differ that cannot be compared? */
static bool any_peak_left(const struct frag_pair *pair)
{
	for (uint32_t i = 0; i < FRAG_FIGURES; i++) {
		const struct frag_change c = frag_pair_change(&frag_figures[i], pair);

		if (c.has_base && c.has_value && !c.compared && c.verdict != FRAG_SAME)
			return true;
	}
	return false;
}

const char *frag_unfinished_text(char buf[FRAG_REASON_ROOM], const struct frag_pair *pair)
{
	char now[96], before[96];

	buf[0] = '\0';
	if (!pair->run || !pair->base)
		return buf;
	if (!frag_results_comparable(&pair->base->result, &pair->run->result))
		snprintf(buf, FRAG_REASON_ROOM, "values not compared: %s, the base: %s",
			 end_text(now, pair->run), end_text(before, pair->base));
	else if (any_peak_left(pair))
		snprintf(buf, FRAG_REASON_ROOM, "peaks not compared: %s, as the base",
			 end_text(now, pair->run));
	return buf;
}

const char *frag_difference_text(char buf[FRAG_NUMBER_ROOM], enum frag_unit unit, double value)
{
	char text[FRAG_NUMBER_ROOM];

	if (value == 0)
		return memcpy(buf, "=", sizeof("="));
	/* 0.00 would hide that there is a difference */
	if (unit == FRAG_POINTS && fabs(value) < 0.005)
		frag_snprintf(text, sizeof(text), "%.4f", fabs(value));
	else
		frag_figure_text(text, unit, fabs(value));
	snprintf(buf, FRAG_NUMBER_ROOM, "%c%.30s", value < 0 ? '-' : '+', text);
	return buf;
}

const char *frag_percent_text(char buf[FRAG_NUMBER_ROOM], const struct frag_change *change)
{
	buf[0] = '\0';
	if (change->has_percent && change->difference != 0)
		frag_snprintf(buf, FRAG_NUMBER_ROOM, fabs(change->percent) < 0.005 ? "%+.4f%%"
			      : "%+.2f%%", change->percent);
	return buf;
}

const char *frag_place_text(char buf[FRAG_PLACE_ROOM], const struct frag_divergence_point *w)
{
	int used;

	if (w->kind == FRAG_WHERE_MARK) {
		snprintf(buf, FRAG_PLACE_ROOM, "mark '%s' (step %" PRIu64 ")", w->mark, w->step);
		return buf;
	}
	if (w->kind == FRAG_WHERE_STEP)
		used = snprintf(buf, FRAG_PLACE_ROOM, "step %" PRIu64 " (%s)", w->step, w->event);
	else
		used = snprintf(buf, FRAG_PLACE_ROOM, "steps %" PRIu64 " to %" PRIu64, w->step,
				w->last);
	if (*w->mark)
		snprintf(buf + used, FRAG_PLACE_ROOM - (size_t)used, ", after mark '%s'", w->mark);
	return buf;
}

const char *frag_place_values(char buf[FRAG_PLACE_ROOM], const struct frag_divergence_point *w)
{
	char b[FRAG_NUMBER_ROOM], d[FRAG_NUMBER_ROOM];

	snprintf(buf, FRAG_PLACE_ROOM, "reserved %s (%s), allocated %s (%s)",
		 SIZE(w->reserved),
		 frag_difference_text(b, FRAG_BYTES,
				      (double)w->reserved - (double)w->base_reserved),
		 SIZE(w->allocated),
		 frag_difference_text(d, FRAG_BYTES,
				      (double)w->allocated - (double)w->base_allocated));
	return buf;
}

void frag_run_name(char *buf, size_t size, const struct frag_run *run)
{
	const char *name = run->label ? run->label : run->policy;

	if (run->result.device)
		frag_format_printable(buf, size, "%s @%u", name, run->result.device);
	else
		frag_format_printable(buf, size, "%s", name);
}

bool frag_next_line(const char **lines, char line[FRAG_LINE_ROOM])
{
	size_t n;

	if (!*lines || !**lines)
		return false;
	n = strcspn(*lines, "\n");
	snprintf(line, FRAG_LINE_ROOM, "%.*s", (int)(n < FRAG_LINE_ROOM ? n : FRAG_LINE_ROOM),
		 *lines);
	*lines += n + ((*lines)[n] == '\n');
	return true;
}

bool frag_any_modelled(const struct frag_group *group)
{
	for (uint32_t i = 0; i < group->count; i++)
		if (group->pair[i].run && group->pair[i].run->result.modelled.there)
			return true;
	return false;
}

bool frag_any_smallest(const struct frag_group *group)
{
	for (uint32_t i = 0; i < group->count; i++)
		if (group->pair[i].run && group->pair[i].run->result.smallest)
			return true;
	return false;
}

bool frag_many_traces(const struct frag_comparison *c)
{
	uint32_t with_runs = 0;

	for (uint32_t i = 0; i < c->count; i++)
		with_runs += c->group[i].count > 0;
	return with_runs > 1;
}

bool frag_any_better(const struct frag_diff *d)
{
	return !d->comparison->policies
	       && d->outcome->verdict[FRAG_BETTER] + d->outcome->verdict[FRAG_MIXED] > 0;
}

bool frag_better_base(const struct frag_diff *d)
{
	return frag_any_better(d) && !d->comparison->now.path && !d->updated && !d->gate->count;
}

const char *frag_gate_word(const struct frag_diff *d)
{
	if (d->updated || d->comparison->interrupted || !frag_gate_judges(d->gate))
		return NULL;
	return d->gate->count ? "broken" : "passed";
}

/* A text in a buffer of fixed size, truncated where it is too long. Needs no heap memory. */
struct room {
	char *buf;
	size_t size, used;
};

__attribute__((format(printf, 2, 3)))
static void put(struct room *r, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = frag_vsnprintf(r->buf + r->used, r->size - r->used, format, args);
	va_end(args);
	if (n > 0)
		r->used += (size_t)n < r->size - r->used ? (size_t)n : r->size - r->used - 1;
}

/* The worst verdicts first: a reader of one line may stop there. What a gate lets pass is
 * not called worse without saying so. */
void frag_outcome_text(char *buf, size_t size, const struct frag_diff *d)
{
	static const enum frag_verdict order[] = {
		FRAG_WORSE, FRAG_MIXED, FRAG_BETTER, FRAG_CHANGED, FRAG_SAME,
	};
	const struct frag_outcome *o = d->outcome;
	const struct frag_gate *gate = d->gate;
	const char *word = frag_gate_word(d), *before = ": ";
	struct room r = { .buf = buf, .size = size };
	uint32_t changed = 0;

	put(&r, "%s%s", word ? word : "", word ? ": " : "");
	if (o->compared)
		put(&r, "%" PRIu32 " run%s compared", o->compared, frag_s(o->compared));
	else
		put(&r, "no run compared, as there is nothing to compare with");
	if (word && gate->runs) {
		put(&r, ": %" PRIu32 " broken", gate->runs);
		before = ", ";
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const uint32_t n = o->verdict[order[i]] - (word ? gate->verdict[order[i]] : 0);
		const bool bad = order[i] == FRAG_WORSE || order[i] == FRAG_MIXED;

		if (!n)
			continue;
		put(&r, "%s%" PRIu32 " %s%s", before, n, frag_verdict_name(order[i]),
			word && bad ? " within the bounds" : "");
		before = ", ";
	}
	if (o->added)
		put(&r, "; %" PRIu32 " not in the base", o->added);
	if (o->missing)
		put(&r, "; %" PRIu32 " only in the base", o->missing);
	for (uint32_t i = 0; i < d->comparison->count; i++)
		changed += d->comparison->group[i].changed;
	if (changed)
		put(&r, "; %" PRIu32 " trace%s changed", changed, changed == 1 ? " has"
			: "s have");
}

/* CSV: a row for each run and metric ------------------------------------------- */

static void put_field(FILE *f, const char *text)
{
	frag_csv_text(f, text);
	putc(',', f);
}

static void csv_put_value(FILE *f, enum frag_unit unit, bool there, double value)
{
	if (there)
		frag_fprintf(f, unit == FRAG_POINTS ? "%.4f" : "%.0f", value);
	putc(',', f);
}

/* Numbers only: a peak that was cut is none, and left out, with what is made of it. */
static bool is_whole(const struct frag_figure *figure, const struct frag_run *run)
{
	return run && (run->result.status == FRAG_RUN_OK || !frag_figure_is_of_peaks(figure));
}

static void put_row(FILE *f, const struct frag_group *g, const struct frag_pair *pair,
		    const struct frag_figure *figure)
{
	const struct frag_run *run = pair->run ? pair->run : pair->base;
	const struct frag_change c = frag_pair_change(figure, pair);

	if (!frag_figure_is_listed(figure, &c))
		return;
	put_field(f, frag_group_path(g));
	put_field(f, run->policy);
	fprintf(f, "%u,%s,%s,", run->result.device,
		pair->run ? frag_run_status_name(pair->run->result.status) : "", figure->path);
	csv_put_value(f, figure->unit, c.has_base && is_whole(figure, pair->base), c.base);
	csv_put_value(f, figure->unit, c.has_value && is_whole(figure, pair->run), c.value);
	csv_put_value(f, figure->unit, c.compared, c.difference);
	if (c.has_percent)
		frag_fprintf(f, "%.4f", c.percent);
	fprintf(f, ",%s\n", c.compared ? frag_verdict_name(c.verdict)
		: (c.has_base && c.has_value) || (c.has_value && !is_whole(figure, pair->run))
		? "unfinished" : "");
}

/* The row of a trace whose content changed, before the rows of its runs. */
static void put_changed(const struct frag_diff *diff, FILE *f, const struct frag_group *g)
{
	if (!g->changed)
		return;
	put_field(f, frag_group_path(g));
	fputs(",,,content,", f);
	put_field(f, g->base->content);
	put_field(f, g->runs->content);
	fprintf(f, ",,%s\n", diff->gate->traces ? "broken" : "changed");
}

static int csv_print(const void *what, const struct frag_text_style *style, FILE *f,
		     struct frag_error *err)
{
	const struct frag_diff *diff = what;
	const struct frag_comparison *c = diff->comparison;

	(void)style;
	(void)err;
	fputs("trace,policy,device,status,figure,base,value,difference,percent,verdict\n", f);
	for (uint32_t i = 0; i < c->count; i++) {
		put_changed(diff, f, &c->group[i]);
		for (uint32_t k = 0; k < c->group[i].count; k++)
			for (uint32_t n = 0; n < FRAG_FIGURES; n++)
				put_row(f, &c->group[i], &c->group[i].pair[k], &frag_figures[n]);
	}
	return 0;
}

static const struct frag_format csv_format = { .name = "csv", .print = csv_print };

/* The JSON document, see fragsim-diff(1) ---------------------------------------- */

static void json_put_value(struct frag_node_ref in, const char *key, enum frag_unit unit, bool there,
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
		json_put_value(o, "base", figure->unit, c.has_base, c.base);
		json_put_value(o, "value", figure->unit, c.has_value, c.value);
		json_put_value(o, "difference", figure->unit, c.compared, c.difference);
		json_put_value(o, "percent", FRAG_POINTS, c.has_percent, c.percent);
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
		json_put_value(o, "peak_reserved_ratio", FRAG_POINTS, s->ratios > 0, s->ratio);
		json_put_value(o, "over_bound", FRAG_POINTS, s->ratios > 0, s->over_bound);
		json_put_value(o, "fi_device_mean_difference", FRAG_POINTS, s->ratios > 0, s->fi_device);
		frag_json_text(o, "best_trace", s->ratios ? frag_group_path(s->best) : NULL);
		json_put_value(o, "best_ratio", FRAG_POINTS, s->ratios > 0, s->best_ratio);
		frag_json_text(o, "worst_trace", s->ratios ? frag_group_path(s->worst) : NULL);
		json_put_value(o, "worst_ratio", FRAG_POINTS, s->ratios > 0, s->worst_ratio);
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
	frag_json_text(root, "of", c->policies ? "policies" : "runs");
	frag_json_text(root, "base", c->base.path);
	frag_json_text(root, "new", c->now.path);
	frag_json_bool(root, "interrupted", c->interrupted);
	put_lines(root, "conditions", c->conditions);
}

/* The members that fragsim-diff(1) describes, in its order. */
static void diff_document(struct frag_node_ref root, const void *what)
{
	const struct frag_diff *diff = what;
	const struct frag_comparison *c = diff->comparison;
	struct frag_node_ref traces, o, pairs;

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
}

static const struct frag_format json_format = {
	.name = "json", .format = "fragsim-comparison", .document = diff_document,
};

const struct frag_format *const frag_diff_formats[] = {
	&frag_diff_text, &csv_format, &frag_diff_github, &json_format, &frag_diff_junit,
	&frag_diff_markdown, NULL,
};
