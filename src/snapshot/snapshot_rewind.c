/*
 * snapshot_rewind.c - the state that a snapshot's history began with.
 *
 * The file has the last state and the events before it. Read backwards, an alloc removes a
 * block and a free restores one; the blocks left at the end are the initial state. Events that
 * contradict the others are counted as lost: the ring buffer was full, or actions were not
 * recorded.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "base/hash.h"
#include "snapshot/address_ranges.h"
#include "snapshot/snapshot.h"

/* Addresses to indexes: at most one entry each. */
static void snapshot_rewind_forget(struct frag_map *map, uint64_t addr)
{
	uint32_t at = frag_map_get(map, addr);

	if (at != FRAG_MAP_NONE)
		frag_map_remove(map, addr, at);
}

static bool snapshot_rewind_put(struct frag_map *map, uint64_t addr, uint32_t value)
{
	snapshot_rewind_forget(map, addr);
	return frag_map_add(map, addr, value);
}

/* Most frees are completed at once: the two are one. */
static bool is_done_at_once(const struct frag_snap_device *d, uint32_t i)
{
	return d->log[i].action == FRAG_ACT_FREE_REQUESTED && i + 1 < d->log_count
	       && d->log[i + 1].action == FRAG_ACT_FREE_COMPLETED
	       && d->log[i + 1].addr == d->log[i].addr;
}

/* By the action alone: a free is pending until a later event shows that it was completed. */
static const uint8_t plain_roles[FRAG_ACT_OTHER + 1] = {
	[FRAG_ACT_ALLOC] = FRAG_ROLE_ALLOC,
	[FRAG_ACT_FREE_REQUESTED] = FRAG_ROLE_DEFER,
	[FRAG_ACT_FREE_COMPLETED] = FRAG_ROLE_COMPLETE,
	[FRAG_ACT_SEGMENT_ALLOC] = FRAG_ROLE_CALL, [FRAG_ACT_SEGMENT_FREE] = FRAG_ROLE_CALL,
	[FRAG_ACT_SEGMENT_MAP] = FRAG_ROLE_CALL, [FRAG_ACT_SEGMENT_UNMAP] = FRAG_ROLE_CALL,
	[FRAG_ACT_OOM] = FRAG_ROLE_OOM,
	[FRAG_ACT_SNAPSHOT] = FRAG_ROLE_MARK, [FRAG_ACT_ANNOTATE] = FRAG_ROLE_MARK,
};

/*
 * Pairs each free that the program requested with the one that completed it. A free without a
 * complete has ended, except the blocks that are pending in the last state.
 */
static bool give_roles(struct frag_snap_device *d, struct frag_map *open)
{
	bool requested = false;

	for (uint32_t i = 0; i < d->log_count; i++) {
		struct frag_logged *e = &d->log[i];
		uint32_t at;

		e->role = plain_roles[e->action];
		at = e->role < FRAG_ROLE_CALL ? frag_map_get(open, e->addr) : FRAG_MAP_NONE;
		if (e->role == FRAG_ROLE_ALLOC && at != FRAG_MAP_NONE) {
			d->log[at].role = FRAG_ROLE_FREE;
			snapshot_rewind_forget(open, e->addr);
		} else if (is_done_at_once(d, i)) {
			requested = true;
			e->role = FRAG_ROLE_FREE;
			d->log[++i].role = FRAG_ROLE_NONE;
			if (at != FRAG_MAP_NONE)
				snapshot_rewind_forget(open, e->addr);
		} else if (e->role == FRAG_ROLE_DEFER) {
			requested = true;
			if (!snapshot_rewind_put(open, e->addr, i))
				return false;
		} else if (e->role == FRAG_ROLE_COMPLETE && at != FRAG_MAP_NONE) {
			snapshot_rewind_forget(open, e->addr);
		}
	}
	for (uint32_t i = 0; i < d->log_count && !requested; i++)
		if (d->log[i].role == FRAG_ROLE_COMPLETE)
			d->log[i].role = FRAG_ROLE_FREE;
	for (uint32_t i = 0; i < d->first_live_count; i++)
		if (d->first_live[i].pending)
			snapshot_rewind_forget(open, d->first_live[i].addr);
	for (uint32_t i = 0; i < d->log_count; i++)
		if (d->log[i].role == FRAG_ROLE_DEFER && frag_map_get(open, d->log[i].addr) == i)
			d->log[i].role = FRAG_ROLE_FREE;
	return true;
}

