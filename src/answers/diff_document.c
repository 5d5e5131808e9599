/* diff_document.c - the document of a comparison, see fragsim-diff(1). */
#include "answers/diff_answer.h"

#include <inttypes.h>
#include <string.h>

#include "documents/document_head.h"

/* Lines of text: line i, and its pointer, into `element`. */
static bool text_line(const char *lines, uint32_t i, void *element)
{
	char *const line = (char *)element + sizeof(line);

	for (uint32_t k = 0; frag_next_line(&lines, line); k++)
		if (k == i) {
			*(const char **)element = line;
			return true;
		}
	return false;
}

/* The values of a run -------------------------------------------------------------- */

/* A change in either form: of whole numbers, or of numbers with decimals. */
struct frag_figure_view {
	uint64_t whole_base, whole_value;
	int64_t whole_difference;
	struct frag_change change;
	bool listed;
};

struct frag_pair_view {
	const struct frag_pair *pair;
	const struct frag_run *base, *run;
	uint32_t device;
	struct frag_figure_view figure[FRAG_FIGURES];
};
_Static_assert(sizeof(struct frag_pair_view) <= FRAG_ELEMENT_MAX, "it is an element");

static int64_t whole_of(double value)
{
	return value < 0x1p63 ? (int64_t)value : INT64_MAX;
}

static bool pair_at(const void *of, uint32_t i, void *element)
{
	const struct frag_group *g = of;
	struct frag_pair_view *to = element;

	if (i == g->count)
		return false;
	*to = (struct frag_pair_view){
		.pair = &g->pair[i], .base = g->pair[i].base, .run = g->pair[i].run,
	};
	to->device = (to->run ? to->run : to->base)->result.device;
	for (uint32_t k = 0; k < FRAG_FIGURES; k++) {
		const struct frag_change c = frag_pair_change(&frag_figures[k], &g->pair[i]);

		to->figure[k] = (struct frag_figure_view){
			(uint64_t)whole_of(c.base), (uint64_t)whole_of(c.value), whole_of(c.difference),
			c, frag_figure_is_listed(&frag_figures[k], &c),
		};
	}
	return true;
}

static bool is_listed(const void *pair, const struct frag_field *field)
{
	const char *const at = (const char *)pair + field->at;

	return ((const struct frag_figure_view *)(const void *)at)->listed;
}

#define FIGURE(m) FRAG_AT(figure_view, m)
#define IF_CHANGE(flag) FRAG_THERE_IF(figure_view, change.flag)
static const struct frag_field judged_fields[] = {
	{ "percent", FRAG_TYPE_CHANGE, FIGURE(change.percent), "the difference, of the base",
	  IF_CHANGE(has_percent) },
	{ "verdict", FRAG_TYPE_WORD, FIGURE(change.verdict), .words = frag_verdict_words,
	  .except = 1 << FRAG_MIXED, IF_CHANGE(compared) },
	{ 0 },
}, whole_fields[] = {
	{ "base", FRAG_TYPE_COUNT, FIGURE(whole_base), IF_CHANGE(has_base) },
	{ "value", FRAG_TYPE_COUNT, FIGURE(whole_value), IF_CHANGE(has_value) },
	{ "difference", FRAG_TYPE_INTEGER, FIGURE(whole_difference), IF_CHANGE(compared) },
	FRAG_MEMBERS(FRAG_WHOLE, judged_fields), { 0 },
}, points_fields[] = {
	{ "base", FRAG_TYPE_CHANGE, FIGURE(change.base), IF_CHANGE(has_base) },
	{ "value", FRAG_TYPE_CHANGE, FIGURE(change.value), IF_CHANGE(has_value) },
	{ "difference", FRAG_TYPE_CHANGE, FIGURE(change.difference), "in points", IF_CHANGE(compared) },
	FRAG_MEMBERS(FRAG_WHOLE, judged_fields), { 0 },
};

