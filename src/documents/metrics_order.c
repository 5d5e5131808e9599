/* metrics_order.c - in which order the members of an object of metrics stand. */
#include "documents/metrics_order.h"

#define UNIT(name) (1u << FRAG_METRIC_##name)

static uint32_t newest(void)
{
	uint32_t edition = 1;

	for (const struct frag_metric *k = frag_metric_table(); k->name; k++)
		if (k->since > edition)
			edition = k->since;
	return edition;
}

/* The units of each group, up to the first 0. */
static struct frag_metrics_order order(const unsigned *groups, bool percents)
{
	struct frag_metrics_order o = { .count = 0 };
	const uint32_t editions = newest();

	for (uint32_t edition = 1; edition <= editions; edition++)
		for (const unsigned *group = groups; *group; group++)
			for (const struct frag_metric *k = frag_metric_table(); k->name; k++)
				if (k->since == edition && *group & 1u << k->unit
				    && (percents || k->unit != FRAG_METRIC_PERCENT))
					o.metric[o.count++] = k;
	return o;
}

struct frag_metrics_order frag_result_order(bool percents)
{
	static const unsigned groups[] = {
		UNIT(BYTES) | UNIT(SIGNED) | UNIT(COUNT), UNIT(PERCENT), 0,
	};

	return order(groups, percents);
}

struct frag_metrics_order frag_baseline_order(bool percents)
{
	static const unsigned groups[] = {
		UNIT(BYTES) | UNIT(COUNT), UNIT(PERCENT), UNIT(SIGNED), 0,
	};

	return order(groups, percents);
}