/*
 * The block of a free, live again. Where another has its address, the alloc of
 * that one is missing from the log: it goes, as blocks cannot overlap.
 */
static bool bring_back(struct frag_snap_device *d, struct frag_map *live,
		       const struct frag_logged *e, bool pending)
{
	uint32_t at = frag_map_get(live, e->addr);

	if (at != FRAG_MAP_NONE) {      /* what is there now came unseen */
		d->first_live[at].gone = true;
		d->lost++;
	}
	if (!FRAG_GROW(d->first_live, d->first_live_capacity, d->first_live_count))
		return false;
	d->first_live[d->first_live_count] = (struct frag_live_block){
		.addr = e->addr, .requested = e->size, .stream = e->stream, .pool = e->pool,
		.pending = pending,
	};
	return snapshot_rewind_put(live, e->addr, d->first_live_count++);
}

static bool undo_block(struct frag_snap_device *d, struct frag_map *live,
		       const struct frag_logged *e)
{
	uint32_t at = frag_map_get(live, e->addr);

	if (e->role == FRAG_ROLE_FREE || e->role == FRAG_ROLE_COMPLETE)
		return bring_back(d, live, e, e->role == FRAG_ROLE_COMPLETE);
	if (e->role == FRAG_ROLE_DEFER && at == FRAG_MAP_NONE)
		return bring_back(d, live, e, false);
	if (at == FRAG_MAP_NONE) {
		d->lost++;
	} else if (e->role == FRAG_ROLE_DEFER) {
		d->first_live[at].pending = false;
	} else {
		d->first_live[at].gone = true;
		frag_map_remove(live, e->addr, at);
	}
	return true;
}

static bool add_region(struct frag_snap_device *d, struct frag_spans *spans,
		       const struct frag_region *r)
{
	uint32_t above = frag_spans_from(spans, r->addr);

	if (above != FRAG_NO_SPAN && spans->spans[above].start < r->addr + r->bytes) {
		d->lost++;
		return true;
	}
	if (!FRAG_GROW(d->regions, d->region_capacity, d->region_count))
		return false;
	d->regions[d->region_count] = *r;
	return frag_spans_add(spans, r->addr, r->addr + r->bytes, d->region_count++)
	       != FRAG_NO_SPAN;
}

/*
 * Backwards, reserved memory disappears and released memory returns. Pages may be mapped and
 * unmapped in different pieces, so they are cut out of the ranges; a segment disappears only as
 * a whole. Events that do not match are lost.
 */
static bool undo_call(struct frag_snap_device *d, struct frag_spans *spans,
		      const struct frag_logged *e)
{
	const struct frag_region back = {
		.addr = e->addr, .bytes = e->size, .stream = e->stream,
		.pool = e->pool == FRAG_NO_POOL ? 0 : e->pool,
		.large = frag_snapshot_is_large(d, e->size),
		.range = e->action == FRAG_ACT_SEGMENT_UNMAP,
	};
	uint64_t taken = 0;
	uint32_t at;

	if (!e->size) {
		d->lost++;
		return true;
	}
	if (e->action == FRAG_ACT_SEGMENT_FREE || e->action == FRAG_ACT_SEGMENT_UNMAP)
		return add_region(d, spans, &back);
	at = frag_spans_at(spans, e->addr);
	if (e->action == FRAG_ACT_SEGMENT_MAP) {
		if (!frag_spans_cut(spans, e->addr, e->addr + e->size, &taken))
			return false;
		d->lost += taken != e->size;
	} else if (at != FRAG_NO_SPAN && spans->spans[at].start == e->addr) {
		frag_spans_remove(spans, at);
	} else {
		d->lost++;
	}
	return true;
}

