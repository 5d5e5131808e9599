/* diff_text.c - a comparison for a terminal of 100 columns, and the verdict of its gate. */
#include "answers/diff_answer.h"

#include <inttypes.h>
#include <string.h>

#include "answers/report.h"
#include "base/atomic_file.h"

#define NAME_MAX 18             /* columns of a policy's name; longer ones get a number */
#define NAME_ROOM 600
#define TRACE_MAX 28            /* columns of a trace's name in the summary */
#define SHOWN_MAX 16            /* policies whose divergence and timeline are shown */

struct paper {
	const struct frag_diff *diff;
	struct frag_text_style to;
	bool numbered;          /* names are too long for the columns */
	int width;              /* of names */
	int status_width;
};

static const char *ink(const struct paper *p, enum frag_color_code which)
{
	return frag_ink(&p->to, which);
}

static enum frag_color_code ink_of(enum frag_verdict verdict)
{
	switch (verdict) {
	case FRAG_BETTER:
		return INK_GREEN;
	case FRAG_WORSE:
		return INK_RED;
	case FRAG_MIXED:
		return INK_YELLOW;
	case FRAG_SAME:
	case FRAG_CHANGED:
		break;
	}
	return INK_PLAIN;
}

/* A text padded to the width, in the colour of its verdict. */
static void add_inked(const struct paper *p, struct frag_words *w, int width, const char *text,
		      enum frag_verdict verdict)
{
	const int rest = width - (int)strlen(text);
	const bool plain = ink_of(verdict) == INK_PLAIN;

	frag_add(w, "%*s%s%s%s", rest > 0 ? rest : 0, "", plain ? "" : ink(p, ink_of(verdict)), text,
		 plain ? "" : ink(p, INK_PLAIN));
}

/* "3 pytorch:expanda.." where the whole does not fit; the list of policies has it. */
#define LABEL(p, run) label((p), (run), (char[NAME_ROOM]){ 0 })
static const char *label(const struct paper *p, const struct frag_run *run, char buf[NAME_ROOM])
{
	const char *name = RUN_NAME(run);
	uint32_t number = 0;

	while (p->numbered && number + 1 < p->diff->standing_count
	       && strcmp(p->diff->standings[number].run->policy, run->policy) != 0)
		number++;
	if (p->numbered)
		snprintf(buf, NAME_ROOM, "%" PRIu32 " %.500s", number + 1, name);
	else
		snprintf(buf, NAME_ROOM, "%.500s", name);
	if (strlen(buf) > NAME_MAX)
		frag_format_printable(buf, NAME_ROOM, "%.*s..", NAME_MAX - 2, buf);
	return buf;
}

/* Policies -------------------------------------------------------------------- */

static void measure_names(struct paper *p)
{
	size_t width = strlen("policy");

	p->status_width = (int)strlen(p->diff->comparison->interrupted ? "interrupted" : "status");
	for (uint32_t i = 0; i < p->diff->standing_count; i++) {
		const size_t n = strlen(RUN_NAME(p->diff->standings[i].run));

		p->numbered |= n > NAME_MAX - 4;
		width = n + 4 > width ? n + 4 : width;
	}
	p->width = width > NAME_MAX ? NAME_MAX : (int)width;
}

static const char *policy_name(const struct frag_run *run)
{
	return run->label ? run->label : run->policy;
}

/* A value with its difference, and its percent where columns are left for that. */
struct cell {
	enum frag_figure_name figure;
	const char *title;
	int value, difference, percent; /* widths */
};

/* The first table: its rows begin with the status of the run. */
static const struct cell memory[] = {
	{ FRAG_PEAK_RESERVED, "peak reserved", 12, 12, 8 },
	{ FRAG_PEAK_ALLOCATED, "peak allocated", 12, 12, 8 },
};

