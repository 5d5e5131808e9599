/* snapshot_merge.c - the records of all devices and the annotations, in one order. */
#include <stdlib.h>

#include "base/bug.h"
#include "snapshot/snapshot.h"

/*
 * Blocks of the first state are older than any time of the log, so they have its
 * first.
 */
double frag_snapshot_time(const struct frag_snapshot *s, const struct frag_snapshot_plan *p)
{
	const struct frag_snap_device *d = &s->devices[p->device];

	FRAG_ASSERT(s->has_times && p->device < s->device_count);
	switch ((enum frag_plan_kind)p->kind) {
	case FRAG_PLAN_INITIAL:
	case FRAG_PLAN_INITIAL_FREE:
		return s->first_time;
	case FRAG_PLAN_REMARK:
		return s->remarks[p->index].t;
	case FRAG_PLAN_ALLOC:
	case FRAG_PLAN_FREE:
	case FRAG_PLAN_DEFER:
	case FRAG_PLAN_COMPLETE:
	case FRAG_PLAN_EMPTY_CACHE:
	case FRAG_PLAN_RELEASE_POOL:
	case FRAG_PLAN_OOM:
	case FRAG_PLAN_OOM_FREE:
	case FRAG_PLAN_MARK:
		break;
	}
	return d->log[p->index].t;
}

/* The line whose next record is the earliest, the first of equals; NULL: all are done. */
static struct frag_plan_line *earliest(const struct frag_snapshot *s, struct frag_plan_line *lines,
				       uint32_t count)
{
	struct frag_plan_line *best = NULL;
	double t = 0;

	for (uint32_t i = 0; i < count; i++) {
		double own;

		if (lines[i].at == lines[i].end)
			continue;
		own = s->has_times ? frag_snapshot_time(s, &s->plan[lines[i].at]) : 0;
		if (best && own >= t)
			continue;
		best = &lines[i];
		t = own;
	}
	return best;
}

static bool is_one_line(const struct frag_snapshot *s, const struct frag_plan_line *lines,
			uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (lines[i].end - lines[i].at == s->plan_count)
			return true;
	return false;
}

/* Blocks that were there first, then all records by their times. */
static bool snapshot_merge_merge(struct frag_snapshot *s, struct frag_plan_line *lines,
				 uint32_t count)
{
	struct frag_snapshot_plan *merged = malloc(((size_t)s->plan_count + 1) * sizeof(*merged));
	struct frag_plan_line *line;
	uint32_t used = 0;

	if (!merged)
		return false;
	for (uint32_t i = 0; i < s->device_count; i++) {
		struct frag_plan_line *l = &lines[i + 1];

		while (l->at < s->devices[i].plan_initial)
			merged[used++] = s->plan[l->at++];
	}
	while ((line = earliest(s, lines, count)) != NULL)
		merged[used++] = s->plan[line->at++];
	free(s->plan);
	s->plan = merged;
	s->plan_capacity = s->plan_count + 1;
	return true;
}

bool frag_snapshot_merge(struct frag_snapshot *s, struct frag_plan_line *lines)
{
	const uint32_t count = s->device_count + 1;

	return is_one_line(s, lines, count) || snapshot_merge_merge(s, lines, count);
}
