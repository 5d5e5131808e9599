/*
 * height_search.c - lower and lower placements, by canonical searches.
 *
 * A search has three orders of equal items, which are taken side by side. The first order that
 * finds or refutes decides, and only the work up to it is counted, so the result does not depend
 * on the number of threads.
 */
#include "plan/height_search.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/parallel.h"

struct height_try {
	struct frag_height_search *h;
	struct frag_canonical of[FRAG_CANONICAL_ORDERS];
	atomic_uint decided;            /* the first order that found or refuted, or their count */
};

struct order_stop {
	struct height_try *t;
	uint32_t order;
};

/* An earlier order has decided, or nobody waits any more. */
static bool order_is_over(void *ctx)
{
	const struct order_stop *s = ctx;
	const struct frag_plan_stop *stop = s->t->h->stop;

	return atomic_load(&s->t->decided) < s->order || (stop && stop->stop(stop->ctx));
}

static int try_order(void *ctx, uint32_t order, struct frag_error *err)
{
	struct height_try *t = ctx;
	struct frag_canonical *c = &t->of[order];
	struct order_stop over = { t, order };
	const struct frag_plan_stop stop = { order_is_over, &over };
	unsigned int first;
	int rc;

	if (order_is_over(&over))
		return 0;
	c->stop = &stop;
	rc = frag_canonical_search(c, err);
	first = atomic_load(&t->decided);
	while (!rc && c->result != FRAG_CANONICAL_LIMIT && order < first
	       && !atomic_compare_exchange_weak(&t->decided, &first, order))
		;
	return rc;
}

/* All orders at one height. Without a decision each had its limits, whatever the others did. */
static int try_height(struct frag_height_search *h, uint64_t height, uint64_t nodes,
		      enum frag_canonical_result *result, struct frag_error *err)
{
	struct height_try t = { .h = h, .decided = FRAG_CANONICAL_ORDERS };
	const struct frag_tasks tasks = {
		.count = FRAG_CANONICAL_ORDERS, .threads = h->threads, .task = try_order, .ctx = &t,
	};
	uint64_t looks = 0, reached;
	uint32_t decided;
	int rc = 0;

	/* limits that do not depend on what the others did, and whose sum is within the budget */
	for (uint32_t i = 0; i < FRAG_CANONICAL_ORDERS; i++) {
		t.of[i] = (struct frag_canonical){
			.space = h->space, .capacity = height, .order = i, .nodes_max = nodes,
			.looks_max = h->looks_left >> (i + 1),
			.result = FRAG_CANONICAL_LIMIT,
			.offset = malloc(((size_t)h->space->count + 1) * sizeof(uint64_t)),
		};
		if (!t.of[i].offset)
			rc = frag_fail_nomem(err);
	}
	rc = rc ? rc : frag_tasks_run(&tasks, err);
	decided = atomic_load(&t.decided);
	for (uint32_t i = 0; i < FRAG_CANONICAL_ORDERS && i <= decided; i++) {
		looks += t.of[i].looks;
		h->nodes += t.of[i].nodes;
	}
	h->searches++;
	h->looks_left -= looks < h->looks_left ? looks : h->looks_left;
	h->stopped = h->stopped || (h->stop && h->stop->stop(h->stop->ctx));
	*result = FRAG_CANONICAL_LIMIT;
	if (!rc && decided < FRAG_CANONICAL_ORDERS)
		*result = t.of[decided].result;
	if (*result == FRAG_CANONICAL_FOUND) {
		reached = h->found(h->ctx, t.of[decided].offset);
		h->height = reached < h->height ? reached : h->height;
	}
	if (*result == FRAG_CANONICAL_NONE) {
		h->proofs++;
		h->lower = height + h->unit;
	}
	for (uint32_t i = 0; i < FRAG_CANONICAL_ORDERS; i++)
		free(t.of[i].offset);
	return rc;
}

static bool height_is_over(const struct frag_height_search *h)
{
	return h->height <= h->goal || h->height <= h->lower || !h->looks_left || h->stopped;
}

/*
 * Halves the distance between what is impossible, or was not found with this limit, and the best;
 * where a limit ended a search, no further than an eighth of the distance.
 */
static int bisect(struct frag_height_search *h, uint64_t low, bool limited, uint64_t nodes,
		  struct frag_error *err)
{
	const uint64_t close = (h->height - low) / 8;
	enum frag_canonical_result result;
	int rc = 0;

	while (!rc && low < h->height && !height_is_over(h) && !(limited && h->height - low <= close)) {
		const uint64_t height = low + (h->height - low) / h->unit / 2 * h->unit;
		const uint64_t before = h->height;

		rc = try_height(h, height, nodes, &result, err);
		limited = limited || result == FRAG_CANONICAL_LIMIT;
		/* what is around the items may have stayed too high: then this height is no better */
		if (result != FRAG_CANONICAL_FOUND || h->height == before)
			low = height + h->unit;
	}
	return rc;
}

int frag_height_search(struct frag_height_search *h, struct frag_error *err)
{
	int rc = 0;

	for (uint64_t nodes = 2 * (uint64_t)h->space->count + 1000; !rc && !height_is_over(h); nodes *= 2) {
		const uint64_t target = h->lower > h->goal ? h->lower : h->goal;
		enum frag_canonical_result result;

		rc = try_height(h, target, 4 * nodes, &result, err);
		if (!rc && !height_is_over(h))
			rc = bisect(h, target + h->unit, result == FRAG_CANONICAL_LIMIT, nodes, err);
	}
	h->spent = !h->looks_left && h->height > h->goal && h->height > h->lower;
	return rc;
}