static void add_cell(const struct paper *p, struct frag_words *w, const struct cell *cell,
		     const struct frag_pair *pair)
{
	const struct frag_figure *figure = &frag_figures[cell->figure];
	const struct frag_change c = frag_pair_change(figure, pair);

	frag_add(w, "  %*s ", cell->value, RUN_FIGURE(figure, pair->run));
	add_inked(p, w, cell->difference,
		  c.compared ? DIFFERENCE(figure->unit, c.difference) : "", c.verdict);
	if (cell->percent) {
		frag_add(w, " ");
		add_inked(p, w, cell->percent, c.compared ? PERCENT(&c) : "", c.verdict);
	}
}

static void add_titles(const struct paper *p, struct frag_words *w, const struct cell *cells,
		       uint32_t count)
{
	if (cells == memory)
		frag_add(w, "  %-*s", p->status_width, "status");
	frag_add(w, "  %-*s", p->width, "policy");
	for (uint32_t i = 0; i < count; i++) {
		const int rest = cells[i].difference + 1
				 + (cells[i].percent ? cells[i].percent + 1 : 0);

		/* titles are over the values; a long one reaches over their differences */
		if ((int)strlen(cells[i].title) > cells[i].value)
			frag_add(w, "  %-*s", cells[i].value + rest, cells[i].title);
		else
			frag_add(w, "  %*s%*s", cells[i].value, cells[i].title, rest, "");
	}
}

/* The first table has the status, too. */
static void add_row(const struct paper *p, struct frag_words *w, const struct frag_pair *pair,
		    const struct cell *cells, uint32_t count)
{
	const char *word = frag_run_status_word(pair->run);
	const int rest = p->status_width - (int)strlen(word);

	if (cells == memory)
		frag_add(w, "  %s%s%s%*s",
			 ink(p, pair->run->result.status == FRAG_RUN_OOM ? INK_RED : INK_PLAIN),
			 word, ink(p, INK_PLAIN), rest > 0 ? rest : 0, "");
	frag_add(w, "  %-*s", p->width, LABEL(p, pair->run));
	for (uint32_t i = 0; i < count; i++)
		add_cell(p, w, &cells[i], pair);
}

/* The titles, and the row of each pair, without the blanks of columns that are empty at its end. */
static void print_table(const struct paper *p, const struct frag_group *g, const struct cell *cells,
			uint32_t count)
{
	putc('\n', p->to.f);
	for (uint32_t i = 0; i <= g->count; i++) {
		struct frag_words w = WORDS(NAME_ROOM + 600);

		if (i)
			add_row(p, &w, &g->pair[i - 1], cells, count);
		else
			add_titles(p, &w, cells, count);
		while (w.used && w.text[w.used - 1] == ' ')
			w.used--;
		fprintf(p->to.f, "%.*s\n", (int)w.used, w.text);
	}
}

/* Each table fits in a terminal of 100 columns. */
static void print_tables(const struct paper *p, const struct frag_group *g)
{
	static const struct cell cost[] = {
		{ FRAG_OVER_BOUND, "over bound, %", 7, 8, 0 },
		{ FRAG_EFFICIENCY, "efficiency, %", 6, 7, 0 },
		{ FRAG_OOMS, "OOMs", 4, 4, 0 },
		{ FRAG_RETRIES, "retries", 7, 5, 0 },
		{ FRAG_DEVICE_CALLS, "calls", 6, 7, 0 },
	}, smallest[] = {
		{ FRAG_SMALLEST, "smallest device", 12, 12, 8 },
	}, modelled[] = {
		{ FRAG_DRIVER_TIME, "time in the driver, modelled", 11, 12, 8 },
	}, indices[] = {
		{ FRAG_FI_DEVICE_MEAN, "fi_device mean", 6, 7, 0 },
		{ FRAG_FI_DEVICE_P95, "p95", 6, 7, 0 },
		{ FRAG_FI_DEVICE_MAX, "max", 6, 7, 0 },
		{ FRAG_FI_MEAN, "fi mean", 6, 7, 0 },
		{ FRAG_SEVERE_STEPS, "severe events", 5, 6, 0 },
	};

	print_table(p, g, memory, 2);
	if (frag_any_smallest(g))
		print_table(p, g, smallest, 1);
	print_table(p, g, cost, 5);
	if (frag_any_modelled(g))
		print_table(p, g, modelled, 1);
	print_table(p, g, indices, 5);
}