/* The regions that the spans still have, in order of address. */
static bool keep_regions(struct frag_snap_device *d, const struct frag_spans *spans)
{
	struct frag_region *kept = NULL;
	uint32_t count = 0, capacity = 0;
	uint32_t at = frag_spans_from(spans, 0);

	while (at != FRAG_NO_SPAN) {
		const struct frag_span *span = &spans->spans[at];

		if (!FRAG_GROW(kept, capacity, count)) {
			free(kept);
			return false;
		}
		kept[count] = d->regions[span->what];
		kept[count].addr = span->start;
		kept[count++].bytes = span->end - span->start;
		at = frag_spans_from(spans, span->end);
	}
	free(d->regions);
	d->regions = kept;
	d->region_count = count;
	d->region_capacity = capacity;
	return true;
}

/* Of blocks, regions and hints: the address is their first member. */
static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void keep_first_live(struct frag_snap_device *d)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < d->first_live_count; i++)
		if (!d->first_live[i].gone)
			d->first_live[count++] = d->first_live[i];
	d->first_live_count = 0;
	FRAG_SORT(d->first_live, count, by_address);
	for (uint32_t i = 0; i < count; i++) {
		if (i && d->first_live[i].addr == d->first_live[i - 1].addr)
			d->lost++;
		else
			d->first_live[d->first_live_count++] = d->first_live[i];
	}
}

/* Old logs do not name pools; the last state does. */
static bool keep_end(struct frag_snap_device *d)
{
	d->end_regions = d->regions;
	d->end_count = d->region_count;
	if (!frag_array_copy(&d->end_regions, d->end_count, 0, sizeof(*d->regions)))
		return false;
	FRAG_SORT(d->end_regions, d->end_count, by_address);
	return true;
}

/*
 * Enters the last state into the map and the spans, then undoes the log from its end. Regions
 * are added again, so overlapping ones are dropped; the array is overwritten while it is read,
 * but the writer never overtakes the reader.
 */
static bool undo_all(struct frag_snap_device *d, struct frag_map *live, struct frag_spans *spans)
{
	const uint32_t regions = d->region_count;

	for (uint32_t i = 0; i < d->first_live_count; i++)
		if (!snapshot_rewind_put(live, d->first_live[i].addr, i))
			return false;
	d->region_count = 0;
	for (uint32_t i = 0; i < regions; i++) {
		const struct frag_region r = d->regions[i];

		if (!add_region(d, spans, &r))
			return false;
	}
	for (uint32_t i = d->log_count; i-- > 0;) {
		const struct frag_logged *e = &d->log[i];

		if (e->role == FRAG_ROLE_CALL ? !undo_call(d, spans, e)
		    : e->role != FRAG_ROLE_NONE && e->role < FRAG_ROLE_CALL
		      && !undo_block(d, live, e))
			return false;
	}
	return true;
}

/*
 * Assigns roles before undoing, because only later events show whether a freed block was
 * pending in between. Copies the last state's regions first, because undoing overwrites them.
 */
static bool rewind_device(struct frag_snap_device *d, bool pools, uint64_t seed)
{
	struct frag_map open = { .entries = NULL }, live = { .entries = NULL };
	struct frag_spans spans;
	bool good;

	frag_spans_init(&spans, seed);
	good = frag_map_init(&open, seed) && frag_map_init(&live, seed)
	       && (!pools || keep_end(d))
	       && give_roles(d, &open) && undo_all(d, &live, &spans) && keep_regions(d, &spans);
	if (good)
		keep_first_live(d);
	d->start_count = d->region_count;
	for (uint32_t i = 0; i < d->region_count; i++)
		d->start_bytes += d->regions[i].bytes;
	frag_map_fini(&open);
	frag_map_fini(&live);
	frag_spans_fini(&spans);
	return good;
}

