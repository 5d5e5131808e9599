/* metric.c - the table of metrics, and questions about an entry. */
#include "metrics/metric.h"

#include <stddef.h>

_Static_assert(FRAG_METRIC_ALL <= 32, "struct frag_metrics.unread has a bit for each");

bool frag_metric_known(const struct frag_metrics *m, const struct frag_metric *metric)
{
	return is_known(m, metric);
}

double frag_metric_number(const struct frag_metrics *m, const struct frag_metric *metric)
{
	const union frag_metric_value value = frag_metric_get(m, metric);

	switch (metric->unit) {
	case FRAG_METRIC_BYTES:
	case FRAG_METRIC_COUNT:
		return (double)value.u;
	case FRAG_METRIC_SIGNED:
		return (double)value.i;
	case FRAG_METRIC_PERCENT:
		break;
	}
	return value.d;
}

struct frag_distribution *frag_metric_distribution(struct frag_result *result,
						   const struct frag_metric *metric)
{
	return (struct frag_distribution *)(void *)((char *)result + metric->distribution);
}

const struct frag_distribution *frag_metric_distribution_of(const struct frag_result *result,
							    const struct frag_metric *metric)
{
	return (const struct frag_distribution *)(const void *)((const char *)result
								+ metric->distribution);
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