/* Reserved bytes, one character per bucket of steps; the same scale for all runs. */
static void print_timelines(const struct paper *p, const struct frag_group *g)
{
	static const char ramp[] = " .:-=+*#%@";
	uint64_t peak = 0;

	for (uint32_t i = 0; i < g->count; i++)
		peak = frag_max(peak, g->pair[i].run->result.peak.reserved);
	if (!peak || g->count > SHOWN_MAX || !g->pair[0].run->timeline.count)
		return;
	fprintf(p->to.f, "\n  reserved over the events, from nothing '%c' to %s '%c'\n", ramp[0],
		SIZE(peak), ramp[sizeof(ramp) - 2]);
	for (uint32_t i = 0; i < g->count; i++) {
		const struct frag_timeline *c = &g->pair[i].run->timeline;

		fprintf(p->to.f, "  %-*s  |", p->width, LABEL(p, g->pair[i].run));
		for (uint32_t k = 0; k < c->count; k++) {
			const double part = (double)c->stretch[k].reserved / (double)peak;
			int level = (int)(part * (double)(sizeof(ramp) - 2) + 0.5);

			putc(ramp[level < (int)sizeof(ramp) - 1 ? level : (int)sizeof(ramp) - 2],
			     p->to.f);
		}
		fputs("|\n", p->to.f);
	}
}

static void print_place(const struct paper *p, const char *verb,
			const struct frag_divergence_point *w)
{
	struct frag_divergence_point place = *w;

	if (w->kind == FRAG_WHERE_NOWHERE)
		return;
	/* the preceding mark has a separate line: the two could be too long for one */
	if (w->kind != FRAG_WHERE_MARK)
		place.mark[0] = '\0';
	fprintf(p->to.f, "    %s %s\n", verb, PLACE(&place));
	if (w->kind != FRAG_WHERE_MARK && *w->mark)
		fprintf(p->to.f, "      after mark '%s'\n", w->mark);
	fprintf(p->to.f, "      %s\n", PLACE_VALUES(w));
}

static void print_oom(const struct paper *p, const struct frag_result *r)
{
	if (r->oom_count)
		fprintf(p->to.f, "    %sOOM%s at event %" PRIu64 ", cause: %s\n",
			ink(p, INK_RED), ink(p, INK_PLAIN), r->ooms[0].step,
			r->ooms[0].fragmentation ? "fragmentation" : "capacity");
}

/* Said of a few policies only, as a table of places for many would not be read. */
static void print_divergences(const struct paper *p, const struct frag_group *g)
{
	char reason[FRAG_REASON_ROOM];

	for (uint32_t i = 0; i < g->count && g->count <= SHOWN_MAX; i++) {
		const struct frag_pair *pair = &g->pair[i];
		const bool parts = pair->first.kind != FRAG_WHERE_NOWHERE;

		if (!parts && !pair->run->result.oom_count && !pair->base)
			continue;
		fprintf(p->to.f, "%s  %s%s\n", i <= 1 || !pair->base ? "\n" : "",
			LABEL(p, pair->run), parts || !pair->base ? ""
			: " does as the first does, event by event");
		print_oom(p, &pair->run->result);
		if (*frag_unfinished_text(reason, pair))
			fprintf(p->to.f, "    %s\n", reason);
		print_place(p, "diverges from the first at", &pair->first);
		print_place(p, "differs most from it at", &pair->largest);
	}
}

static void print_trace(const struct paper *p, const struct frag_group *g)
{
	const struct frag_runs *runs = g->runs;

	fprintf(p->to.f, "\n%s%s%s: %" PRIu64 " event%s, content %s%s\n", ink(p, INK_BOLD),
		SHOWN(frag_group_path(g)), ink(p, INK_PLAIN), runs->events, frag_s(runs->events),
		SHOWN(runs->content), runs->complete ? "" : ", not read to its end");
	for (uint32_t i = 0; i < g->count && g->pair[i].run->result.device == i; i++)
		frag_report_device(&g->pair[i].run->result, "  ", p->to.f);
}

