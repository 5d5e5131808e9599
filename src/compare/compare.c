/* compare.c - runs beside other runs: the groups, and how each policy stands. */
#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/path.h"
#include "compare/pairing.h"

struct frag_change frag_pair_change(const struct frag_figure *figure, const struct frag_pair *pair)
{
	return frag_figure_change(figure, pair->base ? &pair->base->result : NULL,
				  pair->run ? &pair->run->result : NULL);
}

const char *frag_group_path(const struct frag_group *group)
{
	return frag_input_name(group->runs ? group->runs->path : group->base->path);
}

int frag_comparison_begin(struct frag_comparison *c, uint32_t traces, struct frag_error *err)
{
	c->group = calloc((size_t)traces + c->base.count + 1, sizeof(*c->group));
	if (!c->group)
		return frag_fail_nomem(err);
	c->count = traces;
	return 0;
}

/* The first run of the same device. */
static struct frag_run *reference(const struct frag_runs *runs, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (runs->run[k].result.device == runs->run[i].result.device)
			return &runs->run[k];
	return NULL;
}

static bool compare_pair(struct frag_comparison *c, struct frag_group *g, struct frag_pair *pair)
{
	const bool same_trace = c->policies || strcmp(g->runs->content, g->base->content) == 0;

	frag_pair_compare(pair, same_trace);
	if (c->policies && pair->run->parted.kind != FRAG_WHERE_NOWHERE)
		pair->first = pair->run->parted;
	return c->policies || frag_tell_runs(&pair->conditions, pair->base, pair->run);
}

int frag_comparison_trace(struct frag_comparison *c, uint32_t index, struct frag_runs *runs,
			  struct frag_error *err)
{
	struct frag_group *g = &c->group[index];

	g->runs = runs;
	g->base = c->policies ? NULL : frag_find_trace(&c->base, runs);
	g->pair = calloc((size_t)runs->count + (g->base ? g->base->count : 0) + 1,
			 sizeof(*g->pair));
	if (!g->pair || (g->base && !frag_tell_traces(&g->conditions, g->base, runs)))
		return frag_fail_nomem(err);
	for (; g->count < runs->count; g->count++) {
		struct frag_pair *pair = &g->pair[g->count];

		pair->run = &runs->run[g->count];
		if (c->policies)
			pair->base = reference(runs, g->count);
		else if (g->base)
			pair->base = frag_find_run(g->base, runs, g->count);
		if (pair->base && !compare_pair(c, g, pair))
			return frag_fail_nomem(err);
	}
	for (uint32_t i = 0; i < runs->count; i++)
		frag_run_drop_marks(&runs->run[i]);
	return 0;
}

int frag_comparison_files(struct frag_comparison *c, struct frag_error *err)
{
	int rc = frag_comparison_begin(c, c->now.count, err);

	for (uint32_t i = 0; i < c->now.count && !rc; i++)
		rc = frag_comparison_trace(c, i, &c->now.trace[i], err);
	return rc ? rc : frag_comparison_end(c, true, err);
}

static bool group_has(const struct frag_group *g, const struct frag_run *run)
{
	for (uint32_t i = 0; i < g->count; i++)
		if (g->pair[i].base == run)
			return true;
	return false;
}

static void add_missing_runs(struct frag_group *g)
{
	for (uint32_t i = 0; g->base && i < g->base->count; i++)
		if (!group_has(g, &g->base->run[i]))
			g->pair[g->count++] = (struct frag_pair){ .base = &g->base->run[i] };
}

static bool is_compared(const struct frag_comparison *c, const struct frag_runs *base)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->group[i].base == base)
			return true;
	return false;
}

/* Traces that an interruption came before. */
static void drop_empty(struct frag_comparison *c)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < c->count; i++)
		if (c->group[i].runs)
			c->group[count++] = c->group[i];
	c->count = count;
}

