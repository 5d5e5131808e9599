/* runs.c - runs to be compared: made from results, found by name, described, and released. */
#include "compare/runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/format.h"
#include "base/atomic_file.h"
#include "metrics/metric.h"
#include "policy/param.h"

/*
 * Merges pairs of adjacent intervals. If the count is even, the last interval merges with a full
 * one; if the count is odd, the last interval is unchanged.
 */
static void runs_halve(struct frag_timeline *c)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		struct frag_stretch s = c->stretch[i];
		struct frag_stretch *to = &c->stretch[i / 2];

		if (i % 2 == 0) {
			*to = s;
			count++;
			continue;
		}
		if (s.reserved > to->reserved)
			to->reserved = s.reserved;
		if (s.allocated > to->allocated)
			to->allocated = s.allocated;
	}
	c->in_last += c->count % 2 ? 0 : c->width;
	c->count = count;
	c->width *= 2;
}

/*
 * Each interval covers `width` steps. When all intervals are used, adjacent pairs are merged and
 * the width doubles, so the size is fixed for any number of steps.
 */
void frag_timeline_add(struct frag_timeline *c, const struct frag_step *step)
{
	struct frag_stretch *last;

	FRAG_ASSERT(c->count <= FRAG_TIMELINE_MAX);
	if (c->width == 0)
		c->width = 1;
	if (c->count == 0 || c->in_last == c->width) {
		if (c->count == FRAG_TIMELINE_MAX)
			runs_halve(c);
		c->stretch[c->count++] = (struct frag_stretch){ .from = step->event->step };
		c->in_last = 0;
	}
	c->in_last++;
	last = &c->stretch[c->count - 1];
	if (step->metrics->reserved > last->reserved)
		last->reserved = step->metrics->reserved;
	if (step->metrics->allocated > last->allocated)
		last->allocated = step->metrics->allocated;
}

void frag_timeline_widen(struct frag_timeline *c, uint64_t width)
{
	FRAG_ASSERT(!c->count || c->width);
	while (c->count && c->width < width)
		runs_halve(c);
}

void frag_timeline_shorten(struct frag_timeline *c, uint32_t max)
{
	FRAG_ASSERT(max > 0);
	while (c->count > max)
		runs_halve(c);
}

char *frag_params_text(const struct frag_choice *choice)
{
	const struct frag_param_spec *spec = choice->ops->params;
	char value[FRAG_PARAM_TEXT];
	const char *before = "";
	struct frag_memory m;

	if (!frag_memory_open(&m))
		return NULL;
	for (uint32_t i = 0; spec && spec[i].name; i++) {
		if (frag_param_is_omitted(choice, i))
			continue;
		fprintf(m.f, "%s%s=%s", before, spec[i].name,
			frag_param_text(&spec[i], choice->param[i], value));
		before = ",";
	}
	return frag_memory_close(&m) ? m.text : NULL;
}

/* A key begins the text or follows a comma, and '=' follows it: no value holds ",key=". */
const char *frag_params_find(const char *params, const char *key, size_t key_length,
			     size_t *length)
{
	for (const char *p = params; *p;) {
		size_t n = strcspn(p, "=");
		const char *value = p + n + (p[n] == '=');
		const char *end = value;

		/* a comma in a value, as in a list, is not followed by a key */
		for (;;) {
			end += strcspn(end, ",");
			if (!*end || end[1 + strcspn(end + 1, ",=")] == '=')
				break;
			end++;
		}
		if (n == key_length && strncmp(p, key, n) == 0) {
			*length = (size_t)(end - value);
			return value;
		}
		p = *end ? end + 1 : end;
	}
	return NULL;
}

/* Whole escapes only, and both halves of a pair of surrogates or none. */
void frag_where_json_name(char *to, size_t size, const char *json)
{
	size_t used = 0, n;

	FRAG_ASSERT(size > 0 && *json == '"');
	for (const char *p = json + 1; p[0] && p[1]; p += n) {
		n = p[0] != '\\' ? 1 : p[1] != 'u' ? 2 : 6;
		if (n == 6 && strchr("dD", p[2]) && strchr("89abAB", p[3]))
			n = 12;
		if (used + n >= size)
			break;
		memcpy(to + used, p, n);
		used += n;
	}
	to[used] = '\0';
}

struct frag_run *frag_runs_add(struct frag_runs *runs)
{
	struct frag_run *run;

	if (!FRAG_GROW(runs->run, runs->capacity, runs->count))
		return NULL;
	run = &runs->run[runs->count++];
	memset(run, 0, sizeof(*run));
	return run;
}

struct frag_runs *frag_run_set_add(struct frag_run_set *set)
{
	struct frag_runs *runs;

	if (!FRAG_GROW(set->trace, set->capacity, set->count))
		return NULL;
	runs = &set->trace[set->count++];
	memset(runs, 0, sizeof(*runs));
	return runs;
}

static bool keep_marks(struct frag_result *to, const struct frag_result *from)
{
	to->marks = NULL;
	to->mark_count = 0;
	if (!from->mark_count)
		return true;
	to->marks = calloc(from->mark_count, sizeof(*to->marks));
	if (!to->marks)
		return false;
	while (to->mark_count < from->mark_count) {
		uint32_t i = to->mark_count++;

		if (!frag_mark_copy(&to->marks[i], &from->marks[i]))
			return false;
	}
	return true;
}