/* The file name of a trace up to its first dot, shortened in the middle. */
static const char *short_trace(char buf[NAME_ROOM], const struct frag_group *g)
{
	const char *path = frag_file_name(frag_group_path(g));
	size_t n = strcspn(path, ".");

	n = n ? n : strlen(path);
	if (n <= TRACE_MAX)
		frag_format_printable(buf, NAME_ROOM, "%.*s", (int)n, path);
	else
		frag_format_printable(buf, NAME_ROOM, "%.*s~%.*s", TRACE_MAX / 2 - 1, path,
				      TRACE_MAX / 2, path + n - TRACE_MAX / 2);
	return buf;
}

/*
 * The first policy is the measure, so it is missing from the second table, where
 * all ratios would be 1.
 */
static void print_summary(const struct paper *p)
{
	char trace[NAME_ROOM];

	if (!frag_many_traces(p->diff->comparison))
		return;
	fprintf(p->to.f,
		"\n%sover all traces%s: geometric means of peak reserved, against the first and"
		" the lower bound\n\n  %-*s  %11s  %13s  %10s  %14s\n", ink(p, INK_BOLD),
		ink(p, INK_PLAIN), p->width, "policy", "survives", "peak reserved", "over bound",
		"fi_device mean");
	for (uint32_t i = 0; i < p->diff->standing_count; i++) {
		const struct frag_policy_summary *s = &p->diff->standings[i];

		fprintf(p->to.f, "  %-*s  %4" PRIu32 " of %3" PRIu32, p->width, LABEL(p, s->run),
			s->survived, s->runs);
		if (s->ratios)
			frag_fprintf(p->to.f, "  %12.4fx  %9.2f%%  %+14.2f\n", s->ratio, s->over_bound,
				     s->fi_device);
		else
			fprintf(p->to.f, "  %13s  %10s  %14s\n", "-", "-", "-");
	}
	fprintf(p->to.f, "\n  %-*s  %-*s  %s\n", p->width, "policy", TRACE_MAX + 9, "best trace",
		"worst trace");
	for (uint32_t i = 1; i < p->diff->standing_count; i++) {
		const struct frag_policy_summary *s = &p->diff->standings[i];

		if (!s->ratios)
			continue;
		frag_fprintf(p->to.f, "  %-*s  %7.4fx %-*s", p->width, LABEL(p, s->run),
			     s->best_ratio, TRACE_MAX, short_trace(trace, s->best));
		frag_fprintf(p->to.f, "  %7.4fx %s\n", s->worst_ratio, short_trace(trace, s->worst));
	}
}

/* Does the policy fit more runs than the other, or as many and reserve less? */
static bool is_better(const struct frag_policy_summary *s, const struct frag_policy_summary *than)
{
	if (s->survived != than->survived)
		return s->survived > than->survived;
	return s->ratios && s->ratio < than->ratio;
}

/* Recordings that are parts of their programs: the values are those of the parts. */
static void print_parts(const struct paper *p)
{
	const struct frag_comparison *c = p->diff->comparison;

	for (uint32_t i = 0; i < c->count; i++) {
		const struct frag_group *g = &c->group[i];
		struct frag_words w = WORDS(200);

		if (!frag_runs_are_part(g->runs))
			continue;
		frag_add_scope(&w, &g->runs->scope);
		fprintf(p->to.f, "  a part of its program: %s, %s\n", SHOWN(frag_group_path(g)), w.text);
	}
}

/* The answer in a line: the best policy, compared with the first. */
static void print_best(const struct paper *p)
{
	const struct frag_policy_summary *first = p->diff->standings, *best = first;
	const char *const measure = SHOWN(policy_name(first->run)), *name;
	FILE *f = p->to.f;

	for (uint32_t i = 1; i < p->diff->standing_count; i++)
		if (is_better(&first[i], best))
			best = &first[i];
	name = SHOWN(policy_name(best->run));
	if (!best->survived)
		fprintf(f, "none of %" PRIu32 " policies fits\n", p->diff->standing_count);
	else if (best == first)
		fprintf(f, "no policy fits more, or reserves less, than the first, %s\n", measure);
	else if (best->survived == first->survived)
		frag_fprintf(f, "%s reserves least, %s%.2f %% less than the first, %s\n", name,
			     best->ratios > 1 ? "in the mean " : "", 100 * (1 - best->ratio),
			     measure);
	else if (best->runs == 1)
		fprintf(f, "%s fits, the first, %s, does not\n", name, measure);
	else
		fprintf(f, "%s fits %" PRIu32 " of %" PRIu32 " runs, the first, %s, %" PRIu32 "\n",
			name, best->survived, best->runs, measure, first->survived);
}

