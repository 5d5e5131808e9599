/* compare.c - compares runs with other runs: the pairs, their changes, and the outcome. */
#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/atomic_file.h"
#include "base/format.h"
#include "base/hash.h"
#include "compare/setup_differences.h"
#include "metrics/metric.h"

/* How far the peak is above the lower bound, in percent of the lower bound. */
static double over_bound(const struct frag_result *r)
{
	if (!r->lower_bound)
		return 0;
	return 100 * ((double)r->peak.reserved / (double)r->lower_bound - 1);
}

static double efficiency(const struct frag_result *r)
{
	if (!r->peak.reserved)
		return 100;
	return 100 * (double)r->peak.allocated / (double)r->peak.reserved;
}

static double device_calls(const struct frag_result *r)
{
	return (double)(r->counts.segment_allocs + r->counts.segment_frees);
}

#define UNIT_BYTES FRAG_BYTES
#define UNIT_COUNT FRAG_NUMBER
#define ENTRY_APART(name, of)
#define ENTRY_FIGURE(name, of) { .path = "peak." #name, .unit = UNIT_##of, .of_peaks = true },
#define ENTRY(name, unit, since, peak, pool, rows, diff, text) ENTRY_##diff(name, unit)

#define OWN(name, its, of, some, ...) { .path = (its), .unit = FRAG_##of, .optional = (some), __VA_ARGS__ },

const struct frag_figure frag_figures[FRAG_FIGURES] = {
	FRAG_OWN_FIGURES(OWN)
	FRAG_METRICS(ENTRY)
};

bool frag_figure_value(const struct frag_figure *figure, const struct frag_result *result,
		       double *value)
{
	bool absent = false;

	if (!result)
		return false;
	if (figure->value)
		*value = figure->value(result);
	else if (!frag_result_value(result, figure->path, value, &absent) || absent)
		return false;
	if (figure->unit == FRAG_POINTS)
		*value = frag_fixed4(*value);
	return true;
}

bool frag_results_comparable(const struct frag_result *base, const struct frag_result *result)
{
	if (frag_peaks_comparable(base, result))
		return true;
	return base->status == result->status && base->steps == result->steps
	       && base->counts.ooms == result->counts.ooms;
}

/*
 * A metric that both runs lack is unchanged. A metric that only one run has is changed, neither
 * better nor worse. A metric that an older file does not contain is not compared.
 */
struct frag_change frag_pair_change(const struct frag_figure *figure, const struct frag_pair *pair)
{
	const struct frag_result *base = pair->base ? &pair->base->result : NULL;
	const struct frag_result *result = pair->run ? &pair->run->result : NULL;
	struct frag_change c = { .verdict = FRAG_SAME };

	c.has_base = frag_figure_value(figure, base, &c.base);
	c.has_value = frag_figure_value(figure, result, &c.value);
	if (!c.has_base || !c.has_value) {
		c.verdict = c.has_base == c.has_value
			    || (base && frag_result_unread(base, figure->path))
			    || (result && frag_result_unread(result, figure->path))
			    ? FRAG_SAME : FRAG_CHANGED;
		return c;
	}
	c.compared = figure->of_end || (figure->of_peaks ? frag_peaks_comparable(base, result)
							: frag_results_comparable(base, result));
	if (!c.compared) {
		c.verdict = c.base == c.value ? FRAG_SAME : FRAG_CHANGED;
		return c;
	}
	c.difference = c.value - c.base;
	c.has_percent = c.base != 0;
	if (c.has_percent)
		c.percent = 100 * (c.difference / fabs(c.base));
	if (c.difference != 0)
		c.verdict = (c.difference > 0) == figure->more_is_better ? FRAG_BETTER : FRAG_WORSE;
	return c;
}

const char *const frag_verdict_words[] = { "same", "changed", "better", "worse", "mixed", NULL };

const char *frag_verdict_name(enum frag_verdict verdict)
{
	FRAG_ASSERT((unsigned)verdict <= FRAG_MIXED);
	return frag_verdict_words[verdict];
}

/* The traces of a set by any of their names; `device` is the kind of name. */
enum trace_key { TRACE_BY_PATH, TRACE_BY_CONTENT, TRACE_BY_FILE_NAME, TRACE_KEYS };

/* The runs of a trace likewise: as the policy is written, by its keys, or as any on its device. */
enum run_key { RUN_BY_POLICY, RUN_BY_KEYS, RUN_BY_DEVICE, RUN_KEYS };
struct run_list {
	struct frag_runs *runs;
	struct frag_lookup names;
};

