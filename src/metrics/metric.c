/* metric.c - the table of metrics; the result of a run: copies, release, values by path. */
#include "metrics/metric.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(FRAG_METRIC_ALL <= 32, "struct frag_metrics.unread has a bit for each");

bool frag_metric_known(const struct frag_metrics *m, const struct frag_metric *metric)
{
	return is_known(m, metric);
}

double frag_metric_number(const struct frag_metrics *m, const struct frag_metric *metric)
{
	const union frag_metric_value value = frag_metric_get(m, metric);

	return metric->unit == FRAG_METRIC_PERCENT ? value.d
	       : metric->unit == FRAG_METRIC_SIGNED ? (double)value.i : (double)value.u;
}

/* What the words of the table stand for. */
enum { KNOWN, HIDDEN };
enum { ALWAYS, ASKED };
enum { APART, FIGURE };
#define AT_BYTES(name) 0
#define AT_SIGNED(name) 0
#define AT_COUNT(name) 0
#define AT_PERCENT(name) offsetof(struct frag_result, name)

enum {
#define X(key, ...) INDEX_##key,
	FRAG_METRICS(X)
#undef X
};

static const struct frag_metric table[FRAG_METRIC_ALL + 1] = {
#define X(key, of, edition, how, pool, rows, diff, words) {                   \
	.name = #key, .text = words, .unit = FRAG_METRIC_##of,                \
	.peak = FRAG_PEAK_##how, .index = INDEX_##key, .since = edition,      \
	.at = offsetof(struct frag_metrics, key), .distribution = AT_##of(key), \
	.hidden = pool, .requested = rows, .figure = diff,                    \
},
	FRAG_METRICS(X)
#undef X
};

const struct frag_metric *frag_metric_table(void)
{
	return table;
}

const struct frag_metric *frag_metric_find(const char *name, size_t length)
{
	for (const struct frag_metric *k = table; k->name; k++)
		if (strlen(k->name) == length && memcmp(k->name, name, length) == 0)
			return k;
	return NULL;
}

const char *const frag_run_status_words[] = { "fits", "oom", "interrupted", "error", NULL };

const char *frag_run_status_name(enum frag_run_status status)
{
	return frag_run_status_words[status];
}

/* Replaces a borrowed text by a copy. */
static void own_text(char **text, bool *good)
{
	char *copy = *text ? strdup(*text) : NULL;

	*good = *good && !copy == !*text;
	*text = copy;
}

static void own_holders(struct frag_tag_usage *holders, uint32_t count, bool *good)
{
	for (uint32_t i = 0; i < count; i++) {
		own_text(&holders[i].tag, good);
		for (uint32_t k = 0; k < holders[i].stack_count; k++)
			own_text(&holders[i].stacks[k].frames, good);
	}
}

/* Goes on where the host is out of memory: no pointer of the source's may stay in the copy. */
bool frag_oom_copy(struct frag_oom *to, const struct frag_oom *from)
{
	bool good = true;

	*to = *from;
	own_text(&to->id, &good);
	own_holders(to->holders, to->holder_count, &good);
	own_holders(to->hole.holders, to->hole.holder_count, &good);
	return good;
}

bool frag_mark_copy(struct frag_mark *to, const struct frag_mark *from)
{
	bool good = true;

	*to = *from;
	own_text(&to->name, &good);
	return good;
}

void frag_result_fini(struct frag_result *result)
{
	for (uint32_t i = 0; i < result->oom_count; i++) {
		struct frag_oom *oom = &result->ooms[i];

		frag_holders_fini(oom->holders, oom->holder_count);
		frag_holders_fini(oom->hole.holders, oom->hole.holder_count);
		free(oom->id);
	}
	for (uint32_t i = 0; i < result->mark_count; i++)
		free(result->marks[i].name);
	free(result->ooms);
	free(result->marks);
}

static bool metrics_value(const struct frag_metrics *m, const char *key, bool percents,
			  double *value, bool *absent)
{
	const struct frag_metric *metric = frag_metric_find(key, strlen(key));

	if (!metric || (metric->unit == FRAG_METRIC_PERCENT && !percents))
		return false;
	*absent = !frag_metric_known(m, metric);
	*value = frag_metric_number(m, metric);
	return true;
}