/* The comparison of policies: each trace with its tables, then the summary. */
static void print_policies(struct paper *p)
{
	const struct frag_diff *d = p->diff;
	const struct frag_comparison *c = d->comparison;
	FILE *f = p->to.f;

	if (frag_gate_word(d))
		fprintf(f, "%s%s%s: ", ink(p, d->gate->count ? INK_RED : INK_GREEN),
			frag_gate_word(d), ink(p, INK_PLAIN));
	if (d->standing_count > 1)
		print_best(p);
	fprintf(f, "%" PRIu32 " polic%s on %" PRIu32 " trace%s", d->standing_count,
		d->standing_count == 1 ? "y" : "ies", c->count, frag_s(c->count));
	if (d->standing_count)
		fprintf(f, "; differences are those from the first, %s",
			SHOWN(policy_name(d->standings[0].run)));
	putc('\n', f);
	print_parts(p);
	for (uint32_t i = 0; p->numbered && i < d->standing_count; i++)
		fprintf(f, "%5" PRIu32 "  %s\n", i + 1, SHOWN(policy_name(d->standings[i].run)));
	for (uint32_t i = 0; i < c->count; i++) {
		const struct frag_group *g = &c->group[i];

		if (!g->count)
			continue;
		print_trace(p, g);
		print_tables(p, g);
		print_timelines(p, g);
		print_divergences(p, g);
	}
	print_summary(p);
}

/* Runs ------------------------------------------------------------------------ */

static void print_lines(const struct paper *p, const char *indent, const char *lines)
{
	char line[FRAG_LINE_ROOM];

	while (frag_next_line(&lines, line))
		fprintf(p->to.f, "%s%s\n", indent, line);
}

/* The metrics that differ between the two runs, one line each; how they ended is the first. */
static void print_figures(const struct paper *p, const struct frag_pair *pair)
{
	FILE *f = p->to.f;

	fprintf(f, "    %-22s  %13s  %13s  %13s\n", "", "before", "now", "difference");
	if (pair->base->result.status != pair->run->result.status)
		fprintf(f, "    %-22s  %13s  %13s\n", "status", frag_run_status_word(pair->base),
			frag_run_status_word(pair->run));
	for (uint32_t i = 0; i < FRAG_FIGURES; i++) {
		const struct frag_figure *figure = &frag_figures[i];
		const struct frag_change c = frag_pair_change(figure, pair);
		struct frag_words w = WORDS(300);

		if (c.verdict == FRAG_SAME)
			continue;
		frag_add(&w, "    %-22s  %13s  %13s", figure->path,
			 RUN_FIGURE(figure, pair->base), RUN_FIGURE(figure, pair->run));
		if (!c.has_base || !c.has_value || c.compared) {
			frag_add(&w, "  ");
			add_inked(p, &w, 13, DIFFERENCE(figure->unit, c.difference), c.verdict);
			frag_add(&w, "  %10s  ", PERCENT(&c));
			add_inked(p, &w, 0, frag_verdict_name(c.verdict), c.verdict);
		}
		fprintf(f, "%s\n", w.text);
	}
}