/*
 * The first state as segments with blocks at known places.
 *
 * Mapped runs of one stream, pool and kind are one expandable range: how far such
 * a range reaches is nowhere in the file, so it is as long as its addresses
 * that were ever used.
 */

#define RANGES_MAX 512          /* each event is searched for among them */
#define RANGE_BYTES_MAX (UINT64_C(1) << 50)
#define NOWHERE UINT32_MAX

/* An address of a range whose kind is known. */
struct hint {
	uint64_t addr;
	bool large;
};

struct range {
	uint64_t stream, first, end;
	uint32_t pool, initial;
	bool large;
};

struct begin {
	struct frag_snapshot *s;
	struct frag_snap_device *d;
	uint32_t device;
	struct hint *hints;
	uint32_t hint_count, hint_capacity;
	struct range ranges[RANGES_MAX];
	uint32_t range_count;
	struct frag_extent *runs;          /* one for each region that is a run */
	uint32_t *initial_of;           /* one for each region */
};

static void add_hint(struct begin *b, uint64_t addr, bool large)
{
	b->hints[b->hint_count++] = (struct hint){ .addr = addr, .large = large };
}

/* Requests show what kind of range they landed in. */
static bool gather_hints(struct begin *b)
{
	const struct frag_snap_device *d = b->d;

	if (!frag_grow(&b->hints, &b->hint_capacity,
		       (uint64_t)d->region_count + d->first_live_count + d->log_count + 1,
		       sizeof(*b->hints)))
		return false;
	for (uint32_t i = 0; i < d->region_count; i++)
		if (d->regions[i].range && d->regions[i].known)
			add_hint(b, d->regions[i].addr, d->regions[i].large);
	for (uint32_t i = 0; i < d->first_live_count; i++)
		add_hint(b, d->first_live[i].addr, d->first_live[i].requested > FRAG_SMALL_REQUEST);
	for (uint32_t i = 0; i < d->log_count; i++)
		if (d->log[i].role == FRAG_ROLE_ALLOC)
			add_hint(b, d->log[i].addr, d->log[i].size > FRAG_SMALL_REQUEST);
	FRAG_SORT(b->hints, b->hint_count, by_address);
	return true;
}

/* The kind of the nearest address that is known. */
static bool is_large(const struct begin *b, uint64_t addr)
{
	uint32_t low;

	FRAG_COUNT_WHILE(low, b->hint_count, b->hints[low].addr < addr);
	if (low == b->hint_count)
		return low > 0 && b->hints[low - 1].large;
	if (low > 0 && addr - b->hints[low - 1].addr < b->hints[low].addr - addr)
		low--;
	return b->hints[low].large;
}

static struct range *find_range(struct begin *b, uint64_t stream, uint32_t pool, bool large)
{
	struct range *r = b->ranges;

	while (r < b->ranges + b->range_count
	       && (r->stream != stream || r->pool != pool || r->large != large))
		r++;
	if (r == b->ranges + RANGES_MAX)
		return NULL;
	if (r == b->ranges + b->range_count) {
		b->range_count++;
		*r = (struct range){ .stream = stream, .pool = pool, .large = large,
				     .first = UINT64_MAX, .initial = NOWHERE };
	}
	return r;
}

static void widen_range(struct begin *b, uint64_t addr, uint64_t bytes, uint64_t stream,
			uint32_t pool, bool large)
{
	struct range *r = find_range(b, stream, pool, large);

	if (!r)
		return;
	r->first = frag_min(addr, r->first);
	r->end = frag_max(addr + bytes, r->end);
}