/* A name by which a trace may be known; without text it has no such. */
static struct frag_name trace_name(const struct frag_runs *runs, enum trace_key kind)
{
	return (struct frag_name){
		.device = kind, .more = "", .text = kind == TRACE_BY_CONTENT ? runs->content
		: kind == TRACE_BY_PATH ? runs->path : frag_file_name(runs->path),
	};
}

/* False: out of memory. The names are released in either case. */
static bool traces_list(struct frag_lookup *l, const struct frag_run_set *set)
{
	if (!frag_lookup_init(l, TRACE_KEYS * set->count))
		return false;
	for (uint32_t i = 0; i < TRACE_KEYS * set->count; i++) {
		struct frag_name name = trace_name(&set->trace[i / TRACE_KEYS], i % TRACE_KEYS);

		name.index = i / TRACE_KEYS;
		if (name.text)
			l->name[l->count++] = name;
	}
	frag_lookup_sort(l);
	return true;
}

/* The trace of the base that is this one: by path, else content, else file name. NULL: none. */
static struct frag_runs *find_trace(const struct frag_comparison *c, const struct frag_runs *like)
{
	for (uint32_t kind = 0; kind < TRACE_KEYS; kind++) {
		const struct frag_name name = trace_name(like, kind);
		bool alone = true;
		uint32_t i;

		if (!name.text)
			continue;
		i = frag_lookup_find(&c->base_names, &name,
				     kind == TRACE_BY_FILE_NAME ? &alone : NULL);
		if (i != UINT32_MAX && alone)
			return &c->base.trace[i];
	}
	return NULL;
}

/* The name of a run: its policy text, its keys, or its device alone. */
static struct frag_name run_name(const struct frag_run *run, enum run_key kind)
{
	return (struct frag_name){
		.device = run->result.device * RUN_KEYS + kind,
		.text = kind == RUN_BY_POLICY ? run->policy : kind == RUN_BY_KEYS ? run->name : "",
		.more = kind == RUN_BY_KEYS ? run->params : "",
	};
}

static bool runs_list(struct run_list *list, struct frag_runs *runs)
{
	struct frag_lookup *l = &list->names;

	list->runs = runs;
	if (!frag_lookup_init(l, RUN_KEYS * runs->count))
		return false;
	for (; l->count < RUN_KEYS * runs->count; l->count++) {
		l->name[l->count] = run_name(&runs->run[l->count / RUN_KEYS], l->count % RUN_KEYS);
		l->name[l->count].index = l->count / RUN_KEYS;
	}
	frag_lookup_sort(l);
	return true;
}

/*
 * Finds the counterpart by the policy text, else by its keys. Of several alike runs, the first
 * belongs to the first one of the other side, the second to the second; the last belongs to all
 * that have no other counterpart.
 */
static struct frag_run *find_like(const struct run_list *list, const struct run_list *of,
				  uint32_t i)
{
	for (uint32_t kind = RUN_BY_POLICY; kind <= RUN_BY_KEYS; kind++) {
		struct frag_name name = run_name(&of->runs->run[i], kind);
		uint32_t k;

		name.index = i;
		k = frag_lookup_ranked(&list->names, &name, frag_lookup_rank(&of->names, &name));
		if (k != UINT32_MAX)
			return &list->runs->run[k];
	}
	return NULL;
}

/* The run that belongs to run `i` of `of`: on the same device, by the policy as
 * written, else by its keys, else by its place where nothing else fits. NULL: none. */
static struct frag_run *find_run(const struct run_list *list, const struct run_list *of,
				 uint32_t i)
{
	const struct frag_runs *runs = list->runs;
	struct frag_run *like = find_like(list, of, i);

	FRAG_ASSERT(i < of->runs->count);
	if (like)
		return like;
	/* other policies on both sides: pairs the first with the first, and so on */
	if (runs->count != of->runs->count
	    || runs->run[i].result.device != of->runs->run[i].result.device
	    || find_like(of, list, i))
		return NULL;
	return &runs->run[i];
}

static enum frag_verdict verdicts_join(enum frag_verdict a, enum frag_verdict b)
{
	if (a == b || b == FRAG_SAME)
		return a;
	if (a == FRAG_SAME || a == FRAG_CHANGED)
		return b;
	return b == FRAG_CHANGED ? a : FRAG_MIXED;
}