static bool keep_first_oom(struct frag_result *to, const struct frag_result *from)
{
	to->ooms = NULL;
	to->oom_count = 0;
	if (!from->oom_count)
		return true;
	to->ooms = calloc(1, sizeof(*to->ooms));
	if (!to->ooms)
		return false;
	to->oom_count = 1;
	return frag_oom_copy(to->ooms, from->ooms);
}

/*
 * The copy must share nothing with the result before the first return, as
 * releasing the run would free the result's own.
 */
bool frag_run_keep(struct frag_run *run, const struct frag_result *result)
{
	bool marks, oom;

	run->result = *result;
	memset(&run->result.choice, 0, sizeof(run->result.choice));
	/* both, so that nothing of the result's own is released with the run */
	marks = keep_marks(&run->result, result);
	oom = keep_first_oom(&run->result, result);
	if (!marks || !oom)
		return false;
	run->policy = strdup(result->choice.text);
	if (*result->choice.label)
		run->label = strdup(result->choice.label);
	run->name = strdup(result->choice.ops->name);
	run->params = frag_params_text(&result->choice);
	if (result->device_name)
		run->device_name = strdup(result->device_name);
	run->result.device_name = run->device_name;
	frag_run_round(run);
	return run->policy && run->name && run->params && (!*result->choice.label || run->label)
	       && (!result->device_name || run->device_name);
}

static void round_distribution(struct frag_distribution *d)
{
#define X(name) d->name = frag_fixed4(d->name);
	X(min) X(mean) X(p50) X(p95) X(p99) X(max) X(last) X(time_weighted_mean)
#undef X
}

void frag_run_round(struct frag_run *run)
{
	struct frag_result *r = &run->result;

	for (const struct frag_metric *k = frag_metric_table(); k->name; k++) {
		union frag_metric_value value = frag_metric_get(&r->last, k);

		if (k->unit != FRAG_METRIC_PERCENT)
			continue;
		value.d = frag_fixed4(value.d);
		frag_metric_set(&r->last, k, value);
		round_distribution(frag_metric_distribution(r, k));
	}
}

static void runs_fini(struct frag_runs *runs)
{
	for (uint32_t i = 0; i < runs->count; i++) {
		struct frag_run *run = &runs->run[i];

		frag_result_fini(&run->result);
		free(run->policy);
		free(run->label);
		free(run->name);
		free(run->params);
		free(run->device_name);
	}
	free(runs->run);
	free(runs->path);
	free(runs->content);
}

void frag_run_set_fini(struct frag_run_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		runs_fini(&set->trace[i]);
	free(set->trace);
	free(set->path);
	free(set->version);
	*set = (struct frag_run_set){ .count = 0 };
}

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
	const char *before = NULL;

	for (const struct frag_metric *k = frag_metric_table(); k->name; k++) {
		if (!k->figure || !(set->unread & frag_metric_bit(k)))
			continue;
		if (!before)
			fprintf(l->f, "%s is older than", SHOWN(set->path));
		fprintf(l->f, "%s peak.%s", before ? before : "", k->name);
		before = ",";
	}
	if (before)
		fputs(": not compared\n", l->f);
}

bool frag_describe_tools(char **text, const struct frag_run_set *base,
			 const struct frag_run_set *now)
{
	struct frag_memory l;

	if (!frag_memory_open(&l))
		return false;
	if (strcmp(base->version, now->version) != 0)
		fprintf(l.f, "fragsim %s, before %s\n", SHOWN(now->version), SHOWN(base->version));
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
	struct frag_memory l;

	if (!frag_memory_open(&l))
		return false;
	if (strcmp(base->content, now->content) != 0)
		fprintf(l.f, "the trace itself: content %s, before %s\n",
			SHOWN(now->content), SHOWN(base->content));
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
	if (base != now)
		fprintf(l->f, "device %s: %" PRIu64 " (%s), before %" PRIu64 " (%s)\n", what, now,
			SIZE(now), base, SIZE(base));
}

/* The first `length` bytes of a text, escaped for a line. */
#define PART(text, length) \
	setup_differences_part((char[FRAG_PRINTABLE_ROOM]){ 0 }, (text), (length))
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
	for (const char *p = keys; *p;) {
		size_t key = strcspn(p, "="), mine, theirs = 0;
		const char *value = frag_params_find(keys, p, key, &mine);
		const char *there = frag_params_find(other, p, key, &theirs);

		if (!value)
			return;
		if (keys_are_new && !there)
			fprintf(l->f, "policy key %s: %s, before there was none\n", PART(p, key),
				PART(value, mine));
		else if (keys_are_new && (mine != theirs || memcmp(value, there, mine) != 0))
			fprintf(l->f, "policy key %s: %s, before %s\n", PART(p, key),
				PART(value, mine), PART(there, theirs));
		else if (!keys_are_new && !there)
			fprintf(l->f, "policy key %s: there is none, before %s\n", PART(p, key),
				PART(value, mine));
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
	struct frag_memory l;

	if (!frag_memory_open(&l))
		return false;
	if (strcmp(base->name, now->name) != 0) {
		fprintf(l.f, "policy: %s, before %s\n", SHOWN(now->policy), SHOWN(base->policy));
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
