/* divergence.c - where simulations of one trace, side by side, stop being the same. */
#include "compare/divergence.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/format.h"
#include "base/array_grow.h"

struct seen {
	const struct frag_event *event; /* valid until the next batch */
	uint64_t reserved, allocated;
	enum frag_step_status status;
};

/* A simulation on a device. */
struct watch {
	struct seen *seen;      /* of the steps of this batch */
	uint32_t count, capacity;
	bool diverged;
	struct frag_divergence_point where;
	struct frag_timeline timeline;
};

struct watcher {
	struct frag_divergence *divergence;
	uint32_t simulation;
};

struct frag_divergence {
	uint32_t count, devices;
	struct watch *watches;  /* simulation by simulation, device by device */
	struct watcher *watchers;
	char (*mark)[128];      /* the last one on each device */
};

struct frag_divergence *frag_divergence_new(uint32_t count, uint32_t devices)
{
	struct frag_divergence *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->count = count;
	p->devices = devices;
	p->watches = calloc((size_t)count * devices + 1, sizeof(*p->watches));
	p->watchers = calloc((size_t)count + 1, sizeof(*p->watchers));
	p->mark = calloc((size_t)devices + 1, sizeof(*p->mark));
	if (!p->watches || !p->watchers || !p->mark) {
		frag_divergence_del(p);
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		p->watchers[i] = (struct watcher){ .divergence = p, .simulation = i };
	return p;
}

void frag_divergence_del(struct frag_divergence *p)
{
	if (!p)
		return;
	for (size_t i = 0; p->watches && i < (size_t)p->count * p->devices; i++)
		free(p->watches[i].seen);
	free(p->watches);
	free(p->watchers);
	free(p->mark);
	free(p);
}

static struct watch *watch_of(const struct frag_divergence *p, uint32_t i, uint32_t device)
{
	FRAG_ASSERT(i < p->count && device < p->devices);
	return &p->watches[(size_t)i * p->devices + device];
}

static int observe(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	const struct watcher *w = ctx;
	struct watch *watch = watch_of(w->divergence, w->simulation, step->device);

	frag_timeline_add(&watch->timeline, step);
	if (watch->diverged || w->divergence->count < 2)
		return 0;
	if (!frag_grow(&watch->seen, &watch->capacity, (uint64_t)watch->count + 1,
		       sizeof(*watch->seen)))
		return frag_fail_nomem(err);
	watch->seen[watch->count++] = (struct seen){
		.event = step->event, .reserved = step->metrics->reserved,
		.allocated = step->metrics->allocated, .status = step->status,
	};
	return 0;
}

struct frag_observer frag_divergence_observer(struct frag_divergence *p, uint32_t i)
{
	FRAG_ASSERT(i < p->count);
	return (struct frag_observer){ .step = observe, .ctx = &p->watchers[i] };
}

static bool alike(const struct seen *a, const struct seen *b)
{
	return a->reserved == b->reserved && a->allocated == b->allocated
	       && a->status == b->status;
}

/* "alloc of 4096 bytes, id 7" */
static void describe_event(char *buf, size_t size, const struct frag_event *ev)
{
	char name[64];
	int used = snprintf(buf, size, "%s", frag_op_name((enum frag_op)ev->op));

	if (ev->op == FRAG_OP_ALLOC)
		used += snprintf(buf + used, size - (size_t)used, " of %" PRIu64 " byte%s",
				 ev->bytes, frag_s(ev->bytes));
	if (!(ev->members & FRAG_HAS_ID))
		return;
	if (ev->id.text) {
		frag_where_name(name, sizeof(name), ev->id.text, (size_t)ev->id.number);
		snprintf(buf + used, size - (size_t)used, ", id '%s'", name);
	} else {
		snprintf(buf + used, size - (size_t)used, ", id %" PRIu64, ev->id.number);
	}
}

static void divergence_part(struct watch *watch, const struct watch *first, uint32_t at,
			    const char *mark)
{
	const struct seen *a = &first->seen[at], *b = &watch->seen[at];

	watch->diverged = true;
	watch->where = (struct frag_divergence_point){
		.kind = FRAG_WHERE_STEP, .step = b->event->step, .last = b->event->step,
		.base_reserved = a->reserved, .base_allocated = a->allocated,
		.reserved = b->reserved, .allocated = b->allocated,
	};
	snprintf(watch->where.mark, sizeof(watch->where.mark), "%s", mark);
	describe_event(watch->where.event, sizeof(watch->where.event), b->event);
}

/*
 * A simulation that stopped early has fewer steps: it is compared as far as it
 * went. A mark is noted after its own step, so places name the one before them.
 */
static void compare_device(struct frag_divergence *p, uint32_t device)
{
	struct watch *first = watch_of(p, 0, device);

	for (uint32_t at = 0; at < first->count; at++) {
		const struct frag_event *ev = first->seen[at].event;

		for (uint32_t i = 1; i < p->count; i++) {
			struct watch *watch = watch_of(p, i, device);

			/* as many steps as the first has, until they diverge */
			if (!watch->diverged && at < watch->count
			    && !alike(&first->seen[at], &watch->seen[at]))
				divergence_part(watch, first, at, p->mark[device]);
		}
		if (ev->op == FRAG_OP_MARK)
			frag_where_name(p->mark[device], sizeof(p->mark[device]), ev->text.text,
					ev->text.length);
	}
	for (uint32_t i = 0; i < p->count; i++)
		watch_of(p, i, device)->count = 0;
}

/* When all the others have diverged, the first needs no watching either. */
static void rest(struct frag_divergence *p, uint32_t device)
{
	bool all = true;

	for (uint32_t i = 1; i < p->count; i++)
		all &= watch_of(p, i, device)->diverged;
	watch_of(p, 0, device)->diverged = all;
}

void frag_divergence_compare(struct frag_divergence *p)
{
	for (uint32_t d = 0; d < p->devices; d++) {
		compare_device(p, d);
		rest(p, d);
	}
}

const struct frag_divergence_point *frag_divergence_where(const struct frag_divergence *p,
							  uint32_t i, uint32_t device)
{
	return &watch_of(p, i, device)->where;
}

const struct frag_timeline *frag_divergence_timeline(const struct frag_divergence *p, uint32_t i,
						     uint32_t device)
{
	return &watch_of(p, i, device)->timeline;
}
