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
		snprintf(buf, 96, "OOM at step %" PRIu64, r->ooms[0].step);
	else
		snprintf(buf, 96, "%s %" PRIu64 " step%s", oom ? "OOM within"
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
		frag_add(&w, "mark '%s' (step %" PRIu64 ")", p->mark, p->step);
	else if (p->kind == FRAG_WHERE_STEP)
		frag_add(&w, "step %" PRIu64 " (%s)", p->step, p->event);
	else
		frag_add(&w, "steps %" PRIu64 " to %" PRIu64, p->step, p->last);
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

static const struct frag_column columns[] = {
	{ "trace", NULL, FRAG_CELL_TEXT }, { "policy", NULL, FRAG_CELL_TEXT },
	{ "device", NULL, FRAG_CELL_COUNT }, { "status", NULL, FRAG_CELL_WORD },
	{ "figure", NULL, FRAG_CELL_WORD }, { "base", NULL, FRAG_CELL_WORD },
	{ "value", NULL, FRAG_CELL_WORD }, { "difference", NULL, FRAG_CELL_WORD },
	{ "percent", NULL, FRAG_CELL_WORD }, { "verdict", NULL, FRAG_CELL_WORD }, { 0 },
};

static void put_value(struct frag_table *t, enum frag_unit unit, bool there, double value)
{
	char text[FRAG_NUMBER_ROOM + 16];

	frag_snprintf(text, sizeof(text), unit == FRAG_POINTS ? "%.4f" : "%.0f", value);
	frag_cell_text(t, there ? text : NULL);
}

/* Numbers only: a peak that was cut is none, and left out, with what is made of it. */
static bool is_whole(const struct frag_figure *figure, const struct frag_run *run)
{
	return run && (run->result.status == FRAG_RUN_OK || !figure->of_peaks);
}

bool frag_figure_is_listed(const struct frag_figure *figure, const struct frag_change *change)
{
	return !figure->optional || change->has_base || change->has_value;
}

static void put_row(struct frag_table *t, const struct frag_group *g, const struct frag_pair *pair,
		    const struct frag_figure *figure)
{
	const struct frag_run *run = pair->run ? pair->run : pair->base;
	const struct frag_change c = frag_pair_change(figure, pair);

	if (!frag_figure_is_listed(figure, &c))
		return;
	frag_cell_text(t, frag_group_path(g));
	frag_cell_text(t, run->policy);
	frag_cell(t, true, run->result.device);
	frag_cell_text(t, pair->run ? frag_run_status_name(pair->run->result.status) : NULL);
	frag_cell_text(t, figure->path);
	put_value(t, figure->unit, c.has_base && is_whole(figure, pair->base), c.base);
	put_value(t, figure->unit, c.has_value && is_whole(figure, pair->run), c.value);
	put_value(t, figure->unit, c.compared, c.difference);
	frag_cell_percent(t, c.has_percent, c.percent);
	frag_cell_text(t, c.compared ? frag_verdict_name(c.verdict)
		       : (c.has_base && c.has_value) || (c.has_value && !is_whole(figure, pair->run))
		       ? "unfinished" : NULL);
}

/* The row of a trace whose content changed, before the rows of its runs. */
static void put_changed(const struct frag_diff *diff, struct frag_table *t,
			const struct frag_group *g)
{
	const char *const cells[] = {
		frag_group_path(g), NULL, NULL, NULL, "content", g->changed ? g->base->content : NULL,
		g->runs ? g->runs->content : NULL, NULL, NULL,
		diff->gate->traces ? "broken" : "changed",
	};

	for (size_t i = 0; g->changed && i < sizeof(cells) / sizeof(cells[0]); i++)
		frag_cell_text(t, cells[i]);
}

static void diff_fill(struct frag_table *t, const void *what)
{
	const struct frag_diff *diff = what;
	const struct frag_comparison *c = diff->comparison;

	for (uint32_t i = 0; i < c->count; i++) {
		put_changed(diff, t, &c->group[i]);
		for (uint32_t k = 0; k < c->group[i].count; k++)
			for (uint32_t n = 0; n < FRAG_FIGURES; n++)
				put_row(t, &c->group[i], &c->group[i].pair[k], &frag_figures[n]);
	}
}

const struct frag_format *const frag_diff_formats[] = {
	&frag_diff_text, FRAG_ROWS_FORM("csv", columns, diff_fill), &frag_diff_github,
	FRAG_DOCUMENT_FORM(frag_comparison_document), &frag_diff_junit, &frag_diff_markdown, NULL,
};
