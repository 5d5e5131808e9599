/*
 * outside_memory.c - memory of a process outside PyTorch's allocator.
 *
 * PyTorch obtains its segments from the driver, so they are allocations of the database, with the
 * same addresses and sizes. The moment follows from them: the one at which most of the snapshot's
 * segments are live, and fewest that it has at other times only. Of several such moments it is
 * the one before which the driver was called in the order of the snapshot's log and at its
 * intervals, then the last.
 */
#include "snapshot/outside_memory.h"

#include <math.h>
#include <stdlib.h>

#include "base/array_grow.h"
#include "base/hash.h"

#define NONE UINT32_MAX
#define ADDRESS_BITS 52         /* above them is the number of the process */
#define ADDRESS_MASK ((UINT64_C(1) << ADDRESS_BITS) - 1)
#define RUN_MAX 64              /* calls of the log that are compared */

/* A segment that the snapshot has at some time. */
struct segment {
	uint64_t addr, bytes;
	bool wanted;            /* it has it at the moment */
	bool live;              /* in the database, so far */
};

struct allocation {
	uint64_t addr, bytes;
	bool live;
};

struct search {
	const struct frag_snap_device *d;
	const struct frag_buffered *events;
	const struct frag_logged *moment;       /* NULL: its time is not known */
	uint32_t calls;                 /* of the device's log, up to the moment */
	uint32_t *whole;                /* of them, those of whole segments */
	uint32_t whole_count, whole_capacity;
	struct segment *segments;       /* by address, then by size */
	uint32_t segment_count, segment_capacity;
	struct allocation *allocations; /* by id */
	bool times;                     /* the log has them */
	uint64_t owner;                 /* process and device of the database */
	uint32_t *seen;                 /* rows of segments */
	uint32_t seen_count, seen_capacity;
};

static bool is_whole_segment(const struct frag_logged_call *call)
{
	return call->action == FRAG_ACT_SEGMENT_ALLOC || call->action == FRAG_ACT_SEGMENT_FREE;
}

static int by_place(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	return frag_order_two(x->addr, y->addr, x->bytes, y->bytes);
}

static bool outside_add(struct search *f, uint64_t addr, uint64_t bytes)
{
	if (!FRAG_GROW(f->segments, f->segment_capacity, f->segment_count))
		return false;
	f->segments[f->segment_count++] = (struct segment){ .addr = addr & ADDRESS_MASK, .bytes = bytes };
	return true;
}

/* The segment of an allocation of the database; NULL: it is outside. */
static struct segment *segment_of(const struct search *f, uint64_t addr, uint64_t bytes)
{
	const struct segment key = { .addr = addr & ADDRESS_MASK, .bytes = bytes };

	return f->segment_count ? bsearch(&key, f->segments, f->segment_count, sizeof(key), by_place)
				: NULL;
}

/* All segments that the device has at some time, each once, and which of them at the moment. */
static bool gather_segments(struct search *f, struct frag_outside *out)
{
	const struct frag_snap_device *d = f->d;
	uint32_t kept = 0;
	bool good = true;

	for (uint32_t i = 0; i < d->start_count && good; i++)
		good = d->regions[i].range || outside_add(f, d->regions[i].addr, d->regions[i].bytes);
	for (uint32_t i = 0; i < d->call_count && good; i++)
		good = !is_whole_segment(&d->calls[i]) || outside_add(f, d->calls[i].addr, d->calls[i].bytes);
	FRAG_SORT(f->segments, f->segment_count, by_place);
	for (uint32_t i = 0; i < f->segment_count; i++)
		if (!kept || by_place(&f->segments[i], &f->segments[kept - 1]) != 0)
			f->segments[kept++] = f->segments[i];
	f->segment_count = kept;
	for (uint32_t i = 0; i < d->start_count && good; i++) {
		out->expandable |= d->regions[i].range;
		if (!d->regions[i].range)
			segment_of(f, d->regions[i].addr, d->regions[i].bytes)->wanted = true;
	}
	for (uint32_t i = 0; i < f->calls && good; i++) {
		const struct frag_logged_call *call = &d->calls[i];

		out->expandable |= !is_whole_segment(call);
		if (!is_whole_segment(call))
			continue;
		segment_of(f, call->addr, call->bytes)->wanted = call->action == FRAG_ACT_SEGMENT_ALLOC;
		good = FRAG_GROW(f->whole, f->whole_capacity, f->whole_count);
		if (good)
			f->whole[f->whole_count++] = i;
	}
	for (uint32_t i = 0; i < f->segment_count; i++)
		out->segments += f->segments[i].wanted;
	return good;
}

/* Addresses and sizes by id: a row of a free has no size, one of before the log no address. */
static bool gather_allocations(struct search *f)
{
	const struct frag_buffered *h = f->events;

	f->allocations = calloc((size_t)h->count + 1, sizeof(*f->allocations));
	for (uint32_t i = 0; i < h->count && f->allocations; i++) {
		const struct frag_row *row = &h->rows[i];
		struct allocation *a = &f->allocations[row->id];

		if (row->op == FRAG_OP_ALLOC)
			a->bytes = row->size;
		if (row->stream)
			a->addr = row->stream;
	}
	return f->allocations != NULL;
}