static bool distribution_value(const struct frag_distribution *d, const char *key, double *value,
			       bool *absent)
{
	*absent = d->steps == 0;
#define X(name)                                                               \
	if (strcmp(key, #name) == 0) {                                        \
		*value = d->name;                                             \
		return true;                                                  \
	}
	X(min) X(mean) X(p50) X(p95) X(p99) X(max) X(last)
#undef X
	if (strcmp(key, "severe_steps") == 0) {
		*absent = false;
		*value = (double)d->severe_steps;
		return true;
	}
	*absent = !d->weighted;
	*value = d->time_weighted_mean;
	return strcmp(key, "time_weighted_mean") == 0;
}

/* Values of the groups that are tables of numbers, by their whole path. */
static bool group_value(const struct frag_result *r, const char *path, double *value, bool *absent)
{
#define VALUE(group, name, there)                                             \
	if (strcmp(path, #group "." #name) == 0) {                            \
		*absent = !(there);                                           \
		*value = (double)r->group.name;                               \
		return true;                                                  \
	}
#define X(name, ...) VALUE(counts, name, true)
	FRAG_COUNTS(X)
#undef X
#define X(name) VALUE(prediction, name, r->prediction.there)
	FRAG_PREDICTION(X)
#undef X
#define X(name, ...) VALUE(modelled, name, r->modelled.there)
	FRAG_MODELLED(X)
#undef X
#define X(name, ...) VALUE(compaction, name, r->compaction.there)
	FRAG_COMPACTION(X)
#undef X
#define X(name, ...) VALUE(planned, name, r->planned.there)
	FRAG_PLANNED(X)
#undef X
#undef VALUE
	return false;
}

/* The text after "head." in the path; NULL where it does not begin so. */
static const char *below(const char *path, const char *head)
{
	size_t length = strlen(head);

	return strncmp(path, head, length) == 0 && path[length] == '.' ? path + length + 1 : NULL;
}

/* The percentage at the start of the path; *key is the text after its dot. */
static const struct frag_metric *percentage(const char *path, const char **key)
{
	const char *dot = strchr(path, '.');
	const struct frag_metric *metric = dot ? frag_metric_find(path, (size_t)(dot - path))
					       : NULL;

	*key = dot ? dot + 1 : NULL;
	return metric && metric->unit == FRAG_METRIC_PERCENT ? metric : NULL;
}

/* The head of the path selects the group, whose function finds the value. */
bool frag_result_value(const struct frag_result *result, const char *path, double *value,
		       bool *absent)
{
	const struct frag_metric *metric;
	const char *key;

	*absent = false;
	if ((key = below(path, "peak")))
		return metrics_value(&result->peak, key, false, value, absent);
	if ((key = below(path, "last")))
		return metrics_value(&result->last, key, true, value, absent);
	if ((metric = percentage(path, &key)))
		return distribution_value(frag_metric_distribution_of(result, metric), key, value,
					  absent);
	if (group_value(result, path, value, absent))
		return true;
	if (strcmp(path, "smallest") == 0) {
		*absent = result->smallest == 0 || result->smallest == UINT64_MAX;
		*value = (double)result->smallest;
		return true;
	}
	*value = (double)result->steps;
	if (strcmp(path, "steps") == 0)
		return true;
	*value = (double)result->lower_bound;
	return strcmp(path, "lower_bound") == 0;
}

/* A file may also lack the distribution of a percentage: none of it is there then. */
bool frag_result_unread(const struct frag_result *result, const char *path)
{
	const struct frag_metric *metric;
	const char *key = below(path, "peak");
	const struct frag_metrics *m = key ? &result->peak : &result->last;

	key = key ? key : below(path, "last");
	if (key)
		metric = frag_metric_find(key, strlen(key));
	else
		metric = percentage(path, &key);
	return metric && (m->unread & frag_metric_bit(metric)) != 0;
}