/* Both runs over the steps: what one reserves more than the other shows. */
static void print_both(const struct paper *p, const struct frag_pair *pair)
{
	enum { ROWS = 8, COLUMNS = FRAG_TIMELINE_MAX };
	struct frag_timeline a = pair->base->timeline, b = pair->run->timeline;
	uint64_t peak = 0;

	frag_timeline_widen(&a, b.width);
	frag_timeline_widen(&b, a.width);
	if (!a.count || a.count != b.count)
		return;
	for (uint32_t i = 0; i < a.count; i++) {
		peak = a.stretch[i].reserved > peak ? a.stretch[i].reserved : peak;
		peak = b.stretch[i].reserved > peak ? b.stretch[i].reserved : peak;
	}
	for (uint32_t row = ROWS; row > 0 && peak; row--) {
		const double level = (double)peak * ((double)row - 0.5) / (double)ROWS;

		fprintf(p->to.f, "    %12s |", row == ROWS ? SIZE(peak) : "");
		for (uint32_t i = 0; i < a.count; i++) {
			const bool before = (double)a.stretch[i].reserved >= level;
			const bool now = (double)b.stretch[i].reserved >= level;

			/* a few buckets are drawn as wide as many */
			for (uint32_t n = 0; n < COLUMNS / a.count; n++)
				putc(before && now ? '#' : now ? '+' : before ? '-' : ' ', p->to.f);
		}
		putc('\n', p->to.f);
	}
	if (peak)
		fprintf(p->to.f, "    %12s  reserved: # by both, + only now, - only before\n", "");
}

/*
 * A pair that is the same under the same conditions is not mentioned; it is
 * counted in the outcome.
 */
static void print_pair(const struct paper *p, const struct frag_group *g,
		       const struct frag_pair *pair)
{
	const char *name = PAIR_NAME(g, pair);
	char reason[FRAG_REASON_ROOM];
	struct frag_words w = WORDS(64);

	if (!pair->run || !pair->base) {
		fprintf(p->to.f, "  %s: %s\n", name,
			pair->run ? "not in the base" : "only in the base");
		return;
	}
	if (pair->verdict == FRAG_SAME && !pair->conditions)
		return;
	add_inked(p, &w, 0, frag_verdict_name(pair->verdict), pair->verdict);
	fprintf(p->to.f, "\n%s%s%s: %s\n", ink(p, INK_BOLD), name, ink(p, INK_PLAIN), w.text);
	print_lines(p, "    differs: ", pair->conditions);
	if (pair->verdict == FRAG_SAME)
		return;
	if (*frag_unfinished_text(reason, pair))
		fprintf(p->to.f, "    %s\n", reason);
	print_figures(p, pair);
	print_oom(p, &pair->run->result);
	print_place(p, "they diverge first at", &pair->first);
	print_place(p, "they differ most at", &pair->largest);
	print_both(p, pair);
}

static void print_trace_lines(const struct paper *p, const struct frag_group *g)
{
	if (!g->conditions)
		return;
	fprintf(p->to.f, "  %s%s\n", SHOWN(frag_group_path(g)),
		g->changed ? " is another trace than before" : "");
	print_lines(p, "    differs: ", g->conditions);
}

/* Changed traces come first, since the comparison below is then of different programs. */
static void print_runs(const struct paper *p)
{
	const struct frag_comparison *c = p->diff->comparison;

	fprintf(p->to.f, "%s%s%s with %s: %s\n", ink(p, INK_BOLD),
		c->now.path ? SHOWN(c->now.path) : "now", ink(p, INK_PLAIN), SHOWN(c->base.path),
		OUTCOME(p->diff));
	for (uint32_t i = 0; i < c->count; i++)
		if (c->group[i].changed)
			print_trace_lines(p, &c->group[i]);
	print_lines(p, "  differs: ", c->conditions);
	print_parts(p);
	for (uint32_t i = 0; i < c->count; i++)
		if (!c->group[i].changed)
			print_trace_lines(p, &c->group[i]);
	for (uint32_t i = 0; i < c->count; i++)
		for (uint32_t k = 0; k < c->group[i].count; k++)
			print_pair(p, &c->group[i], &c->group[i].pair[k]);
}

/* The gate -------------------------------------------------------------------- */

static void print_conditions(const struct paper *p)
{
	const struct frag_gate *gate = p->diff->gate;

	fprintf(p->to.f, "\nfails if:");
	for (uint32_t i = 0; i < gate->condition_count; i++)
		if (frag_gate_begins_text(gate, i))
			fprintf(p->to.f, "%s %s", i ? "," : "", SHOWN(gate->conditions[i].text));
	putc('\n', p->to.f);
}