static uint64_t outside_owner(const struct search *f, const struct frag_row *row)
{
	return f->allocations[row->id].addr >> ADDRESS_BITS << 16 | row->device;
}

/* The process and device with most allocations that are segments of the moment. */
static bool find_process(struct search *f, uint32_t *matches)
{
	const struct frag_buffered *h = f->events;
	struct frag_map index;
	uint32_t *counts = NULL, count = 0, capacity = 0;
	bool good = frag_map_init(&index, frag_hash_seed());

	*matches = 0;
	for (uint32_t i = 0; i < h->count && good; i++) {
		const struct allocation *a = &f->allocations[h->rows[i].id];
		const struct segment *s = segment_of(f, a->addr, a->bytes);
		const uint64_t owner = outside_owner(f, &h->rows[i]);
		uint32_t at;

		if (h->rows[i].op != FRAG_OP_ALLOC || !s || !s->wanted)
			continue;
		at = frag_map_get(&index, owner);
		if (at == FRAG_MAP_NONE) {
			good = FRAG_GROW(counts, capacity, count) && frag_map_add(&index, owner, count);
			if (!good)
				break;
			at = count++;
			counts[at] = 0;
		}
		if (++counts[at] > *matches) {
			*matches = counts[at];
			f->owner = owner;
		}
	}
	frag_map_fini(&index);
	free(counts);
	return good;
}

/* How the rows before a moment agree with the calls of the log before it. */
struct agreement {
	uint32_t run;           /* last rows of segments that are the last calls, in their order */
	double spread;          /* of the differences of their times, microseconds */
};

static struct agreement agreeing_calls(const struct search *f)
{
	double least = INFINITY, most = -INFINITY;
	uint32_t run = 0;

	for (; run < RUN_MAX && run < f->seen_count && run < f->whole_count; run++) {
		const struct frag_row *row = &f->events->rows[f->seen[f->seen_count - 1 - run]];
		const struct allocation *a = &f->allocations[row->id];
		const struct frag_logged_call *call = &f->d->calls[f->whole[f->whole_count - 1 - run]];

		if (segment_of(f, call->addr, call->bytes) != segment_of(f, a->addr, a->bytes)
		    || (call->action == FRAG_ACT_SEGMENT_ALLOC) != (row->op == FRAG_OP_ALLOC))
			break;
		if (!f->times)
			continue;
		least = fmin(least, row->t - f->d->log[call->event].t);
		most = fmax(most, row->t - f->d->log[call->event].t);
	}
	return (struct agreement){ .run = run, .spread = most > least ? most - least : 0 };
}

/* *row: the last call of PyTorch's allocator before the moment; NONE: no segment is ever live. */
static bool find_moment(struct search *f, uint32_t *row, uint32_t *matched, uint32_t *run)
{
	struct agreement best_calls = { .run = 0 };
	int64_t score = 0, best = INT64_MIN;
	uint32_t live = 0;

	*row = NONE;
	*matched = 0;
	for (uint32_t i = 0; i < f->events->count; i++) {
		const struct frag_row *r = &f->events->rows[i];
		const struct allocation *a = &f->allocations[r->id];
		struct segment *s = outside_owner(f, r) == f->owner
				    ? segment_of(f, a->addr, a->bytes) : NULL;
		const bool alloc = r->op == FRAG_OP_ALLOC;
		struct agreement now;

		if (!s || s->live == alloc)
			continue;
		if (!FRAG_GROW(f->seen, f->seen_capacity, f->seen_count))
			return false;
		f->seen[f->seen_count++] = i;
		s->live = alloc;
		score += s->wanted == alloc ? 1 : -1;
		live = s->wanted ? alloc ? live + 1 : live - 1 : live;
		if (!live || score < best)
			continue;
		now = agreeing_calls(f);
		if (score == best && (now.run < best_calls.run || (now.run == best_calls.run
								   && now.spread > best_calls.spread)))
			continue;
		best = score;
		best_calls = now;
		*row = i;
		*matched = live;
		*run = now.run;
	}
	return true;
}

/*
 * The time of the moment in the database, microseconds: as long after the last call as in the
 * log. Without it, the next call ends the search: infinity.
 */
static double find_time(const struct search *f, uint32_t row, uint32_t run)
{
	const struct frag_logged_call *last;

	if (!f->moment || !run)
		return INFINITY;
	last = &f->d->calls[f->whole[f->whole_count - 1]];
	return f->events->rows[row].t + f->moment->t - f->d->log[last->event].t;
}

static int by_bytes(const void *a, const void *b)
{
	const struct frag_outside_tag *x = a, *y = b;

	return frag_order_two(y->bytes, x->bytes, x->tag.length, y->tag.length);
}

