/* run_pairs.c - which run belongs to which, and where two of them differ. */
#include "compare/run_pairs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/output_path.h"
#include "base/array_grow.h"
#include "compare/runs.h"
#include "metrics/metric.h"

static int name_order(const struct frag_name *a, const struct frag_name *b)
{
	int order = (a->device > b->device) - (a->device < b->device);

	order = order ? order : strcmp(a->text, b->text);
	return order ? order : strcmp(a->more, b->more);
}

static int by_name(const void *a, const void *b)
{
	const struct frag_name *x = a, *y = b;
	const int order = name_order(x, y);

	return order ? order : (x->index > y->index) - (x->index < y->index);
}

bool frag_lookup_init(struct frag_lookup *l, uint32_t max)
{
	l->count = 0;
	l->name = malloc(((size_t)max + 1) * sizeof(*l->name));
	return l->name != NULL;
}

void frag_lookup_fini(struct frag_lookup *l)
{
	free(l->name);
}

void frag_lookup_sort(struct frag_lookup *l)
{
	qsort(l->name, l->count, sizeof(*l->name), by_name);
}

/* Where the name is, with its index, or would be. */
static uint32_t name_index_place_of(const struct frag_lookup *l, const struct frag_name *name,
				    uint32_t index)
{
	struct frag_name wanted = *name;
	uint32_t low;

	wanted.index = index;
	FRAG_COUNT_WHILE(low, l->count, by_name(&l->name[low], &wanted) < 0);
	return low;
}

uint32_t frag_lookup_find(const struct frag_lookup *l, const struct frag_name *name, bool *alone)
{
	const uint32_t at = name_index_place_of(l, name, 0);

	if (at == l->count || name_order(&l->name[at], name) != 0)
		return UINT32_MAX;
	if (alone)
		*alone = at + 1 == l->count || name_order(&l->name[at + 1], name) != 0;
	return l->name[at].index;
}

uint32_t frag_lookup_rank(const struct frag_lookup *l, const struct frag_name *name)
{
	return name_index_place_of(l, name, name->index) - name_index_place_of(l, name, 0);
}

uint32_t frag_lookup_ranked(const struct frag_lookup *l, const struct frag_name *name,
			    uint32_t rank)
{
	const uint32_t first = name_index_place_of(l, name, 0),
		       end = name_index_place_of(l, name, UINT32_MAX);

	if (first == end)
		return UINT32_MAX;
	return l->name[rank < end - first ? first + rank : end - 1].index;
}

/* The names by which a trace may be known; NULL: it has no such. */
static const char *trace_name(const struct frag_runs *runs, enum frag_trace_key kind)
{
	if (kind == FRAG_TRACE_BY_CONTENT)
		return runs->content;
	return kind == FRAG_TRACE_BY_PATH ? runs->path : frag_file_name(runs->path);
}

bool frag_traces_list(struct frag_trace_list *list, struct frag_run_set *set)
{
	list->set = set;
	for (uint32_t kind = 0; kind < FRAG_TRACE_KEYS; kind++) {
		struct frag_lookup *l = &list->by[kind];

		if (!frag_lookup_init(l, set->count))
			return false;
		for (uint32_t i = 0; i < set->count; i++) {
			const char *name = trace_name(&set->trace[i], kind);

			if (name)
				l->name[l->count++] = (struct frag_name){ 0, name, "", i };
		}
		frag_lookup_sort(l);
	}
	return true;
}

void frag_traces_unlist(struct frag_trace_list *list)
{
	for (uint32_t kind = 0; kind < FRAG_TRACE_KEYS; kind++)
		frag_lookup_fini(&list->by[kind]);
}

struct frag_runs *frag_find_trace(const struct frag_trace_list *list, const struct frag_runs *like)
{
	for (uint32_t kind = 0; kind < FRAG_TRACE_KEYS; kind++) {
		const struct frag_name name = { .text = trace_name(like, kind), .more = "" };
		bool alone = true;
		uint32_t i;

		if (!name.text)
			continue;
		i = frag_lookup_find(&list->by[kind], &name,
				     kind == FRAG_TRACE_BY_FILE_NAME ? &alone : NULL);
		if (i != UINT32_MAX && alone)
			return &list->set->trace[i];
	}
	return NULL;
}

/* The name of a run: its policy text, its keys, or its device alone. */
static struct frag_name run_name(const struct frag_run *run, enum frag_run_key kind)
{
	struct frag_name name = { .device = run->result.device, .text = "", .more = "" };

	if (kind == FRAG_RUN_BY_POLICY) {
		name.text = run->policy;
	} else if (kind == FRAG_RUN_BY_KEYS) {
		name.text = run->name;
		name.more = run->params;
	}
	return name;
}

bool frag_runs_list(struct frag_run_list *list, struct frag_runs *runs)
{
	list->runs = runs;
	for (uint32_t kind = 0; kind < FRAG_RUN_KEYS; kind++) {
		struct frag_lookup *l = &list->by[kind];

		if (!frag_lookup_init(l, runs->count))
			return false;
		for (; l->count < runs->count; l->count++) {
			l->name[l->count] = run_name(&runs->run[l->count], kind);
			l->name[l->count].index = l->count;
		}
		frag_lookup_sort(l);
	}
	return true;
}

