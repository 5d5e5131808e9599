/*
 * initial_segments.c - the first state of a snapshot as segments with blocks at
 * known places.
 *
 * Mapped runs of one stream, pool and kind are one expandable range: how far such
 * a range reaches is nowhere in the file, so it is as long as its addresses
 * that were ever used.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "snapshot/snapshot.h"
#include "trace/reader.h"

#define RANGES_MAX 512          /* each event is searched for among them */
#define RANGE_BYTES_MAX (UINT64_C(1) << 50)
#define SMALL_REQUEST (UINT64_C(1) << 20)
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

static int by_addr(const void *a, const void *b)
{
	const struct hint *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool add_hint(struct begin *b, uint64_t addr, bool large)
{
	if (!FRAG_GROW(b->hints, b->hint_capacity, b->hint_count))
		return false;
	b->hints[b->hint_count++] = (struct hint){ .addr = addr, .large = large };
	return true;
}

/* Requests show what kind of range they landed in. */
static bool gather_hints(struct begin *b)
{
	const struct frag_snap_device *d = b->d;

	for (uint32_t i = 0; i < d->region_count; i++)
		if (d->regions[i].range && d->regions[i].known
		    && !add_hint(b, d->regions[i].addr, d->regions[i].large))
			return false;
	for (uint32_t i = 0; i < d->first_live_count; i++)
		if (!add_hint(b, d->first_live[i].addr, d->first_live[i].requested > SMALL_REQUEST))
			return false;
	for (uint32_t i = 0; i < d->log_count; i++)
		if (d->log[i].role == FRAG_ROLE_ALLOC
		    && !add_hint(b, d->log[i].addr, d->log[i].size > SMALL_REQUEST))
			return false;
	if (b->hint_count)
		qsort(b->hints, b->hint_count, sizeof(*b->hints), by_addr);
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
	r->first = addr < r->first ? addr : r->first;
	r->end = addr + bytes > r->end ? addr + bytes : r->end;
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

/* Names for the trace: PyTorch's own words for a pool are its two numbers. */
struct frag_handle frag_snapshot_pool_handle(struct frag_snapshot *s, uint32_t pool)
{
	struct frag_handle h = { .number = 0 };
	char *text;

	FRAG_ASSERT(pool < s->pool_count);
	if (pool == 0)
		return h;
	if (frag_values_text(&s->values, 48, &text) == FRAG_ADDED) {
		h.number = (uint64_t)snprintf(text, 48, "%" PRIu64 "_%" PRIu64, s->pools[pool].a,
					      s->pools[pool].b);
		h.text = text;
	}
	return h;
}

static uint32_t add_initial(struct begin *b, const struct frag_region *r)
{
	struct frag_snap_device *d = b->d;

	if (!FRAG_GROW(d->initial, d->initial_capacity, d->initial_count))
		return NOWHERE;
	d->initial[d->initial_count] = (struct frag_initial){
		.device = b->device, .stream_name.number = r->stream,
		.pool_name = frag_snapshot_pool_handle(b->s, r->pool), .bytes = r->bytes,
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
static int join_devices(struct frag_snapshot *s)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < s->device_count; i++)
		count += s->devices[i].initial_count;
	s->initial = calloc((size_t)count + 1, sizeof(*s->initial));
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

int frag_snapshot_begin(struct frag_snapshot *s)
{
	struct begin *b = calloc(1, sizeof(*b));
	bool good = b != NULL;

	FRAG_ASSERT(s->err && s->device_count && !s->initial && !s->plan);
	for (uint32_t i = 0; i < s->device_count && good; i++) {
		b->s = s;
		b->d = &s->devices[i];
		b->device = i;
		b->hint_count = b->range_count = 0;
		good = initial_segments_begin_device(b);
		free(b->initial_of);
	}
	if (b)
		free(b->hints);
	free(b);
	return good ? join_devices(s) : frag_fail_nomem(s->err);
}

/* A segment: where it was, and as which it came. */
struct arrival {
	uint64_t address;
	uint32_t number;
};

static int initial_segments_by_address(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	return frag_order_two(x->address, y->address, x->number, y->number);
}

static uint32_t find_arrivals(const struct frag_snap_device *d, struct arrival *all)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->initial_count; i++)
		all[n++].address = d->initial[i].address;
	for (uint32_t i = 0; i < d->call_count; i++)
		if (d->calls[i].action == FRAG_ACT_SEGMENT_ALLOC)
			all[n++].address = d->calls[i].addr;
	for (uint32_t i = 0; i < n; i++)
		all[i].number = i;
	return n;
}

/* Of expandable segments the log has only the pages, so there is none. */
int frag_snapshot_order(struct frag_snapshot *s)
{
	for (struct frag_snap_device *d = s->devices; d < s->devices + s->device_count; d++) {
		const size_t most = (size_t)d->initial_count + d->call_count + 1;
		struct arrival *all;

		if (d->any_map)
			continue;
		all = calloc(most, sizeof(*all));
		d->order = calloc(most, sizeof(*d->order));
		if (all && d->order) {
			d->order_count = find_arrivals(d, all);
			qsort(all, d->order_count, sizeof(*all), initial_segments_by_address);
		}
		for (uint32_t i = 0; i < d->order_count; i++)
			d->order[all[i].number] = i;
		free(all);
		if (!all || !d->order)
			return frag_fail_nomem(s->err);
	}
	return 0;
}
