/* diff_words.c - words that several formats of a comparison share. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/escape.h"
#include "answers/diff.h"

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

const char *frag_gate_word(const struct frag_diff *d)
{
	if (d->updated || d->comparison->interrupted || !frag_gate_judges(d->gate))
		return NULL;
	return d->gate->count ? "broken" : "passed";
}

/* What is written here: as much as there is room for, and out of memory that could be short. */
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