void frag_runs_unlist(struct frag_run_list *list)
{
	for (uint32_t kind = 0; kind < FRAG_RUN_KEYS; kind++)
		frag_lookup_fini(&list->by[kind]);
}

struct frag_run *frag_first_run(const struct frag_run_list *list, const struct frag_run *like)
{
	const struct frag_name name = run_name(like, FRAG_RUN_BY_DEVICE);
	const uint32_t i = frag_lookup_find(&list->by[FRAG_RUN_BY_DEVICE], &name, NULL);

	return i == UINT32_MAX ? NULL : &list->runs->run[i];
}

/*
 * Finds the counterpart by the policy text, else by its keys. Of several alike runs, the first
 * belongs to the first one of the other side, the second to the second; the last belongs to all
 * that have no other counterpart.
 */
static struct frag_run *find_like(const struct frag_run_list *list, const struct frag_run_list *of,
				  uint32_t i)
{
	for (uint32_t kind = FRAG_RUN_BY_POLICY; kind <= FRAG_RUN_BY_KEYS; kind++) {
		struct frag_name name = run_name(&of->runs->run[i], kind);
		uint32_t k;

		name.index = i;
		k = frag_lookup_ranked(&list->by[kind], &name,
				       frag_lookup_rank(&of->by[kind], &name));
		if (k != UINT32_MAX)
			return &list->runs->run[k];
	}
	return NULL;
}