#define FIELDS_BYTES whole_fields
#define FIELDS_COUNT whole_fields
#define FIELDS_NUMBER whole_fields
#define FIELDS_NANOSECONDS whole_fields
#define FIELDS_PERCENT points_fields
#define FIELDS_POINTS points_fields
#define OWN_FIELD(name, path, unit, some, ...)                                                  \
	{ path, FRAG_TYPE_OBJECT, FRAG_AT(pair_view, figure[FRAG_##name]), .fields = FIELDS_##unit, \
	  .known = is_listed, .optional = (some) },
/* The places of metrics follow FRAG_METRIC_FIGURES, in their order. */
#define PLACE_APART(name)
#define PLACE_FIGURE(name) FIGURE_##name,
#define FIGURE_PLACE(name, unit, since, peak, pool, rows, diff, text) PLACE_##diff(name)
enum { FIGURES_BEFORE = FRAG_METRIC_FIGURES - 1, FRAG_METRICS(FIGURE_PLACE) };
#define FIELD_APART(name, unit)
#define FIELD_FIGURE(name, unit)                                                                \
	{ "peak." #name, FRAG_TYPE_OBJECT, FRAG_AT(pair_view, figure[FIGURE_##name]),           \
	  .fields = FIELDS_##unit },
#define METRIC_FIELD(name, unit, since, peak, pool, rows, diff, text) FIELD_##diff(name, unit)
static const struct frag_field figures_fields[] = {
	FRAG_OWN_FIGURES(OWN_FIELD) FRAG_METRICS(METRIC_FIELD) { 0 },
};

/* Where two runs differ ---------------------------------------------------------- */

static bool is_somewhere(const void *pair, const struct frag_field *field)
{
	const char *const at = (const char *)pair + field->at;

	return ((const struct frag_divergence_point *)(const void *)at)->kind != FRAG_WHERE_NOWHERE;
}

static const char *const places[] = { "step", "mark", "steps", NULL };

static struct frag_cell_value place_of(const void *where)
{
	return FRAG_TEXT_OF(places[((const struct frag_divergence_point *)where)->kind - 1]);
}

/* It is JSON already, except the quotes. */
static const char *quoted(const char *words, char *buf)
{
	snprintf(buf, FRAG_PLACE_ROOM, "\"%s\"", words);
	return *words ? buf : NULL;
}

static const char *event_of(const void *where, char *buf)
{
	return quoted(((const struct frag_divergence_point *)where)->event, buf);
}

static const char *mark_of(const void *where, char *buf)
{
	return quoted(((const struct frag_divergence_point *)where)->mark, buf);
}

#define WHERE(m) FRAG_AT(divergence_point, m)
static const struct frag_field place_fields[] = {
	{ "at", FRAG_TYPE_WORD, FRAG_WHOLE, "step: exactly there; mark: at this mark, of those that are known;"
	  " steps: in this interval", .get = place_of, .words = places },
	{ "step", FRAG_TYPE_COUNT, WHERE(step) },
	{ "last_step", FRAG_TYPE_COUNT, WHERE(last) },
	{ "event", FRAG_TYPE_TEXT_JSON, FRAG_WHOLE, "where at is step", .text = event_of,
	  .nullable = true },
	{ "mark", FRAG_TYPE_TEXT_JSON, FRAG_WHOLE, "the mark itself, or the last one before it",
	  .text = mark_of, .nullable = true },
	{ "base_reserved", FRAG_TYPE_BYTES, WHERE(base_reserved) },
	{ "reserved", FRAG_TYPE_BYTES, WHERE(reserved) },
	{ "base_allocated", FRAG_TYPE_BYTES, WHERE(base_allocated) },
	{ "allocated", FRAG_TYPE_BYTES, WHERE(allocated) },
	{ 0 },
};

/* A pair of runs, and the traces -------------------------------------------------- */

static bool pair_condition(const void *of, uint32_t i, void *element)
{
	return text_line(((const struct frag_pair *)of)->conditions, i, element);
}

static bool group_condition(const void *of, uint32_t i, void *element)
{
	return text_line(((const struct frag_group *)of)->conditions, i, element);
}

static struct frag_cell_value pair_verdict(const void *of)
{
	const struct frag_pair *pair = of;

	return FRAG_TEXT_OF(pair->run && pair->base ? frag_verdict_name(pair->verdict) : NULL);
}

static const char *not_compared(const void *pair, char *buf)
{
	return *frag_unfinished_text(buf, pair) ? buf : NULL;
}

#define OF_PAIR FRAG_WHOLE_VIA(pair_view, pair)
static const struct frag_field run_fields[] = {
	{ "policy", FRAG_TYPE_TEXT, FRAG_AT(run, policy) },
	{ "params", FRAG_TYPE_TEXT, FRAG_AT(run, params) },
	{ "status", FRAG_TYPE_WORD, FRAG_AT(run, result.status), .words = frag_run_status_words },
	{ 0 },
}, pair_fields[] = {
	{ "device", FRAG_TYPE_COUNT, FRAG_AT(pair_view, device) },
	{ "base", FRAG_TYPE_OBJECT, FRAG_POINTER(pair_view, base), "null: this side does not have the run, as"
	  " below", .fields = run_fields, .nullable = true },
	{ "run", FRAG_TYPE_OBJECT, FRAG_POINTER(pair_view, run), .fields = run_fields, .nullable = true },
	{ "verdict", FRAG_TYPE_WORD, OF_PAIR, "null: one side is missing", .get = pair_verdict,
	  .words = frag_verdict_words, .nullable = true },
	{ "not_compared", FRAG_TYPE_TEXT, OF_PAIR, "why values are not: one of the two ended early, and only"
	  " counts.ooms has a difference; null: they are", .text = not_compared, .nullable = true },
	{ "conditions", FRAG_TYPE_LIST, OF_PAIR, "what differs before anything is compared",
	  .each = pair_condition, .items = FRAG_TYPE_TEXT },
	{ "figures", FRAG_TYPE_OBJECT, FRAG_WHOLE, .fields = figures_fields },
	{ "first", FRAG_TYPE_OBJECT, FRAG_VIA(pair_view, pair, pair, first), "where the two diverge; null:"
	  " nowhere that is known", .known = is_somewhere, .fields = place_fields, .nullable = true },
	{ "largest", FRAG_TYPE_OBJECT, FRAG_VIA(pair_view, pair, pair, largest), "where they differ most",
	  .known = is_somewhere, .fields = place_fields, .nullable = true },
	{ 0 },
}, trace_fields[] = {
	{ "path", FRAG_TYPE_TEXT, FRAG_AT(runs, path) },
	{ "content", FRAG_TYPE_TEXT, FRAG_AT(runs, content) },
	{ "events", FRAG_TYPE_COUNT, FRAG_AT(runs, events) },
	{ "complete", FRAG_TYPE_FLAG, FRAG_AT(runs, complete) },
	FRAG_SCOPE_FIELD(FRAG_AT(runs, scope)),
	{ 0 },
}, group_fields[] = {
	{ "base", FRAG_TYPE_OBJECT, FRAG_POINTER(group, base), "null: this side does not have it, as below",
	  .fields = trace_fields, .nullable = true },
	{ "trace", FRAG_TYPE_OBJECT, FRAG_POINTER(group, runs), .fields = trace_fields, .nullable = true },
	{ "changed", FRAG_TYPE_FLAG, FRAG_AT(group, changed), "the base has this trace with another content" },
	{ "conditions", FRAG_TYPE_LIST, FRAG_WHOLE, .each = group_condition, .items = FRAG_TYPE_TEXT },
	{ "runs", FRAG_TYPE_LIST, FRAG_WHOLE, .each = pair_at, .fields = pair_fields },
	{ 0 },
};

/* The gate ------------------------------------------------------------------------ */

struct frag_broken_view {
	const char *trace, *condition, *path, *message;
	const struct frag_run *run;
};

static bool broken_at(const void *of, uint32_t i, void *element)
{
	const struct frag_gate *gate = of;
	const struct frag_condition *held;
	const struct frag_broken *b;
	const struct frag_run *run;

	if (i == gate->count)
		return false;
	b = &gate->broken[i];
	run = !b->pair ? NULL : b->pair->run ? b->pair->run : b->pair->base;
	held = run && !b->alone ? b->found.condition : NULL;
	*(struct frag_broken_view *)element = (struct frag_broken_view){
		frag_group_path(b->group), held ? held->text : NULL, held ? held->path : NULL,
		frag_broken_text(b), run,
	};
	return true;
}

/* Several conditions may come from one text, which is listed once. */
static bool gate_condition(const void *of, uint32_t i, void *element)
{
	const struct frag_gate *gate = of;

	for (uint32_t k = 0; k < gate->condition_count; k++)
		if (frag_gate_begins_text(gate, k) && !i--) {
			*(const char **)element = gate->conditions[k].text;
			return true;
		}
	return false;
}

/* What the runs were held to, and the lowest and the highest value as JSON; "": none. */
struct frag_checked_view {
	const char *path;
	uint32_t runs;
	char least[FRAG_NUMBER_ROOM], most[FRAG_NUMBER_ROOM];
	bool any;
};

static void put_checked(char text[FRAG_NUMBER_ROOM], const char *path, double value)
{
	if (frag_unit_of(path, value) == FRAG_POINTS)
		*frag_put_fixed4(text, value) = '\0';
	else
		snprintf(text, FRAG_NUMBER_ROOM, "%" PRId64, whole_of(value));
}

static bool checked_at(const void *of, uint32_t i, void *element)
{
	const struct frag_gate *gate = of;
	struct frag_checked_view *to = element;
	const struct frag_checked *c;

	if (!gate->checked || i == gate->condition_count)
		return false;
	c = &gate->checked[i];
	*to = (struct frag_checked_view){
		.path = gate->conditions[i].path, .runs = c->runs, .any = c->runs > 0,
	};
	put_checked(to->least, to->path, c->least);
	put_checked(to->most, to->path, c->most);
	return true;
}

static const char *const gate_words[] = { "passed", "broken", NULL };

static struct frag_cell_value gate_verdict(const void *diff)
{
	return FRAG_TEXT_OF(frag_gate_word(diff));
}

#define OF_GATE FRAG_WHOLE_VIA(diff, gate)
#define BROKEN(m) FRAG_AT(broken_view, m)
#define CHECKED_AT(m) FRAG_AT(checked_view, m)
static const struct frag_field broken_fields[] = {
	{ "trace", FRAG_TYPE_TEXT, BROKEN(trace) },
	{ "policy", FRAG_TYPE_TEXT, FRAG_VIA(broken_view, run, run, policy), "null, and device as well: the"
	  " trace itself has changed", .nullable = true },
	{ "device", FRAG_TYPE_COUNT, FRAG_VIA(broken_view, run, run, result.device), .nullable = true },
	{ "condition", FRAG_TYPE_TEXT, BROKEN(condition), "null: one side of the comparison is missing, or the"
	  " trace has changed", .nullable = true },
	{ "path", FRAG_TYPE_TEXT, BROKEN(path), .nullable = true },
	{ "message", FRAG_TYPE_TEXT, BROKEN(message) },
	{ 0 },
}, checked_fields[] = {
	{ "path", FRAG_TYPE_TEXT, CHECKED_AT(path) },
	{ "runs", FRAG_TYPE_COUNT, CHECKED_AT(runs), "that have a value which could be judged" },
	{ "least", FRAG_TYPE_NUMBER_JSON, CHECKED_AT(least), "the lowest of the values, or null",
	  FRAG_THERE_IF(checked_view, any) },
	{ "most", FRAG_TYPE_NUMBER_JSON, CHECKED_AT(most), "the highest", FRAG_THERE_IF(checked_view, any) },
	{ 0 },
}, gate_fields[] = {
	{ "verdict", FRAG_TYPE_WORD, FRAG_WHOLE, "null: nothing is judged", .get = gate_verdict,
	  .words = gate_words, .nullable = true },
	{ "conditions", FRAG_TYPE_LIST, OF_GATE, .each = gate_condition, .items = FRAG_TYPE_TEXT },
	{ "broken", FRAG_TYPE_LIST, OF_GATE, .each = broken_at, .fields = broken_fields },
	{ "checked", FRAG_TYPE_LIST, OF_GATE, "the values of the runs, by condition; none where nothing is"
	  " judged", .each = checked_at, .fields = checked_fields },
	{ 0 },
};

/* The summary --------------------------------------------------------------------- */

/* Null for a policy that has no run to compare with the first one's. */
static bool has_ratios(const void *summary, const struct frag_field *field)
{
	(void)field;
	return ((const struct frag_policy_summary *)summary)->ratios > 0;
}

static const char *best_trace(const void *of, char *buf)
{
	const struct frag_policy_summary *s = of;

	(void)buf;
	return s->ratios ? frag_group_path(s->best) : NULL;
}

static const char *worst_trace(const void *of, char *buf)
{
	const struct frag_policy_summary *s = of;

	(void)buf;
	return s->ratios ? frag_group_path(s->worst) : NULL;
}

#define SUMMARY(m) FRAG_AT(policy_summary, m)
#define RATIO(name, m, what) \
	{ name, FRAG_TYPE_CHANGE, SUMMARY(m), what, .known = has_ratios, .nullable = true }
static const struct frag_field summary_fields[] = {
	{ "policy", FRAG_TYPE_TEXT, FRAG_VIA(policy_summary, run, run, policy) },
	{ "runs", FRAG_TYPE_COUNT, SUMMARY(runs) },
	{ "survived", FRAG_TYPE_COUNT, SUMMARY(survived), "without an out-of-memory" },
	{ "compared", FRAG_TYPE_COUNT, SUMMARY(ratios), "the runs of the means: both fit" },
	RATIO("peak_reserved_ratio", ratio, "geometric mean of the peak of reserved over that of the base"),
	RATIO("over_bound", over_bound, "the same of the peak over the lower bound, in percent above it"),
	RATIO("fi_device_mean_difference", fi_device, "in points, the mean"),
	{ "best_trace", FRAG_TYPE_TEXT, FRAG_WHOLE, "by that ratio", .text = best_trace, .nullable = true },
	RATIO("best_ratio", best_ratio, NULL),
	{ "worst_trace", FRAG_TYPE_TEXT, FRAG_WHOLE, .text = worst_trace, .nullable = true },
	RATIO("worst_ratio", worst_ratio, NULL),
	{ 0 },
};

/* The document -------------------------------------------------------------------- */

static const char *const kinds[] = { "runs", "policies", NULL };

static struct frag_cell_value checked_kind_of(const void *of)
{
	return FRAG_TEXT_OF(kinds[((const struct frag_comparison *)of)->policies]);
}

static bool tool_condition(const void *of, uint32_t i, void *element)
{
	return text_line(((const struct frag_comparison *)of)->conditions, i, element);
}

#define OF_COMPARISON FRAG_WHOLE_VIA(diff, comparison)
#define COMPARED(m) FRAG_VIA(diff, comparison, comparison, m)
static const struct frag_field comparison_fields[] = {
	{ "of", FRAG_TYPE_WORD, OF_COMPARISON, "policies: the first is the base of the others; runs: those of"
	  " two files, or of a baseline and now", .get = checked_kind_of, .words = kinds },
	{ "base", FRAG_TYPE_TEXT, COMPARED(base.path), "the file of the base; null: policies are compared",
	  .nullable = true },
	{ "new", FRAG_TYPE_TEXT, COMPARED(now.path), "the file that is compared with it; null: simulated now",
	  .nullable = true },
	{ "interrupted", FRAG_TYPE_FLAG, COMPARED(interrupted) },
	{ "conditions", FRAG_TYPE_LIST, OF_COMPARISON, "what differs before anything is compared",
	  .each = tool_condition, .items = FRAG_TYPE_TEXT },
	{ "gate", FRAG_TYPE_OBJECT, FRAG_WHOLE, .fields = gate_fields },
	{ "summary", FRAG_TYPE_LIST, FRAG_ARRAY(diff, standings, standing_count), "each policy over all traces",
	  .fields = summary_fields },
	{ "traces", FRAG_TYPE_LIST, FRAG_ARRAY_VIA(diff, comparison, comparison, group, count),
	  .fields = group_fields },
	{ 0 },
};

const struct frag_document_type frag_comparison_document = {
	.format = "fragsim-comparison", .version = 2, .fields = comparison_fields,
	.what = "What fragsim diff --format json writes, see fragsim-diff(1).",
};