/* Groups what is live and no segment, by its tag. */
static bool group(struct search *f, uint32_t end, struct frag_outside *out)
{
	const struct frag_buffered *h = f->events;
	struct frag_map index;
	uint32_t capacity = 0;
	bool good = frag_map_init(&index, frag_hash_seed());

	for (uint32_t i = 0; i < end && good; i++) {
		const struct frag_row *row = &h->rows[i];
		const struct allocation *a = &f->allocations[row->id];
		struct frag_site site = { .text = row->text };
		uint64_t key;
		uint32_t at;

		if (row->op != FRAG_OP_ALLOC || !a->live || outside_owner(f, row) != f->owner
		    || segment_of(f, a->addr, a->bytes))
			continue;
		if (h->sites)
			site = h->sites[row->text];
		key = (uint64_t)site.text << 1 | (site.stack != 0);
		at = frag_map_get(&index, key);
		if (at == FRAG_MAP_NONE) {
			good = FRAG_GROW(out->tags, capacity, out->tag_count)
			       && frag_map_add(&index, key, out->tag_count);
			if (!good)
				break;
			at = out->tag_count++;
			out->tags[at] = (struct frag_outside_tag){
				.tag = frag_handle_text(&h->texts, site.text), .stack = site.stack,
			};
		}
		out->tags[at].bytes += a->bytes;
		out->tags[at].allocations++;
		out->bytes += a->bytes;
		out->allocations++;
	}
	FRAG_SORT(out->tags, out->tag_count, by_bytes);
	frag_map_fini(&index);
	return good;
}

/* Plays the events up to the moment: up to its time, and not beyond the next call of PyTorch's. */
static bool play(struct search *f, uint32_t row, double time, struct frag_outside *out)
{
	const struct frag_buffered *h = f->events;
	uint32_t i = 0;

	for (; i < h->count; i++) {
		struct allocation *a = &f->allocations[h->rows[i].id];

		if (i > row && (h->rows[i].t > time || (outside_owner(f, &h->rows[i]) == f->owner
						       && segment_of(f, a->addr, a->bytes))))
			break;
		a->live = h->rows[i].op == FRAG_OP_ALLOC;
	}
	return group(f, i, out);
}

/* At an OOM the log has the free bytes of the device: what is in use, and in no event. */
static void find_unknown(const struct search *f, struct frag_outside *out)
{
	const uint32_t device = (uint32_t)(f->owner & 0xffff);
	uint64_t known = f->d->start_bytes + out->bytes, total = 0;

	if (device < f->events->device_count)
		total = f->events->devices[device].total;
	for (uint32_t i = 0; i < f->calls; i++) {
		const struct frag_logged_call *call = &f->d->calls[i];

		known += call->action == FRAG_ACT_SEGMENT_ALLOC || call->action == FRAG_ACT_SEGMENT_MAP
			 ? call->bytes : -call->bytes;
	}
	if (!f->moment || f->moment->action != FRAG_ACT_OOM || known > total
	    || f->moment->addr > total - known)
		return;
	out->unknown_set = true;
	out->unknown = total - known - f->moment->addr;
}

/* The last record of the device's log at this step or before: its calls, its event. */
static void pick_moment(struct search *f, const struct frag_snapshot *s, uint32_t device, uint64_t step)
{
	uint32_t i = step < s->plan_count ? (uint32_t)step + 1 : s->plan_count;

	while (i > 0 && (s->plan[i - 1].device != device || s->plan[i - 1].kind == FRAG_PLAN_REMARK
			 || s->plan[i - 1].kind == FRAG_PLAN_CONFIGURE))
		i--;
	if (step >= s->plan_count)
		f->calls = f->d->call_count;
	else if (i)
		f->calls = s->plan[i - 1].calls_end;
	if (i && s->has_times && step < s->plan_count && s->plan[i - 1].kind != FRAG_PLAN_INITIAL
	    && s->plan[i - 1].kind != FRAG_PLAN_INITIAL_FREE)
		f->moment = &f->d->log[s->plan[i - 1].index];
}

int frag_outside_find(struct frag_outside *out, const struct frag_snapshot *s, uint32_t device,
		      uint64_t step, const struct frag_buffered *events, struct frag_error *err)
{
	struct search f = { .d = &s->devices[device], .events = events, .times = s->has_times };
	uint32_t row = NONE, run = 0, matches;
	bool good;

	*out = (struct frag_outside){ .segments = 0 };
	pick_moment(&f, s, device, step);
	good = gather_segments(&f, out) && gather_allocations(&f) && find_process(&f, &matches)
	       && (!matches || find_moment(&f, &row, &out->matched, &run));
	if (good && row != NONE) {
		const double time = find_time(&f, row, run);

		out->timed = isfinite(time);
		good = play(&f, row, time, out);
		find_unknown(&f, out);
	}
	free(f.segments);
	free(f.whole);
	free(f.allocations);
	free(f.seen);
	return good ? 0 : frag_fail_nomem(err);
}