struct frag_run *frag_find_run(const struct frag_run_list *list, const struct frag_run_list *of,
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

static enum frag_verdict run_pairs_join(enum frag_verdict a, enum frag_verdict b)
{
	if (a == b || b == FRAG_SAME)
		return a;
	if (a == FRAG_SAME || a == FRAG_CHANGED)
		return b;
	return b == FRAG_CHANGED ? a : FRAG_MIXED;
}

/* Metrics that decide give better or worse; other metrics that differ give changed. */
static enum frag_verdict run_pairs_verdict_of(const struct frag_result *base,
					      const struct frag_result *run)
{
	enum frag_verdict verdict = base->status == run->status ? FRAG_SAME : FRAG_CHANGED;

	for (uint32_t i = 0; i < FRAG_FIGURES; i++) {
		struct frag_change c = frag_figure_change(&frag_figures[i], base, run);

		if (c.verdict != FRAG_SAME)
			verdict = run_pairs_join(verdict, frag_figures[i].decides ? c.verdict
										  : FRAG_CHANGED);
	}
	return verdict;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Is the difference of a larger than that of b? Reserved counts first. */
static bool farther(const struct frag_divergence_point *a, const struct frag_divergence_point *b)
{
	uint64_t x = distance(a->reserved, a->base_reserved);
	uint64_t y = distance(b->reserved, b->base_reserved);

	if (x != y)
		return x > y;
	return distance(a->allocated, a->base_allocated)
	       > distance(b->allocated, b->base_allocated);
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

void frag_pair_compare(struct frag_pair *pair, bool same_trace)
{
	FRAG_ASSERT(pair->run && pair->base);
	pair->verdict = run_pairs_verdict_of(&pair->base->result, &pair->run->result);
	if (!same_trace)
		return;
	compare_marks(pair);
	if (pair->base->timeline.count && pair->run->timeline.count
	    && pair->first.kind == FRAG_WHERE_NOWHERE)
		compare_timelines(pair);
}

/* NULL where there are none. */
static bool setup_differences_end(struct frag_memory *l, char **text)
{
	*text = NULL;
	if (!frag_memory_close(l))
		return false;
	if (l->size)
		*text = l->text;
	else
		free(l->text);
	return true;
}

/* Lists the metrics that a set lacks because its file is older than the metrics. */
static void describe_unread(struct frag_memory *l, const struct frag_run_set *set)
{
	char path[FRAG_PRINTABLE_ROOM];
	const char *before = NULL;

	for (const struct frag_metric *k = frag_metric_table(); k->name; k++) {
		if (!k->figure || !(set->unread & frag_metric_bit(k)))
			continue;
		if (!before)
			fprintf(l->f, "%s is older than", frag_printable(path, set->path));
		fprintf(l->f, "%s peak.%s", before ? before : "", k->name);
		before = ",";
	}
	if (before)
		fputs(": not compared\n", l->f);
}

bool frag_describe_tools(char **text, const struct frag_run_set *base,
			 const struct frag_run_set *now)
{
	char a[FRAG_PRINTABLE_ROOM], b[FRAG_PRINTABLE_ROOM];
	struct frag_memory l;

	if (!frag_memory_open(&l))
		return false;
	if (strcmp(base->version, now->version) != 0)
		fprintf(l.f, "fragsim %s, before %s\n", frag_printable(a, now->version),
			frag_printable(b, base->version));
	describe_unread(&l, base);
	describe_unread(&l, now);
	return setup_differences_end(&l, text);
}

static void describe_count(struct frag_memory *l, const char *what, uint64_t base, uint64_t now)
{
	if (base != now)
		fprintf(l->f, "%s: %" PRIu64 ", before %" PRIu64 "\n", what, now, base);
}

bool frag_describe_traces(char **text, const struct frag_runs *base, const struct frag_runs *now)
{
	char a[FRAG_PRINTABLE_ROOM], b[FRAG_PRINTABLE_ROOM];
	struct frag_memory l;

	if (!frag_memory_open(&l))
		return false;
	if (strcmp(base->content, now->content) != 0)
		fprintf(l.f, "the trace itself: content %s, before %s\n",
			frag_printable(a, now->content), frag_printable(b, base->content));
	describe_count(&l, "events", base->events, now->events);
	describe_count(&l, "allocs", base->allocs, now->allocs);
	describe_count(&l, "frees", base->frees, now->frees);
	if (!now->complete || !base->complete)
		fprintf(l.f, "not read to its end: %s\n", !base->complete && !now->complete
			? "both" : now->complete ? "the base" : "the new one");
	return setup_differences_end(&l, text);
}

static void describe_size(struct frag_memory *l, const char *what, uint64_t base, uint64_t now)
{
	char a[FRAG_NUMBER_ROOM], b[FRAG_NUMBER_ROOM];

	if (base != now)
		fprintf(l->f, "device %s: %" PRIu64 " (%s), before %" PRIu64 " (%s)\n", what, now,
			frag_size_text(a, now), base, frag_size_text(b, base));
}

/* The first `length` bytes of a text, escaped for a line. */
static const char *setup_differences_part(char buf[FRAG_PRINTABLE_ROOM], const char *text,
					  size_t length)
{
	frag_format_printable(buf, FRAG_PRINTABLE_ROOM, "%.*s", (int)length, text);
	return buf;
}

/* Every key of `keys` that has another value, or none, in `other`. */
static void describe_params(struct frag_memory *l, const char *keys, const char *other,
			    bool keys_are_new)
{
	char k[FRAG_PRINTABLE_ROOM], v[FRAG_PRINTABLE_ROOM], w[FRAG_PRINTABLE_ROOM];

	for (const char *p = keys; *p;) {
		size_t key = strcspn(p, "="), mine, theirs = 0;
		const char *value = frag_params_find(keys, p, key, &mine);
		const char *there = frag_params_find(other, p, key, &theirs);

		if (!value)
			return;
		if (keys_are_new && !there)
			fprintf(l->f, "policy key %s: %s, before there was none\n",
				setup_differences_part(k, p, key),
				setup_differences_part(v, value, mine));
		else if (keys_are_new && (mine != theirs || memcmp(value, there, mine) != 0))
			fprintf(l->f, "policy key %s: %s, before %s\n",
				setup_differences_part(k, p, key),
				setup_differences_part(v, value, mine),
				setup_differences_part(w, there, theirs));
		else if (!keys_are_new && !there)
			fprintf(l->f, "policy key %s: there is none, before %s\n",
				setup_differences_part(k, p, key),
				setup_differences_part(v, value, mine));
		p = value + mine;
		p += *p == ',';
	}
}

/*
 * Keys are gone through from both sides: once for those that are new or differ,
 * once for those that only the base has.
 */
bool frag_describe_runs(char **text, const struct frag_run *base, const struct frag_run *now)
{
	const struct frag_result *a = &base->result, *b = &now->result;
	char now_text[FRAG_PRINTABLE_ROOM], base_text[FRAG_PRINTABLE_ROOM];
	struct frag_memory l;

	if (!frag_memory_open(&l))
		return false;
	if (strcmp(base->name, now->name) != 0) {
		fprintf(l.f, "policy: %s, before %s\n", frag_printable(now_text, now->policy),
			frag_printable(base_text, base->policy));
	} else {
		describe_params(&l, now->params, base->params, true);
		describe_params(&l, base->params, now->params, false);
	}
	describe_size(&l, "total", a->total, b->total);
	describe_size(&l, "context", a->context, b->context);
	describe_size(&l, "other processes", a->other, b->other);
	describe_size(&l, "granularity", a->granularity, b->granularity);
	describe_size(&l, "small requests", a->small_max, b->small_max);
	describe_size(&l, "granularity of small requests", a->small_granularity,
		      b->small_granularity);
	if (a->modelled.there != b->modelled.there)
		fprintf(l.f, "time in the driver: %s\n",
			b->modelled.there ? "modelled, before not" : "not modelled, before it was");
	if (a->status == FRAG_RUN_INTERRUPTED || b->status == FRAG_RUN_INTERRUPTED)
		fprintf(l.f, "interrupted: %s\n", a->status != b->status
			? b->status == FRAG_RUN_INTERRUPTED ? "the new one" : "the base" : "both");
	return setup_differences_end(&l, text);
}
