/* setup_differences.c - what differs in the conditions of runs that are compared, as text. */
#include "compare/setup_differences.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "metrics/metric.h"

/* The lines that were written; NULL: none. False: out of memory. */
static bool differences_end(struct frag_memory *l, char **text)
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

bool frag_differences_of_tools(char **text, const struct frag_run_set *base,
			       const struct frag_run_set *now)
{
	struct frag_memory l;

	if (!frag_memory_open(&l))
		return false;
	if (strcmp(base->version, now->version) != 0)
		fprintf(l.f, "fragsim %s, before %s\n", SHOWN(now->version), SHOWN(base->version));
	describe_unread(&l, base);
	describe_unread(&l, now);
	return differences_end(&l, text);
}

static void describe_count(struct frag_memory *l, const char *what, uint64_t base, uint64_t now)
{
	if (base != now)
		fprintf(l->f, "%s: %" PRIu64 ", before %" PRIu64 "\n", what, now, base);
}

bool frag_differences_of_traces(char **text, const struct frag_runs *base,
				const struct frag_runs *now)
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
	if (frag_runs_are_part(base) != frag_runs_are_part(now))
		fprintf(l.f, "a part of its program: %s\n",
			frag_runs_are_part(now) ? "the new one" : "the base");
	return differences_end(&l, text);
}

static void describe_size(struct frag_memory *l, const char *what, uint64_t base, uint64_t now)
{
	if (base != now)
		fprintf(l->f, "device %s: %" PRIu64 " (%s), before %" PRIu64 " (%s)\n", what, now,
			SIZE(now), base, SIZE(base));
}

/* The first `length` bytes of a text, escaped for a line. */
#define PART(text, length) \
	differences_part((char[FRAG_PRINTABLE_ROOM]){ 0 }, (text), (length))
static const char *differences_part(char buf[FRAG_PRINTABLE_ROOM], const char *text,
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
bool frag_differences_of_runs(char **text, const struct frag_run *base, const struct frag_run *now)
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
	return differences_end(&l, text);
}