/* Metrics that decide give better or worse; other metrics that differ give changed. */
static enum frag_verdict verdict_of_pair(const struct frag_pair *pair)
{
	enum frag_verdict verdict = pair->base->result.status == pair->run->result.status
				    ? FRAG_SAME : FRAG_CHANGED;

	for (uint32_t i = 0; i < FRAG_FIGURES; i++) {
		struct frag_change c = frag_pair_change(&frag_figures[i], pair);

		if (c.verdict != FRAG_SAME)
			verdict = verdicts_join(verdict, frag_figures[i].decides ? c.verdict
										  : FRAG_CHANGED);
	}
	return verdict;
}

/* Is the difference of a larger than that of b? Reserved counts first. */
static bool farther(const struct frag_divergence_point *a, const struct frag_divergence_point *b)
{
	uint64_t x = frag_gap_of(a->reserved, a->base_reserved);
	uint64_t y = frag_gap_of(b->reserved, b->base_reserved);

	if (x != y)
		return x > y;
	return frag_gap_of(a->allocated, a->base_allocated)
	       > frag_gap_of(b->allocated, b->base_allocated);
}

static void note_place(struct frag_pair *pair, const struct frag_divergence_point *place)
{
	const struct frag_divergence_point none = { .kind = FRAG_WHERE_NOWHERE };

	if (!farther(place, &none))
		return;
	if (pair->first.kind == FRAG_WHERE_NOWHERE)
		pair->first = *place;
	if (pair->largest.kind == FRAG_WHERE_NOWHERE || farther(place, &pair->largest))
		pair->largest = *place;
}

/* Marks that both have: the same names in the same order. */
static void compare_marks(struct frag_pair *pair)
{
	const struct frag_result *a = &pair->base->result, *b = &pair->run->result;

	for (uint32_t i = 0; i < a->mark_count && i < b->mark_count; i++) {
		struct frag_divergence_point place = {
			.kind = FRAG_WHERE_MARK,
			.step = b->marks[i].step, .last = b->marks[i].step,
			.base_reserved = a->marks[i].metrics.reserved,
			.base_allocated = a->marks[i].metrics.allocated,
			.reserved = b->marks[i].metrics.reserved,
			.allocated = b->marks[i].metrics.allocated,
		};

		if (strcmp(a->marks[i].name, b->marks[i].name) != 0)
			return;
		frag_where_json_name(place.mark, sizeof(place.mark), b->marks[i].name);
		note_place(pair, &place);
	}
}

static const struct frag_mark *mark_before(const struct frag_result *r, uint64_t step)
{
	const struct frag_mark *before = NULL;

	for (uint32_t i = 0; i < r->mark_count && r->marks[i].step <= step; i++)
		before = &r->marks[i];
	return before;
}

/*
 * Widths are powers of two, so intervals of both can be merged to the same boundaries. Timelines
 * from a file that do not match are compared up to the first mismatch.
 */
static void compare_timelines(struct frag_pair *pair)
{
	struct frag_timeline a = pair->base->timeline, b = pair->run->timeline;

	frag_timeline_widen(&a, b.width);
	frag_timeline_widen(&b, a.width);
	for (uint32_t i = 0; i < a.count && i < b.count; i++) {
		const struct frag_mark *mark = mark_before(&pair->run->result, b.stretch[i].from);
		struct frag_divergence_point place = {
			.kind = FRAG_WHERE_STRETCH, .step = b.stretch[i].from,
			.last = i + 1 < b.count ? b.stretch[i + 1].from - 1
						: b.stretch[i].from + b.in_last - 1,
			.base_reserved = a.stretch[i].reserved,
			.base_allocated = a.stretch[i].allocated,
			.reserved = b.stretch[i].reserved,
			.allocated = b.stretch[i].allocated,
		};

		if (a.stretch[i].from != b.stretch[i].from)
			return;
		if (mark)
			frag_where_json_name(place.mark, sizeof(place.mark), mark->name);
		note_place(pair, &place);
	}
}

int frag_comparison_begin(struct frag_comparison *c, uint32_t traces, struct frag_error *err)
{
	c->group = calloc((size_t)traces + c->base.count + 1, sizeof(*c->group));
	if (!c->group || !traces_list(&c->base_names, &c->base))
		return frag_fail_nomem(err);
	c->count = traces;
	return 0;
}

