/*
 * baseline_write.c - what a later comparison is held against, as a file to be committed.
 *
 * A line for each group of figures, so that a change of it reads well in a diff;
 * every figure that a condition may name is there, marks are not.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/c_locale.h"
#include "compare/runs.h"
#include "fragsim/version.h"
#include "documents/documents.h"
#include "documents/metrics_order.h"
#include "input/json_scan.h"

#define STRETCHES 16

static int put_string(FILE *f, const char *text)
{
	char *json;

	if (!text) {
		fputs("null", f);
		return 0;
	}
	json = malloc(strlen(text) * 6 + 3);
	if (!json)
		return -1;
	*frag_put_json(json, text, strlen(text)) = '\0';
	fputs(json, f);
	free(json);
	return 0;
}

static void baseline_write_put_metric(FILE *f, const struct frag_metrics *m,
				      const struct frag_metric *metric)
{
	const union frag_metric_value value = frag_metric_get(m, metric);

	fprintf(f, "\"%s\": ", metric->name);
	if (!frag_metric_known(m, metric)) {
		fputs("null", f);
		return;
	}
	switch (metric->unit) {
	case FRAG_METRIC_BYTES:
	case FRAG_METRIC_COUNT:
		fprintf(f, "%" PRIu64, value.u);
		break;
	case FRAG_METRIC_SIGNED:
		fprintf(f, "%" PRId64, value.i);
		break;
	case FRAG_METRIC_PERCENT:
		frag_fprintf(f, "%.4f", value.d);
		break;
	}
}

static void baseline_write_put_metrics(FILE *f, const char *key, const struct frag_metrics *m,
				       bool percents)
{
	const struct frag_metrics_order order = frag_baseline_order(percents);

	fprintf(f, "     \"%s\": {", key);
	for (uint32_t i = 0; i < order.count; i++) {
		fputs(i ? ", " : "", f);
		baseline_write_put_metric(f, m, order.metric[i]);
	}
	fputs("},\n", f);
}

static void baseline_write_put_distribution(FILE *f, const char *key,
					    const struct frag_distribution *d)
{
	fprintf(f, "     \"%s\": {", key);
#define X(name)                                                         \
	if (d->steps)                                                   \
		frag_fprintf(f, "\"" #name "\": %.4f, ", d->name);      \
	else                                                            \
		fputs("\"" #name "\": null, ", f);
	X(min) X(mean) X(p50) X(p95) X(p99) X(max) X(last)
#undef X
	if (d->weighted)
		frag_fprintf(f, "\"time_weighted_mean\": %.4f, ", d->time_weighted_mean);
	else
		fputs("\"time_weighted_mean\": null, ", f);
	fprintf(f, "\"severe_steps\": %" PRIu64 "},\n", d->severe_steps);
}

/* A member; *before is what precedes the next one. */
static void baseline_write_put_number(FILE *f, const char **before, const char *key, uint64_t value)
{
	fprintf(f, "%s\"%s\": %" PRIu64, *before, key, value);
	*before = ", ";
}

static void put_counts(FILE *f, const struct frag_counts *counts)
{
	const char *before = "     \"counts\": {";

#define X(name) baseline_write_put_number(f, &before, #name, counts->name);
	FRAG_COUNTS(X)
#undef X
	fputs("},\n", f);
}

static void baseline_write_put_modelled(FILE *f, const struct frag_modelled *m)
{
	const char *before = "     \"modelled\": {";

	if (!m->there)
		return;
#define X(name) baseline_write_put_number(f, &before, #name, m->name);
	FRAG_MODELLED(X)
#undef X
	fputs("},\n", f);
}

static void baseline_write_put_oom(FILE *f, const struct frag_result *r)
{
	fputs("     \"oom\": [", f);
	if (r->oom_count)
		fprintf(f, "{\"step\": %" PRIu64 ", \"size\": %" PRIu64 ", \"cause\": \"%s\"}",
			r->ooms[0].step, r->ooms[0].size,
			r->ooms[0].fragmentation ? "fragmentation" : "capacity");
	fputs("],\n", f);
}

static void put_timeline(FILE *f, const struct frag_timeline *timeline)
{
	struct frag_timeline c = *timeline;

	frag_timeline_shorten(&c, STRETCHES);
	fprintf(f, "     \"course\": {\"width\": %" PRIu64 ", \"in_last\": %" PRIu64
		", \"stretches\": [", c.width, c.in_last);
	for (uint32_t i = 0; i < c.count; i++)
		fprintf(f, "%s[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", i ? ", " : "",
			c.stretch[i].from, c.stretch[i].reserved, c.stretch[i].allocated);
	fputs("]}", f);
}

/* "true", 512, "text": a value out of "key=value,..." */
static int baseline_write_put_param(FILE *f, const char *value, size_t length)
{
	char text[FRAG_PARAM_TEXT];

	snprintf(text, sizeof(text), "%.*s", (int)length, value);
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0
	    || (*text && strspn(text, "0123456789") == length && (*text != '0' || length == 1))) {
		fputs(text, f);
		return 0;
	}
	return put_string(f, text);
}