int frag_comparison_end(struct frag_comparison *c, bool with_missing, struct frag_error *err)
{
	uint32_t count;

	drop_empty(c);
	count = c->count;
	if (c->policies)
		return 0;
	if (!frag_tell_tools(&c->conditions, &c->base, &c->now))
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < count && with_missing; i++)
		add_missing_runs(&c->group[i]);
	for (uint32_t i = 0; i < c->base.count && with_missing; i++) {
		struct frag_group *g = &c->group[c->count];

		if (is_compared(c, &c->base.trace[i]))
			continue;
		g->base = &c->base.trace[i];
		g->pair = calloc((size_t)g->base->count + 1, sizeof(*g->pair));
		if (!g->pair)
			return frag_fail_nomem(err);
		c->count++;
		add_missing_runs(g);
	}
	return 0;
}

void frag_comparison_fini(struct frag_comparison *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		for (uint32_t k = 0; k < c->group[i].count; k++)
			free(c->group[i].pair[k].conditions);
		free(c->group[i].pair);
		free(c->group[i].conditions);
	}
	free(c->group);
	free(c->conditions);
	frag_run_set_fini(&c->now);
	frag_run_set_fini(&c->base);
}

struct frag_outcome frag_comparison_outcome(const struct frag_comparison *c)
{
	struct frag_outcome o = { .compared = 0 };

	for (uint32_t i = 0; i < c->count; i++) {
		for (uint32_t k = 0; k < c->group[i].count; k++) {
			const struct frag_pair *pair = &c->group[i].pair[k];

			if (pair->run && pair->base) {
				o.verdict[pair->verdict]++;
				o.compared++;
			} else if (!c->policies) {
				o.added += pair->run != NULL;
				o.missing += pair->base != NULL;
			}
		}
	}
	return o;
}

/* Sums of logarithms while they gather, means at the end. */
static void stand(struct frag_standing *s, const struct frag_group *g, const struct frag_pair *pair)
{
	const struct frag_result *r = &pair->run->result;
	const struct frag_result *base = pair->base ? &pair->base->result : r;
	double ratio;

	s->run = s->run ? s->run : pair->run;
	s->runs++;
	s->survived += r->status == FRAG_RUN_OK;
	if (r->status != FRAG_RUN_OK || base->status != FRAG_RUN_OK || !r->peak.reserved
	    || !base->peak.reserved || !r->lower_bound)
		return;
	ratio = (double)r->peak.reserved / (double)base->peak.reserved;
	s->ratio += log(ratio);
	s->over_bound += log((double)r->peak.reserved / (double)r->lower_bound);
	s->fi_device += r->fi_device.mean - base->fi_device.mean;
	if (!s->ratios || ratio < s->best_ratio) {
		s->best = g;
		s->best_ratio = ratio;
	}
	if (!s->ratios || ratio > s->worst_ratio) {
		s->worst = g;
		s->worst_ratio = ratio;
	}
	s->ratios++;
}

static void finish(struct frag_standing *s)
{
	if (!s->ratios)
		return;
	s->ratio = exp(s->ratio / s->ratios);
	s->over_bound = 100 * (exp(s->over_bound / s->ratios) - 1);
	s->fi_device /= s->ratios;
}

/* The place of the run's policy in the list; the end where it is new. */
static uint32_t place_of(const struct frag_standing *list, uint32_t count,
			 const struct frag_run *run, uint32_t likely)
{
	if (likely < count && strcmp(list[likely].run->policy, run->policy) == 0)
		return likely;
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(list[i].run->policy, run->policy) == 0)
			return i;
	return count;
}

struct frag_standing *frag_comparison_standings(const struct frag_comparison *c, uint32_t *count)
{
	struct frag_standing *list = NULL;
	uint32_t capacity = 0;

	*count = 0;
	if (!frag_grow(&list, &capacity, 1, sizeof(*list)))
		return NULL;
	for (uint32_t i = 0; i < c->count; i++) {
		const struct frag_group *g = &c->group[i];

		for (uint32_t k = 0; k < g->count; k++) {
			uint32_t at;

			if (!g->pair[k].run || (!c->policies && !g->pair[k].base))
				continue;
			at = place_of(list, *count, g->pair[k].run, k);
			if (!frag_grow(&list, &capacity, (uint64_t)at + 1, sizeof(*list))) {
				free(list);
				return NULL;
			}
			if (at == *count)
				list[(*count)++] = (struct frag_standing){ .run = NULL };
			stand(&list[at], g, &g->pair[k]);
		}
	}
	for (uint32_t i = 0; i < *count; i++)
		finish(&list[i]);
	return list;
}
