/* diff_answer.c - a comparison: the texts that its formats share, and its rows. */
#include "answers/diff_answer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>


static const char *figure_text(char buf[FRAG_NUMBER_ROOM], enum frag_unit unit, double value)
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

	/* what is made of peaks says nothing where those are cut */
	if (!frag_figure_value(figure, &run->result, &value)
	    || (figure->of_peaks && figure->value && !whole))
		return memcpy(buf, "-", sizeof("-"));
	if (whole || !figure->of_peaks)
		return figure_text(buf, figure->unit, value);
	snprintf(buf, FRAG_NUMBER_ROOM, ">=%.29s", figure_text(text, figure->unit, value));
	return buf;
}

/* "OOM at step 7", "interrupted after 12 steps", "finished". */
static const char *end_text(char buf[96], const struct frag_run *run)
{
	const struct frag_result *r = &run->result;
	const bool oom = r->status == FRAG_RUN_OOM;

	if (r->status == FRAG_RUN_OK)
		return "finished";
	if (oom && r->oom_count)
		snprintf(buf, 96, "OOM at event %" PRIu64, r->ooms[0].step);
	else
		snprintf(buf, 96, "%s %" PRIu64 " event%s", oom ? "OOM within"
			 : r->status == FRAG_RUN_ERROR ? "the policy failed after"
						       : "interrupted after",
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
		figure_text(text, unit, fabs(value));
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

const char *frag_place_text(char buf[FRAG_PLACE_ROOM], const struct frag_divergence_point *p)
{
	struct frag_words w = { .text = buf, .size = FRAG_PLACE_ROOM };

	if (p->kind == FRAG_WHERE_MARK)
		frag_add(&w, "mark '%s' (event %" PRIu64 ")", p->mark, p->step);
	else if (p->kind == FRAG_WHERE_STEP)
		frag_add(&w, "event %" PRIu64 " (%s)", p->step, p->event);
	else
		frag_add(&w, "events %" PRIu64 " to %" PRIu64, p->step, p->last);
	if (p->kind != FRAG_WHERE_MARK && *p->mark)
		frag_add(&w, ", after mark '%s'", p->mark);
	return buf;
}

const char *frag_place_values(char buf[FRAG_PLACE_ROOM], const struct frag_divergence_point *w)
{
	snprintf(buf, FRAG_PLACE_ROOM, "reserved %s (%s), allocated %s (%s)", SIZE(w->reserved),
		 DIFFERENCE(FRAG_BYTES, (double)w->reserved - (double)w->base_reserved),
		 SIZE(w->allocated),
		 DIFFERENCE(FRAG_BYTES, (double)w->allocated - (double)w->base_allocated));
	return buf;
}

const char *frag_run_name(char *buf, size_t size, const struct frag_run *run)
{
	frag_format_printable(buf, size, run->result.device ? "%s @%u" : "%s",
			      run->label ? run->label : run->policy, run->result.device);
	return buf;
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

bool frag_better_base(const struct frag_diff *d)
{
	return frag_any_better(d) && !d->comparison->now.path && !d->updated && !d->gate->count;
}

const char *frag_gate_word(const struct frag_diff *d)
{
	if (d->updated || d->comparison->interrupted
	    || (!d->gate->condition_count && !d->gate->same_traces))
		return NULL;
	return d->gate->count ? "broken" : "passed";
}

enum frag_unit frag_unit_of(const char *path, double value)
{
	for (uint32_t i = 0; i < FRAG_FIGURES; i++)
		if (strcmp(frag_figures[i].path, path) == 0)
			return frag_figures[i].unit;
	return value == floor(value) ? FRAG_NUMBER : FRAG_POINTS;
}

const char *frag_checked_text(char buf[FRAG_CHECKED_ROOM], const struct frag_gate *gate)
{
	struct frag_words w = { .text = buf, .size = FRAG_CHECKED_ROOM };
	char least[FRAG_NUMBER_ROOM], most[FRAG_NUMBER_ROOM];

	frag_add(&w, "%" PRIu32 " run%s", gate->judged, frag_s(gate->judged));
	for (uint32_t i = 0; i < gate->condition_count; i++) {
		const char *path = gate->conditions[i].path;
		const struct frag_checked *c = &gate->checked[i];
		bool again = false;

		for (uint32_t k = 0; k < i; k++)
			again |= strcmp(gate->conditions[k].path, path) == 0;
		if (!c->runs || again)
			continue;
		figure_text(least, frag_unit_of(path, c->least), c->least);
		figure_text(most, frag_unit_of(path, c->most), c->most);
		frag_add(&w, ", %s is %s", frag_condition_name(&gate->conditions[i]), least);
		if (c->most > c->least)
			frag_add(&w, " to %s", most);
	}
	return buf;
}

/* The worst verdicts first: a reader of one line may stop there. What a gate lets pass is
 * not called worse without saying so. */
const char *frag_outcome_text(char *buf, size_t size, const struct frag_diff *d)
{
	static const enum frag_verdict order[] = {
		FRAG_WORSE, FRAG_MIXED, FRAG_BETTER, FRAG_CHANGED, FRAG_SAME,
	};
	const struct frag_outcome *o = d->outcome;
	const struct frag_gate *gate = d->gate;
	const char *word = frag_gate_word(d), *before = ": ";
	struct frag_words w = { .text = buf, .size = size };
	uint32_t changed = 0;

	frag_add(&w, "%s%s", word ? word : "", word ? ": " : "");
	if (o->compared)
		frag_add(&w, "%" PRIu32 " run%s compared", o->compared, frag_s(o->compared));
	else
		frag_add(&w, "no run compared");
	if (word && gate->runs) {
		frag_add(&w, ": %" PRIu32 " broken", gate->runs);
		before = ", ";
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const uint32_t n = o->verdict[order[i]] - (word ? gate->verdict[order[i]] : 0);
		const bool bad = order[i] == FRAG_WORSE || order[i] == FRAG_MIXED;

		if (!n)
			continue;
		frag_add(&w, "%s%" PRIu32 " %s%s", before, n, frag_verdict_name(order[i]),
			 word && bad ? " within the bounds" : "");
		before = ", ";
	}
	if (o->added)
		frag_add(&w, "; %" PRIu32 " not in the base", o->added);
	if (o->missing)
		frag_add(&w, "; %" PRIu32 " only in the base", o->missing);
	for (uint32_t i = 0; i < d->comparison->count; i++)
		changed += d->comparison->group[i].changed;
	if (changed)
		frag_add(&w, "; %" PRIu32 " trace%s changed", changed,
			 changed == 1 ? " has" : "s have");
	return buf;
}

/* CSV: a row for each run and metric ------------------------------------------- */

bool frag_diff_next(struct frag_diff_row *row, const struct frag_comparison *c,
		    bool (*shows)(const struct frag_diff_row *row))
{
	const uint32_t of_pair = 1 + FRAG_FIGURES;

	for (; row->index < c->count; row->index++, row->at = 0) {
		row->group = &c->group[row->index];
		while (row->at < 1 + (uint64_t)row->group->count * of_pair) {
			const uint64_t at = row->at++;

			row->pair = at ? &row->group->pair[(at - 1) / of_pair] : NULL;
			row->figure = at && (at - 1) % of_pair ? &frag_figures[(at - 1) % of_pair - 1]
							       : NULL;
			if (row->figure)
				row->change = frag_pair_change(row->figure, row->pair);
			if (shows(row))
				return true;
		}
	}
	return false;
}

bool frag_figure_is_listed(const struct frag_figure *figure, const struct frag_change *change)
{
	return !figure->optional || change->has_base || change->has_value;
}

/* A trace whose content changed, before the metrics of its runs. */
static bool csv_shows(const struct frag_diff_row *row)
{
	if (!row->pair)
		return row->group->changed;
	return row->figure && frag_figure_is_listed(row->figure, &row->change);
}

struct frag_diff_line {
	struct frag_diff_row row;
	const struct frag_diff *diff;
};

static bool line_at(const void *of, uint32_t i, void *element)
{
	struct frag_diff_line *line = element;

	if (!i)
		*line = (struct frag_diff_line){ .diff = of };
	return frag_diff_next(&line->row, line->diff->comparison, csv_shows);
}

static const struct frag_run *run_of(const struct frag_diff_row *row)
{
	return row->pair && row->pair->run ? row->pair->run : row->pair ? row->pair->base : NULL;
}

const char *frag_diff_trace(const void *row, char *buf)
{
	(void)buf;
	return frag_group_path(((const struct frag_diff_row *)row)->group);
}

static const char *line_policy(const void *row, char *buf)
{
	const struct frag_run *run = run_of(row);

	(void)buf;
	return run ? run->policy : NULL;
}

static struct frag_cell_value line_device(const void *row)
{
	const struct frag_run *run = run_of(row);

	return (struct frag_cell_value){ .there = run, .u = run ? run->result.device : 0 };
}

static const char *line_status(const void *of, char *buf)
{
	const struct frag_diff_row *row = of;

	(void)buf;
	return row->pair && row->pair->run ? frag_run_status_name(row->pair->run->result.status) : NULL;
}

static const char *line_figure(const void *of, char *buf)
{
	const struct frag_diff_row *row = of;

	(void)buf;
	return row->figure ? row->figure->path : "content";
}

/* Numbers only: a peak that was cut is none, and left out, with what is made of it. */
static bool is_whole(const struct frag_figure *figure, const struct frag_run *run)
{
	return run && (run->result.status == FRAG_RUN_OK || !figure->of_peaks);
}

static const char *number(const struct frag_diff_row *row, bool there, double value, char *buf)
{
	frag_snprintf(buf, FRAG_NUMBER_ROOM + 16, row->figure->unit == FRAG_POINTS ? "%.4f" : "%.0f",
		      value);
	return there ? buf : NULL;
}

static const char *line_base(const void *of, char *buf)
{
	const struct frag_diff_row *row = of;

	if (!row->figure)
		return row->group->base->content;
	return number(row, row->change.has_base && is_whole(row->figure, row->pair->base),
		      row->change.base, buf);
}

static const char *line_value(const void *of, char *buf)
{
	const struct frag_diff_row *row = of;

	if (!row->figure)
		return row->group->runs ? row->group->runs->content : NULL;
	return number(row, row->change.has_value && is_whole(row->figure, row->pair->run),
		      row->change.value, buf);
}

static const char *line_difference(const void *of, char *buf)
{
	const struct frag_diff_row *row = of;

	return row->figure ? number(row, row->change.compared, row->change.difference, buf) : NULL;
}

static struct frag_cell_value line_percent(const void *of)
{
	const struct frag_diff_row *row = of;

	return (struct frag_cell_value){
		.there = row->figure && row->change.has_percent, .d = row->change.percent,
	};
}

static const char *line_verdict(const void *of, char *buf)
{
	const struct frag_diff_line *line = of;
	const struct frag_diff_row *row = &line->row;
	const struct frag_change *c = &row->change;

	(void)buf;
	if (!row->figure)
		return line->diff->gate->traces ? "broken" : "changed";
	if (c->compared)
		return frag_verdict_name(c->verdict);
	return c->has_value && (c->has_base || !is_whole(row->figure, row->pair->run)) ? "unfinished"
										      : NULL;
}

#define LINE FRAG_AT(diff_line, row)
static const struct frag_field line_fields[] = {
	{ NULL, FRAG_TYPE_TEXT, LINE, NULL, "trace", .text = frag_diff_trace },
	{ NULL, FRAG_TYPE_TEXT, LINE, NULL, "policy", .text = line_policy },
	{ NULL, FRAG_TYPE_COUNT, LINE, NULL, "device", .get = line_device },
	{ NULL, FRAG_TYPE_TEXT, LINE, NULL, "status", .text = line_status },
	{ NULL, FRAG_TYPE_TEXT, LINE, NULL, "figure", .text = line_figure },
	{ NULL, FRAG_TYPE_TEXT, LINE, NULL, "base", .text = line_base },
	{ NULL, FRAG_TYPE_TEXT, LINE, NULL, "value", .text = line_value },
	{ NULL, FRAG_TYPE_TEXT, LINE, NULL, "difference", .text = line_difference },
	{ NULL, FRAG_TYPE_CHANGE, LINE, NULL, "percent", .get = line_percent },
	{ NULL, FRAG_TYPE_TEXT, FRAG_WHOLE, NULL, "verdict", .text = line_verdict },
	{ 0 },
}, lines[] = {
	{ NULL, FRAG_TYPE_LIST, FRAG_WHOLE, .fields = line_fields, .each = line_at }, { 0 },
};

const struct frag_format *const frag_diff_formats[] = {
	&frag_diff_text, FRAG_CSV_FORM(lines), &frag_diff_github,
	FRAG_DOCUMENT_FORM(frag_comparison_document), &frag_diff_junit, &frag_diff_markdown, NULL,
};