static bool on_many_devices(const struct frag_runs *runs)
{
	for (uint32_t i = 0; i < runs->count; i++)
		if (runs->run[i].result.device)
			return true;
	return false;
}

/* Verdict, places and conditions of a pair whose two runs are there. */
static bool compare_pair(struct frag_comparison *c, struct frag_group *g, struct frag_pair *pair)
{
	FRAG_ASSERT(pair->run && pair->base);
	pair->verdict = verdict_of_pair(pair);
	if (c->policies || strcmp(g->runs->content, g->base->content) == 0) {
		compare_marks(pair);
		if (pair->base->timeline.count && pair->run->timeline.count
		    && pair->first.kind == FRAG_WHERE_NOWHERE)
			compare_timelines(pair);
	}
	if (c->policies && pair->run->diverged.kind != FRAG_WHERE_NOWHERE)
		pair->first = pair->run->diverged;
	return c->policies || frag_differences_of_runs(&pair->conditions, pair->base, pair->run);
}

/* What run i is compared with: the first on its device, or its counterpart. */
static struct frag_run *find_base(const struct frag_comparison *c, const struct frag_group *g,
				  const struct run_list *now, const struct run_list *base,
				  uint32_t i)
{
	const struct frag_name name = run_name(&g->runs->run[i], RUN_BY_DEVICE);
	uint32_t first;

	if (!c->policies)
		return g->base ? find_run(base, now, i) : NULL;
	first = frag_lookup_find(&now->names, &name, NULL);
	return first == i ? NULL : &g->runs->run[first];
}

static bool make_pairs(struct frag_comparison *c, struct frag_group *g,
		       const struct run_list *now, const struct run_list *base)
{
	for (; g->count < g->runs->count; g->count++) {
		struct frag_pair *pair = &g->pair[g->count];

		pair->run = &g->runs->run[g->count];
		pair->base = find_base(c, g, now, base, g->count);
		if (pair->base && !compare_pair(c, g, pair))
			return false;
	}
	return true;
}

/* What is of no use any more when its pair is made. */
static void run_drop_marks(struct frag_run *run)
{
	for (uint32_t i = 0; i < run->result.mark_count; i++)
		free(run->result.marks[i].name);
	free(run->result.marks);
	run->result.marks = NULL;
	run->result.mark_count = 0;
}

/*
 * Each trace writes its own group only, so several may be compared at once. Marks
 * go when they have been compared: they are most of what a run keeps.
 */
int frag_comparison_trace(struct frag_comparison *c, uint32_t index, struct frag_runs *runs,
			  struct frag_error *err)
{
	struct frag_group *g = &c->group[index];
	struct run_list now = { .runs = NULL }, base = { .runs = NULL };
	bool good;

	FRAG_ASSERT(index < c->count && !g->pair);
	g->runs = runs;
	g->many_devices = on_many_devices(runs);
	g->base = c->policies ? NULL : find_trace(c, runs);
	/* the contents of a partly read trace are not comparable */
	g->changed = g->base && g->base->complete && runs->complete
		     && strcmp(g->base->content, runs->content) != 0;
	g->pair = calloc((size_t)runs->count + (g->base ? g->base->count : 0) + 1,
			 sizeof(*g->pair));
	good = g->pair && (!g->base || frag_differences_of_traces(&g->conditions, g->base, runs))
	       && runs_list(&now, runs) && (!g->base || runs_list(&base, g->base))
	       && make_pairs(c, g, &now, &base);
	frag_lookup_fini(&now.names);
	frag_lookup_fini(&base.names);
	if (!good)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < runs->count; i++)
		run_drop_marks(&runs->run[i]);
	return 0;
}

/* The runs of the base that no pair has. False: out of memory. */
static bool add_missing_runs(struct frag_group *g)
{
	const uint32_t paired = g->count;
	bool *there;

	if (!g->base)
		return true;
	there = calloc((size_t)g->base->count + 1, sizeof(*there));
	if (!there)
		return false;
	for (uint32_t i = 0; i < paired; i++)
		if (g->pair[i].base)
			there[g->pair[i].base - g->base->run] = true;
	for (uint32_t i = 0; i < g->base->count; i++)
		if (!there[i])
			g->pair[g->count++] = (struct frag_pair){ .base = &g->base->run[i] };
	free(there);
	return true;
}

