/* setup_differences.c - what two runs do not have in common before they begin. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/escape.h"
#include "base/format.h"
#include "compare/run_pairs.h"
#include "compare/runs.h"
#include "metrics/metric.h"

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

/* Figures that a set does not have because its file is older than their metrics. */
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

/* So much of a text, as a line may hold it. */
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