/* A pair's name is over the first line that is about it. */
static void print_name_once(const struct paper *p, const struct frag_group *g,
			    const struct frag_pair *pair, const struct frag_pair **last)
{
	if (*last == pair)
		return;
	*last = pair;
	fprintf(p->to.f, "  %s\n", PAIR_NAME(g, pair));
}

static void print_better_pair(const struct paper *p, const struct frag_group *g,
			      const struct frag_pair *pair)
{
	const struct frag_pair *last = NULL;
	char a[FRAG_NUMBER_ROOM], b[FRAG_NUMBER_ROOM];

	for (uint32_t i = 0; i < FRAG_FIGURES; i++) {
		const struct frag_figure *figure = &frag_figures[i];
		const struct frag_change change = frag_pair_change(figure, pair);

		if (!figure->decides || change.verdict != FRAG_BETTER)
			continue;
		print_name_once(p, g, pair, &last);
		fprintf(p->to.f, "    %s is %s, before %s (%s)\n", figure->path,
			frag_run_figure_text(a, figure, pair->run),
			frag_run_figure_text(b, figure, pair->base),
			DIFFERENCE(figure->unit, change.difference));
	}
}

static void print_better(const struct paper *p)
{
	const struct frag_diff *d = p->diff;
	const struct frag_comparison *c = d->comparison;

	if (!frag_any_better(d))
		return;
	fprintf(p->to.f, "%sbetter than before%s:\n", ink(p, INK_GREEN), ink(p, INK_PLAIN));
	for (uint32_t i = 0; i < c->count; i++)
		for (uint32_t k = 0; k < c->group[i].count; k++)
			if (c->group[i].pair[k].run && c->group[i].pair[k].base)
				print_better_pair(p, &c->group[i], &c->group[i].pair[k]);
	if (frag_better_base(d))
		fputs("  --update-baseline makes this the new measure\n", p->to.f);
}

/* The verdict of the gate, between its conditions and the list of broken ones. */
static void print_verdict(const struct paper *p)
{
	const struct frag_diff *d = p->diff;
	const bool broken = d->gate->count > 0;

	if (!broken && !frag_gate_word(d))
		return;
	fprintf(p->to.f, "%s%s%s:", ink(p, broken ? INK_RED : INK_GREEN),
		broken ? "broken" : "passed", ink(p, INK_PLAIN));
	if (broken)
		putc('\n', p->to.f);
	else
		fprintf(p->to.f, " %s\n", CHECKED(d->gate));
}

/* The conditions, the verdict, the conditions that hold, and what is better than before. */
static void print_gate(const struct paper *p)
{
	const struct frag_diff *d = p->diff;
	const struct frag_pair *last = NULL;

	if (d->gate->condition_count)
		print_conditions(p);
	else if (frag_any_better(d))
		putc('\n', p->to.f);
	print_verdict(p);
	for (uint32_t i = 0; i < d->gate->count; i++) {
		const struct frag_broken *b = &d->gate->broken[i];

		if (b->pair)
			print_name_once(p, b->group, b->pair, &last);
		else
			fprintf(p->to.f, "  %s\n", SHOWN(frag_group_path(b->group)));
		fprintf(p->to.f, "    %s\n", SHOWN(frag_broken_text(b)));
	}
	print_better(p);
	if (d->updated)
		fprintf(p->to.f, "%s was written again\n", SHOWN(d->comparison->base.path));
}

static void diff_print(const void *what, const struct frag_text_style *to)
{
	const struct frag_diff *diff = what;
	struct paper p = { .diff = diff, .to = *to };

	measure_names(&p);
	if (diff->comparison->interrupted)
		fputs("interrupted: this is what was done until then\n", to->f);
	if (diff->comparison->policies)
		print_policies(&p);
	else
		print_runs(&p);
	print_gate(&p);
}

const struct frag_format frag_diff_text = { .name = "text", .text = diff_print };