/* Computes the extent of each range from all data in the file. */
static void measure_ranges(struct begin *b)
{
	struct frag_snap_device *d = b->d;

	for (uint32_t i = 0; i < d->region_count; i++) {
		struct frag_region *r = &d->regions[i];

		if (!r->range)
			continue;
		if (!r->known)
			r->large = is_large(b, r->addr);
		widen_range(b, r->addr, r->bytes, r->stream, r->pool, r->large);
	}
	for (uint32_t i = 0; i < d->log_count; i++) {
		const struct frag_logged *e = &d->log[i];

		if (e->action == FRAG_ACT_SEGMENT_MAP || e->action == FRAG_ACT_SEGMENT_UNMAP)
			widen_range(b, e->addr, e->size, e->stream,
				    e->pool == FRAG_NO_POOL ? 0 : e->pool, is_large(b, e->addr));
	}
}

static uint32_t add_initial(struct begin *b, const struct frag_region *r)
{
	struct frag_snap_device *d = b->d;

	if (!FRAG_GROW(d->initial, d->initial_capacity, d->initial_count))
		return NOWHERE;
	d->initial[d->initial_count] = (struct frag_initial){
		.device = b->device, .stream_name.number = r->stream,
		.pool_name = b->s->pools[r->pool].name, .bytes = r->bytes,
		.large = r->large, .range = r->range, .address = r->addr,
	};
	return d->initial_count++;
}

/* One run more of a range; those that touch are one. */
static void initial_segments_add_run(struct frag_initial *seg, uint64_t offset, uint64_t bytes,
				     struct frag_extent *runs)
{
	struct frag_extent *last = seg->run_count ? &runs[seg->run_count - 1] : NULL;

	seg->runs = runs;
	if (last && last->offset + last->bytes == offset)
		last->bytes += bytes;
	else
		runs[seg->run_count++] = (struct frag_extent){ .offset = offset, .bytes = bytes };
}

/* Ranges after each other, so that the runs of each are together. */
static bool make_ranges(struct begin *b)
{
	struct frag_snap_device *d = b->d;
	uint32_t used = 0;

	for (uint32_t k = 0; k < b->range_count; k++) {
		struct range *range = &b->ranges[k];
		uint32_t before = used;

		for (uint32_t i = 0; i < d->region_count; i++) {
			const struct frag_region *r = &d->regions[i];

			if (!r->range || r->stream != range->stream || r->pool != range->pool
			    || r->large != range->large
			    || range->end - range->first > RANGE_BYTES_MAX)
				continue;
			if (range->initial == NOWHERE) {
				range->initial = add_initial(b, r);
				if (range->initial == NOWHERE)
					return false;
				d->initial[range->initial].address = range->first;
				d->initial[range->initial].bytes = range->end - range->first;
			}
			b->initial_of[i] = range->initial;
			initial_segments_add_run(&d->initial[range->initial],
						 r->addr - range->first, r->bytes,
						 b->runs + before);
			used++;
		}
	}
	return true;
}

#define REQUEST_UNIT 512
#define SPARE (UINT64_C(1) << 20)       /* bytes at the end of a large block, without a split */
#define SPARE_OVERSIZE (UINT64_C(20) << 20)     /* of blocks above max_split_size */

/* Bytes that may have been requested at least, of a block whose file has its own size alone. */
static uint64_t least_request(const struct frag_snapshot *s, const struct frag_region *r,
			      uint64_t bytes)
{
	char settings[256];
	uint64_t spare = REQUEST_UNIT - 1;

	(void)frag_snapshot_settings_values(s, settings, sizeof(settings));
	if (r->large && !r->range)
		spare += strstr(settings, "max_split_size") ? SPARE_OVERSIZE : SPARE;
	bytes = bytes > spare ? bytes - spare : 1;
	return strstr(settings, "roundup") ? bytes / 2 + 1 : bytes;
}

