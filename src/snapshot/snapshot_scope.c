/*
 * snapshot_scope.c - which part of its program's run a snapshot contains.
 *
 * The log is read backwards to the state that it began with. Blocks and segments of that state
 * were allocated before the recording, or during it, by events that its ring buffer no longer has.
 * The second kind has stacks: PyTorch notes them only while it records.
 */
#include "base/array_grow.h"
#include "base/parse.h"
#include "snapshot/snapshot.h"

#define BLOCK_UNIT 512

static bool looks_full(uint32_t count)
{
	return count >= 1000 && (count % 10000 == 0 || (count & (count - 1)) == 0);
}

/* Blocks and segments that were allocated while it was recorded, without an event. */
static uint64_t unrecorded(const struct frag_snap_device *d)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < d->first_live_count; i++)
		count += d->first_live[i].frames != 0;
	for (uint32_t i = 0; i < d->start_count; i++)
		count += d->regions[i].framed && !d->regions[i].range;
	return count;
}

/* Active bytes at the first event: of blocks that were freed since, those requested, rounded. */
static uint64_t active_before(const struct frag_snap_device *d)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < d->first_live_count; i++) {
		const struct frag_live_block *b = &d->first_live[i];
		const uint64_t bytes = b->bytes ? b->bytes : d->places[i].bytes;

		sum += bytes ? bytes : (b->requested + BLOCK_UNIT - 1) / BLOCK_UNIT * BLOCK_UNIT;
	}
	return sum;
}

bool frag_snapshot_dropped(const struct frag_snapshot *s, const struct frag_snap_device *d)
{
	uint64_t max;

	return d->first_live_count && d->log_count && s->has_history && looks_full(d->log_count)
	       && frag_snapshot_overflow(s, &max) == FRAG_OVERFLOW_UNKNOWN;
}

struct frag_scope frag_snapshot_scope(const struct frag_snapshot *s)
{
	struct frag_scope scope = { .stated = true };
	uint64_t contradictions = 0, max, lost;
	bool any = false, late = false, dropped;

	dropped = frag_snapshot_overflow(s, &max) == FRAG_OVERFLOWED;
	for (const struct frag_snap_device *d = s->devices; d < s->devices + s->device_count; d++) {
		any = any || d->alloc_count || d->oom_count;
		late = late || d->start_count || d->first_live_count;
		scope.before_active += active_before(d);
		scope.before_reserved += d->start_bytes;
	}
	scope.begins = !any ? FRAG_BEGINS_STATE : late ? FRAG_BEGINS_LATE : FRAG_BEGINS_START;
	if (!any)
		return scope;
	for (const struct frag_snap_device *d = s->devices; d < s->devices + s->device_count; d++) {
		scope.lost += unrecorded(d);
		contradictions += d->lost;
		dropped = dropped || frag_snapshot_dropped(s, d);
	}
	scope.lost = frag_max(scope.lost, contradictions);
	if (frag_snapshot_lost(s, &lost))
		scope.lost = frag_max(scope.lost, lost);
	if (dropped || scope.lost)
		scope.ends = FRAG_ENDS_CUT;
	return scope;
}