/*
 * Keys come from the text that a run keeps, `key=value,...`, as a run that was
 * read from a file has no choice any more.
 */
static int put_policy(FILE *f, const struct frag_run *run)
{
	int rc;

	fputs("    {\"policy\": {\"name\": ", f);
	rc = put_string(f, run->name);
	fputs(", \"text\": ", f);
	rc |= put_string(f, run->policy);
	fputs(", \"params\": {", f);
	for (const char *p = run->params; *p;) {
		size_t key = strcspn(p, "="), length;
		const char *value = frag_params_find(run->params, p, key, &length);

		fprintf(f, "%s\"%.*s\": ", p == run->params ? "" : ", ", (int)key, p);
		rc |= baseline_write_put_param(f, value, length);
		p = value + length;
		p += *p == ',';
	}
	fputs("}},\n", f);
	return rc;
}

/*
 * Written by hand and not through base/json.h: a line for each group keeps a
 * change of one figure to one line of a diff.
 */
static int baseline_write_put_run(FILE *f, const struct frag_run *run)
{
	const struct frag_result *r = &run->result;
	int rc = put_policy(f, run);

	fprintf(f, "     \"device\": {\"ordinal\": %" PRIu32 ", \"name\": ", r->device);
	rc |= put_string(f, r->device_name);
	fprintf(f, ", \"total_bytes\": %" PRIu64 ", \"context_bytes\": %" PRIu64
		", \"other_bytes\": %" PRIu64 ", \"granularity_bytes\": %" PRIu64, r->total,
		r->context, r->other, r->granularity);
	if (r->small_max)
		fprintf(f, ", \"small_granularity_bytes\": %" PRIu64 ", \"small_most_bytes\": %"
			PRIu64, r->small_granularity, r->small_max);
	fputs("},\n", f);
	fprintf(f,
		"     \"status\": \"%s\", \"steps\": %" PRIu64 ", \"lower_bound\": %" PRIu64 ",\n",
		frag_run_status_name(r->status), r->steps, r->lower_bound);
	baseline_write_put_metrics(f, "peak", &r->peak, false);
	baseline_write_put_metrics(f, "last", &r->last, true);
	for (const struct frag_metric *k = frag_metric_table(); k->name; k++)
		if (k->unit == FRAG_METRIC_PERCENT)
			baseline_write_put_distribution(f, k->name,
							frag_metric_distribution_of(r, k));
	put_counts(f, &r->counts);
	baseline_write_put_modelled(f, &r->modelled);
	baseline_write_put_oom(f, r);
	put_timeline(f, &run->timeline);
	fputc('}', f);
	return rc;
}

/* A name of a file is bytes: where they are no text, a string cannot say which file it was. */
static void put_path_bytes(FILE *f, const char *path)
{
	if (frag_utf8_is((const unsigned char *)path, strlen(path)))
		return;
	fputs(", \"path_bytes\": \"", f);
	for (; *path; path++)
		fprintf(f, "%02x", (unsigned char)*path);
	putc('"', f);
}

int frag_baseline_trace(const struct frag_runs *runs, FILE *f)
{
	int rc;

	fputs("  {\"path\": ", f);
	rc = put_string(f, runs->path);
	put_path_bytes(f, runs->path);
	fputs(", \"content\": ", f);
	rc |= put_string(f, runs->content);
	fprintf(f, ",\n   \"events\": %" PRIu64 ", \"allocs\": %" PRIu64 ", \"frees\": %" PRIu64
		", \"complete\": %s,\n   \"runs\": [\n", runs->events, runs->allocs, runs->frees,
		runs->complete ? "true" : "false");
	for (uint32_t i = 0; i < runs->count; i++) {
		rc |= baseline_write_put_run(f, &runs->run[i]);
		fputs(i + 1 < runs->count ? ",\n" : "\n", f);
	}
	fputs("   ]}", f);
	return rc;
}

/* What a later run must be given, too; nothing where it was nothing. */
static void put_given(FILE *f, const struct frag_given *given)
{
	const char *before = " \"given\": {";

#define X(name)                \
	if (given->has_##name) \
		baseline_write_put_number(f, &before, #name "_bytes", given->name);
	FRAG_GIVEN(X)
#undef X
	if (*before == ',')
		fputs("},\n", f);
}

int frag_baseline_write(const struct frag_run_set *set, FILE *f, struct frag_error *err)
{
	int rc = 0;

	fputs("{\"format\": \"fragsim-baseline\", \"version\": 2,\n"
	      " \"tool\": {\"name\": \"fragsim\", \"version\": \"" FRAG_VERSION "\"},\n", f);
	put_given(f, &set->given);
	fputs(" \"traces\": [\n", f);
	for (uint32_t i = 0; i < set->count; i++) {
		rc |= frag_baseline_trace(&set->trace[i], f);
		fputs(i + 1 < set->count ? ",\n" : "\n", f);
	}
	fputs(" ]}\n", f);
	return rc ? frag_fail_nomem(err) : 0;
}