/* The traces of the base that no group has. False: out of memory. */
static bool add_missing_traces(struct frag_comparison *c)
{
	bool *there = calloc((size_t)c->base.count + 1, sizeof(*there));
	bool good = there != NULL;

	for (uint32_t i = 0; i < c->count && good; i++)
		if (c->group[i].base)
			there[c->group[i].base - c->base.trace] = true;
	for (uint32_t i = 0; i < c->base.count && good; i++) {
		struct frag_group *g = &c->group[c->count];

		if (there[i])
			continue;
		g->base = &c->base.trace[i];
		g->many_devices = on_many_devices(g->base);
		g->pair = calloc((size_t)g->base->count + 1, sizeof(*g->pair));
		good = g->pair != NULL;
		c->count += good;
		good = good && add_missing_runs(g);
	}
	free(there);
	return good;
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

static void count_outcome(struct frag_comparison *c)
{
	struct frag_outcome *o = &c->outcome;

	for (uint32_t i = 0; i < c->count; i++) {
		for (uint32_t k = 0; k < c->group[i].count; k++) {
			const struct frag_pair *pair = &c->group[i].pair[k];

			if (pair->run && pair->base) {
				o->verdict[pair->verdict]++;
				o->compared++;
			} else if (!c->policies) {
				o->added += pair->run != NULL;
				o->missing += pair->base != NULL;
			}
		}
	}
}

/* Sums of logarithms while they gather, means at the end. */
static void stand(struct frag_policy_summary *s, const struct frag_group *g,
		  const struct frag_pair *pair)
{
	const struct frag_result *r = &pair->run->result;
	const struct frag_result *base = pair->base ? &pair->base->result : r;
	double ratio;

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

static void finish(struct frag_policy_summary *s)
{
	if (!s->ratios)
		return;
	s->ratio = exp(s->ratio / s->ratios);
	s->over_bound = 100 * (exp(s->over_bound / s->ratios) - 1);
	s->fi_device /= s->ratios;
}

/* By the hash of a policy's text: the place of its summary. */
struct standings {
	struct frag_map places;
	struct frag_policy_summary *list;
	uint32_t count, capacity;
};

/* The summary of the run's policy, a new one at the end of the list; NULL: out of memory. */
static struct frag_policy_summary *summary_of(struct standings *s, const struct frag_run *run)
{
	const uint64_t key = frag_hash_text(run->policy, strlen(run->policy), s->places.seed);
	uint32_t at = frag_map_home(&s->places, key), i;

	while ((i = frag_map_next(&s->places, key, &at)) != FRAG_MAP_NONE)
		if (strcmp(s->list[i].run->policy, run->policy) == 0)
			return &s->list[i];
	if (!FRAG_GROW(s->list, s->capacity, s->count)
	    || !frag_map_add(&s->places, key, s->count))
		return NULL;
	s->list[s->count] = (struct frag_policy_summary){ .run = run };
	return &s->list[s->count++];
}

static bool gather_standings(struct standings *s, const struct frag_comparison *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		const struct frag_group *g = &c->group[i];

		for (uint32_t k = 0; k < g->count; k++) {
			const struct frag_pair *pair = &g->pair[k];
			struct frag_policy_summary *summary;

			if (!pair->run || !(c->policies || pair->base))
				continue;
			summary = summary_of(s, pair->run);
			if (!summary)
				return false;
			stand(summary, g, pair);
		}
	}
	return true;
}

static bool make_standings(struct frag_comparison *c)
{
	struct standings s = { .count = 0 };
	const bool good = frag_map_init(&s.places, frag_hash_seed()) && gather_standings(&s, c);

	for (uint32_t i = 0; i < s.count && good; i++)
		finish(&s.list[i]);
	frag_map_fini(&s.places);
	c->standings = s.list;
	c->standing_count = s.count;
	return good;
}

int frag_comparison_end(struct frag_comparison *c, bool with_missing, struct frag_error *err)
{
	bool good = true;

	drop_empty(c);
	if (!c->policies) {
		good = frag_differences_of_tools(&c->conditions, &c->base, &c->now);
		for (uint32_t i = 0; i < c->count && with_missing && good; i++)
			good = add_missing_runs(&c->group[i]);
		good = good && (!with_missing || add_missing_traces(c));
	}
	count_outcome(c);
	return good && make_standings(c) ? 0 : frag_fail_nomem(err);
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
	free(c->standings);
	frag_lookup_fini(&c->base_names);
	frag_run_set_fini(&c->now);
	frag_run_set_fini(&c->base);
}