/* Each block's place; blocks and regions both rise by address. */
static void place_blocks(struct begin *b)
{
	struct frag_snap_device *d = b->d;
	uint32_t k = 0;

	for (uint32_t i = 0; i < d->first_live_count; i++) {
		struct frag_live_block *h = &d->first_live[i];
		struct frag_spot *place = &d->places[i];
		uint64_t end,
			next = i + 1 < d->first_live_count ? d->first_live[i + 1].addr : UINT64_MAX;
		uint32_t last;

		*place = (struct frag_spot){ .initial = NOWHERE };
		while (k < d->region_count && d->regions[k].addr + d->regions[k].bytes <= h->addr)
			k++;
		if (k == d->region_count || d->regions[k].addr > h->addr)
			continue;
		h->stream = d->regions[k].stream;
		h->pool = d->regions[k].pool;
		/* runs of a range that touch are one */
		for (last = k; last + 1 < d->region_count && d->regions[last].range
		     && d->regions[last + 1].addr < next
		     && b->initial_of[last + 1] == b->initial_of[k]
		     && d->regions[last].addr + d->regions[last].bytes == d->regions[last + 1].addr;
		     last++)
			;
		end = d->regions[last].addr + d->regions[last].bytes;
		end = next < end ? next : end;
		if (b->initial_of[k] == NOWHERE || h->requested > end - h->addr)
			continue;
		d->initial[b->initial_of[k]].live += h->requested;
		*place = (struct frag_spot){
			.initial = b->initial_of[k], .bytes = h->bytes, .room = end - h->addr,
			.least = h->bytes && !h->sized ? least_request(b->s, &d->regions[k], h->bytes)
						       : 0,
			.offset = h->addr - d->initial[b->initial_of[k]].address,
		};
	}
}

/*
 * Separate segments come first. Ranges follow once all of them are measured, because the length
 * of a range covers all addresses ever used in it. Blocks come last, as offsets into both.
 */
static bool initial_segments_begin_device(struct begin *b)
{
	struct frag_snap_device *d = b->d;

	d->runs = b->runs = calloc((size_t)d->region_count + 1, sizeof(*b->runs));
	b->initial_of = calloc((size_t)d->region_count + 1, sizeof(*b->initial_of));
	d->places = calloc((size_t)d->first_live_count + 1, sizeof(*d->places));
	if (!b->runs || !b->initial_of || !d->places)
		return false;
	for (uint32_t i = 0; i < d->region_count; i++) {
		b->initial_of[i] = NOWHERE;
		if (d->regions[i].range)
			continue;
		b->initial_of[i] = add_initial(b, &d->regions[i]);
		if (b->initial_of[i] == NOWHERE)
			return false;
	}
	if (d->any_map) {
		if (!gather_hints(b))
			return false;
		measure_ranges(b);
		if (!make_ranges(b))
			return false;
	}
	place_blocks(b);
	return true;
}

/* The segments of all devices in one array; places count in it. */
static int make_initial(struct frag_snapshot *s)
{
	struct begin *b = calloc(1, sizeof(*b));
	bool good = b != NULL;
	uint64_t count = 0;

	for (uint32_t i = 0; i < s->device_count && good; i++) {
		b->s = s;
		b->d = &s->devices[i];
		b->device = i;
		b->hint_count = b->range_count = 0;
		good = initial_segments_begin_device(b);
		free(b->initial_of);
		count += b->d->initial_count;
	}
	if (b)
		free(b->hints);
	free(b);
	s->initial = good ? calloc((size_t)count + 1, sizeof(*s->initial)) : NULL;
	if (!s->initial)
		return frag_fail_nomem(s->err);
	for (uint32_t i = 0; i < s->device_count; i++) {
		struct frag_snap_device *d = &s->devices[i];

		for (uint32_t k = 0; k < d->first_live_count; k++)
			if (d->places[k].initial != NOWHERE)
				d->places[k].initial += s->initial_count;
		for (uint32_t k = 0; k < d->initial_count; k++)
			s->initial[s->initial_count++] = d->initial[k];
	}
	return 0;
}

int frag_snapshot_rewind(struct frag_snapshot *s)
{
	uint64_t seed = frag_hash_seed();

	FRAG_ASSERT(s->err && s->device_count && !s->initial && !s->plan);
	for (uint32_t i = 0; i < s->device_count; i++)
		if (!rewind_device(&s->devices[i], s->pool_count > 1, seed))
			return frag_fail_nomem(s->err);
	return make_initial(s);
}
