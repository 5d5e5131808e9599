/*
 * snapshot_records.c - the records of a snapshot, in their order, with the device
 * calls that its log shows for each.
 *
 * A device call is an outcome, not a request, so none becomes a record. Where the log releases
 * memory although no request forced it, the program had emptied the cache; that is a record.
 */
#include "snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/hash.h"
#include "snapshot/address_ranges.h"

#define BLOCK_UNIT 512
#define SMALL_ENDS (2 * FRAG_SMALL_SEGMENT)
#define LARGE_ENDS (UINT64_C(40) << 20)

/* A device's log on its way forward. */
struct walk {
	struct frag_snapshot *s;
	struct frag_snap_device *d;
	uint32_t device;
	struct frag_map live;           /* address -> index in lives */
	struct life {
		uint32_t id;
		bool pending, ended;
	} *lives;                       /* those of the blocks held come first */
	uint32_t life_count, life_capacity;
	struct frag_spans spans;        /* segments; live: their blocks */
	uint64_t reserved, max_reserved;        /* bytes */
	uint32_t idle;                  /* segments of pool 0 without blocks, except ranges */
	uint32_t pending;               /* blocks */
	uint32_t completes;             /* the plan's last records are as many completes */
	uint32_t forced_by;             /* the event after releases that were forced; 0: none */
	bool waited;                    /* they belong to the request that comes */
	bool gained;                    /* which has obtained something already */
	uint32_t *last_use;             /* of each pool: the event behind its last alloc */
	uint32_t let_go;                /* records of this event that let go of pools */
	uint32_t *next_id;
};

static bool add_record(struct walk *w, enum frag_plan_kind kind, uint32_t index, uint32_t id)
{
	struct frag_snapshot *s = w->s;

	if (!FRAG_GROW(s->plan, s->plan_capacity, s->plan_count))
		return false;
	s->plan[s->plan_count++] = (struct frag_snapshot_plan){
		.kind = (uint8_t)kind, .device = (uint16_t)w->device, .index = index, .id = id,
		.calls_end = w->d->call_count,
	};
	return true;
}

static bool begin_life(struct walk *w, uint64_t addr, struct life **out)
{
	if (!FRAG_GROW(w->lives, w->life_capacity, w->life_count)
	    || !frag_map_add(&w->live, addr, w->life_count))
		return false;
	*out = &w->lives[w->life_count++];
	**out = (struct life){ .id = (*w->next_id)++ };
	return true;
}

static bool is_plain(const struct walk *w, uint32_t span)
{
	const struct frag_region *r = &w->d->regions[w->spans.spans[span].what];

	return !r->range && r->pool == 0;
}

/* One block more or less in the segment that holds the address. */
static void count_block(struct walk *w, uint64_t addr, bool more)
{
	uint32_t span = frag_spans_at(&w->spans, addr);
	struct frag_span *k;

	if (span == FRAG_NO_SPAN)
		return;
	k = &w->spans.spans[span];
	if (more) {
		w->idle -= k->live++ == 0 && is_plain(w, span);
	} else if (k->live) {
		w->idle += --k->live == 0 && is_plain(w, span);
	}
}

static void end_life(struct walk *w, uint64_t addr, uint32_t at)
{
	FRAG_ASSERT(at < w->life_count && !w->lives[at].ended);
	frag_map_remove(&w->live, addr, at);
	w->pending -= w->lives[at].pending;
	w->lives[at].ended = true;
	count_block(w, addr, false);
}

/* The event's pool, by the segment where it does not say it itself. */
static void find_event_pool(struct walk *w, struct frag_logged *e)
{
	uint32_t span;

	if (e->pool != FRAG_NO_POOL)
		return;
	span = frag_spans_at(&w->spans, e->addr);
	e->pool = span == FRAG_NO_SPAN ? 0 : w->d->regions[w->spans.spans[span].what].pool;
}

/*
 * A request that made the allocator wait for all streams ends the blocks that were
 * pending itself: their completes come after it, where they do nothing more.
 */
static void put_behind(struct walk *w, uint32_t records)
{
	struct frag_snapshot_plan *first = w->s->plan + w->s->plan_count - records - w->completes;
	struct frag_snapshot_plan request[2];

	FRAG_ASSERT(records <= 2 && w->s->plan_count >= records + w->completes);
	if (!w->waited)
		return;
	memcpy(request, first + w->completes, records * sizeof(*request));
	memmove(first + records, first, w->completes * sizeof(*first));
	memcpy(first, request, records * sizeof(*request));
	for (uint32_t i = 0; i < w->completes; i++) {
		first[records + i].index = request[0].index;
		first[records + i].calls_end = request[0].calls_end;
	}
	w->waited = false;
}

/*
 * A request lands at the lower end of a free block: where a block of the first
 * state is below it, that is where this one ends.
 */
static void learn_size(struct walk *w, uint64_t addr)
{
	struct frag_snap_device *d = w->d;
	uint32_t low;
	struct frag_spot *place;
	uint64_t bytes;

	FRAG_ASSERT(w->life_count >= d->first_live_count);
	FRAG_COUNT_WHILE(low, d->first_live_count, d->first_live[low].addr < addr);
	if (low == 0 || w->lives[low - 1].ended)
		return;
	place = &d->places[low - 1];
	bytes = addr - d->first_live[low - 1].addr;
	if (!place->bytes && bytes < place->room && bytes >= d->first_live[low - 1].requested)
		place->bytes = bytes;
}

/*
 * An alloc at an address in use means that a free is missing. It is made up in
 * front of the alloc, so that the trace stays valid, and counts as lost.
 */
static bool walk_alloc(struct walk *w, uint32_t i)
{
	struct frag_logged *e = &w->d->log[i];
	uint32_t at = frag_map_get(&w->live, e->addr);
	struct life *life;

	if (at != FRAG_MAP_NONE) { /* its free is not in the log */
		if (!add_record(w, w->lives[at].pending ? FRAG_PLAN_COMPLETE : FRAG_PLAN_FREE, i,
				w->lives[at].id))
			return false;
		end_life(w, e->addr, at);
		w->completes = 0;
		w->d->lost++;
	}
	find_event_pool(w, e);
	learn_size(w, e->addr);
	w->d->alloc_count++;
	w->d->homeless += frag_spans_at(&w->spans, e->addr) == FRAG_NO_SPAN;
	count_block(w, e->addr, true);
	if (!begin_life(w, e->addr, &life)
	    || !add_record(w, FRAG_PLAN_ALLOC, i, life->id))
		return false;
	put_behind(w, 1);
	return true;
}

/*
 * A free of no live block, or a second request to free a pending one, contradicts
 * the log: it counts as lost and is no record.
 */
static bool walk_free(struct walk *w, uint32_t i)
{
	const struct frag_logged *e = &w->d->log[i];
	uint32_t at = frag_map_get(&w->live, e->addr);
	bool deferred = e->role == FRAG_ROLE_DEFER;
	struct life *life;

	if (at == FRAG_MAP_NONE || (w->lives[at].pending && e->role != FRAG_ROLE_COMPLETE)) {
		w->d->lost++;
		return true;
	}
	life = &w->lives[at];
	if (!add_record(w, deferred ? FRAG_PLAN_DEFER : life->pending ? FRAG_PLAN_COMPLETE
			   : FRAG_PLAN_FREE, i, life->id))
		return false;
	if (!deferred)
		end_life(w, e->addr, at);
	else
		life->pending = true;
	w->pending += deferred;
	return true;
}

static bool log_call(struct walk *w, uint32_t i)
{
	struct frag_snap_device *d = w->d;
	const struct frag_logged *e = &d->log[i];

	if (!FRAG_GROW(d->calls, d->call_capacity, d->call_count))
		return false;
	d->calls[d->call_count++] = (struct frag_logged_call){
		.addr = e->addr, .bytes = e->size, .event = i,
		.pool = e->pool, .action = e->action,
	};
	return true;
}

/* The pool of a call in an old log: the last state has it, of a range as a whole. */
static uint32_t last_pool(const struct frag_snap_device *d, const struct frag_logged *e)
{
	const struct frag_region *r;
	uint32_t above;

	FRAG_COUNT_WHILE(above, d->end_count, d->end_regions[above].addr <= e->addr);
	if (!above)
		return 0;
	r = &d->end_regions[above - 1];
	return r->addr == e->addr || (r->range && e->addr - r->addr < r->bytes) ? r->pool : 0;
}

/* The segment joins those that are there. */
static bool obtain(struct walk *w, uint32_t i)
{
	struct frag_snap_device *d = w->d;
	struct frag_logged *e = &d->log[i];
	uint32_t above = frag_spans_from(&w->spans, e->addr), span;

	if (above != FRAG_NO_SPAN && w->spans.spans[above].start < e->addr + e->size)
		return true;
	if (!FRAG_GROW(d->regions, d->region_capacity, d->region_count))
		return false;
	if (e->pool == FRAG_NO_POOL)
		e->pool = last_pool(d, e);
	d->regions[d->region_count] = (struct frag_region){
		.addr = e->addr, .bytes = e->size, .stream = e->stream, .pool = e->pool,
		.range = e->action == FRAG_ACT_SEGMENT_MAP,
	};
	span = frag_spans_add(&w->spans, e->addr, e->addr + e->size, d->region_count++);
	if (span == FRAG_NO_SPAN)
		return false;
	w->idle += is_plain(w, span);
	w->reserved += e->size;
	w->max_reserved = frag_max(w->max_reserved, w->reserved);
	return true;
}

static bool give_back(struct walk *w, uint32_t i)
{
	const struct frag_logged *e = &w->d->log[i];
	uint32_t span = frag_spans_at(&w->spans, e->addr);
	uint64_t taken = e->size;

	if (span == FRAG_NO_SPAN)
		return true;
	if (e->action == FRAG_ACT_SEGMENT_UNMAP) {
		if (!frag_spans_cut(&w->spans, e->addr, e->addr + e->size, &taken))
			return false;
	} else {
		w->idle -= w->spans.spans[span].live == 0 && is_plain(w, span);
		frag_spans_remove(&w->spans, span);
	}
	w->reserved -= frag_min(taken, w->reserved);
	return true;
}

static bool is_release(const struct frag_logged *e)
{
	return e->role == FRAG_ROLE_CALL && (e->action == FRAG_ACT_SEGMENT_FREE
					     || e->action == FRAG_ACT_SEGMENT_UNMAP);
}

/* Finds the next event after a group of releases that begins at i; completes may be between. */
static uint32_t behind_group(const struct frag_snap_device *d, uint32_t i, bool completes)
{
	while (i < d->log_count
	       && (is_release(&d->log[i]) || d->log[i].role == FRAG_ROLE_NONE
		   || (completes && d->log[i].role == FRAG_ROLE_COMPLETE)))
		i++;
	return i;
}

/* Would something released, from i to next, have served the request? */
static bool would_serve(const struct frag_snap_device *d, uint32_t i, uint32_t next,
			const struct frag_logged *request)
{
	uint64_t need = (request->size + BLOCK_UNIT - 1) / BLOCK_UNIT * BLOCK_UNIT;
	bool large = need > FRAG_SMALL_REQUEST;

	for (; i < next; i++) {
		const struct frag_logged *e = &d->log[i];
		/* pages are unmapped from inside a free block, whose ends stay */
		uint64_t ends = e->action == FRAG_ACT_SEGMENT_UNMAP ? large ? LARGE_ENDS
									    : SMALL_ENDS : 0;

		if (is_release(e) && e->size + ends >= need
		    && e->stream == request->stream
		    && (ends || frag_snapshot_is_large(d, e->size) == large))
			return true;
	}
	return false;
}

/*
 * Was the group of releases at i forced by the request after it? It was where it has the stack of
 * that request: PyTorch notes who released. It was not where they are all that could be released
 * and one of them would have served the request, nor where the device has held more before or
 * after; a fraction set by the program, which no snapshot has, can refuse below that.
 */
static bool was_forced(struct walk *w, uint32_t i, uint64_t max_reserved)
{
	const struct frag_snap_device *d = w->d;
	uint32_t next = behind_group(d, i, true), request = next, plain = 0;

	if (next == d->log_count)
		return false;
	if (d->log[next].role == FRAG_ROLE_OOM)
		return true;
	if (d->log[next].action != FRAG_ACT_SEGMENT_ALLOC
	    && d->log[next].action != FRAG_ACT_SEGMENT_MAP)
		return false;
	while (request < d->log_count && d->log[request].role != FRAG_ROLE_ALLOC)
		request++;
	if (request == d->log_count)
		return false;
	if (d->log[i].frames && d->log[i].frames == d->log[request].frames)
		return true;
	for (uint32_t k = i; k < next; k++) {
		uint32_t span = frag_spans_at(&w->spans, d->log[k].addr);

		if (!is_release(&d->log[k]))
			continue;
		if (d->log[k].action == FRAG_ACT_SEGMENT_UNMAP)
			plain = w->idle;
		else if (span != FRAG_NO_SPAN && is_plain(w, span)
			 && plain < w->idle)
			plain++;
	}
	if (plain < w->idle)            /* not all: a choice of the allocator's own */
		return true;
	return !would_serve(d, i, next, &d->log[request])
	       && w->reserved + d->log[next].size > max_reserved;
}

/* Behind which event nothing is allocated in a pool any more. */
static bool find_last_uses(struct walk *w)
{
	const struct frag_snap_device *d = w->d;

	w->last_use = calloc(w->s->pool_count, sizeof(*w->last_use));
	for (uint32_t i = 0; i < d->log_count && w->last_use; i++) {
		const struct frag_logged *e = &d->log[i];

		if (e->role != FRAG_ROLE_ALLOC)
			continue;
		if (e->pool != FRAG_NO_POOL)
			w->last_use[e->pool] = i + 1;
		else                    /* an old log: any of them may be meant */
			for (uint32_t k = 0; k < w->s->pool_count; k++)
				w->last_use[k] = i + 1;
	}
	return w->last_use != NULL;
}

/*
 * A private pool releases memory only after the program has deleted it. Completes that the next
 * request may have forced are still the last records before it.
 */
static bool let_go(struct walk *w, uint32_t i)
{
	const uint32_t pool = w->d->log[i].pool;
	struct frag_snapshot_plan *first;
	struct frag_snapshot_plan record;

	if (!pool || pool == FRAG_NO_POOL || w->last_use[pool] > i)
		return true;
	w->last_use[pool] = UINT32_MAX; /* once */
	if (!add_record(w, FRAG_PLAN_RELEASE_POOL, i, 0))
		return false;
	w->let_go++;
	first = w->s->plan + w->s->plan_count - 1 - w->completes;
	record = first[w->completes];
	memmove(first + 1, first, w->completes * sizeof(*first));
	if (w->completes)
		record.calls_end = first[1].calls_end;
	*first = record;
	return true;
}

/*
 * Releases in a row are one decision. Where the request after them forced it,
 * they are an outcome of that request; else the program emptied the cache, and
 * that is a record. It is added after the calls are noted, as its calls_end
 * includes them. Leaves *i at the last of them.
 */
static bool walk_release(struct walk *w, uint32_t *i, uint64_t max_reserved)
{
	uint32_t first = *i, next = behind_group(w->d, first, false);
	uint32_t request = behind_group(w->d, first, true);
	/* one request may obtain some pages, release, wait, and release again */
	bool forced = w->gained || request == w->forced_by || was_forced(w, first, max_reserved);

	for (uint32_t k = first; k < next; k++) {
		if (!is_release(&w->d->log[k]))
			continue;
		find_event_pool(w, &w->d->log[k]);
		if (!let_go(w, k))
			return false;
	}
	for (; *i < next; (*i)++) {
		if (!is_release(&w->d->log[*i]))
			continue;
		if (!log_call(w, *i) || !give_back(w, *i))
			return false;
	}
	(*i)--;
	if (forced)
		w->forced_by = request;
	w->d->forced = w->d->forced || forced;
	w->waited = forced && w->pending == 0;
	return forced || add_record(w, FRAG_PLAN_EMPTY_CACHE, first, 0);
}

/*
 * A failed request shows the capacity of the device. A program that tried again later continued
 * without the block. Where it never did, the recording ends here, and the block is live like
 * any other.
 */
static bool walk_oom(struct walk *w, uint32_t i)
{
	const struct frag_logged *e = &w->d->log[i];
	const uint32_t records = i == w->d->last_oom ? 1 : 2;
	uint64_t capacity = w->reserved + e->addr;
	uint32_t id = (*w->next_id)++;

	if (capacity && (!w->d->capacity || capacity < w->d->capacity))
		w->d->capacity = capacity;
	if (w->d->oom_count++ == 0)
		w->d->first_oom = i;
	if (!add_record(w, FRAG_PLAN_OOM, i, id)
	    || (records > 1 && !add_record(w, FRAG_PLAN_OOM_FREE, i, id)))
		return false;
	w->waited = w->pending == 0;
	put_behind(w, records);
	return true;
}

/*
 * Handles one event of the log, or a group of releases; *i becomes its last index. Memory that
 * was reserved belongs to the next request; w->gained lasts until then.
 */
static bool walk_event(struct walk *w, uint32_t *i, uint64_t max_reserved)
{
	const struct frag_logged *e = &w->d->log[*i];

	if (e->role == FRAG_ROLE_CALL && !is_release(e))
		w->gained = true;
	else if (e->role == FRAG_ROLE_ALLOC || e->role == FRAG_ROLE_OOM)
		w->gained = false;
	switch ((enum frag_role)e->role) {
	case FRAG_ROLE_ALLOC:
		return walk_alloc(w, *i);
	case FRAG_ROLE_FREE:
	case FRAG_ROLE_DEFER:
	case FRAG_ROLE_COMPLETE:
		return walk_free(w, *i);
	case FRAG_ROLE_CALL:
		if (is_release(e))
			return walk_release(w, i, max_reserved);
		return obtain(w, *i) && log_call(w, *i);
	case FRAG_ROLE_OOM:
		return walk_oom(w, *i);
	case FRAG_ROLE_MARK:
		return add_record(w, FRAG_PLAN_MARK, *i, 0);
	case FRAG_ROLE_NONE:
		break;
	}
	return true;
}

/* Blocks of the first state: each is a request; a pending one is freed at once. */
static bool walk_first_live(struct walk *w)
{
	const struct frag_snap_device *d = w->d;

	for (uint32_t i = 0; i < d->region_count; i++) {
		const struct frag_region *r = &d->regions[i];
		uint32_t span = frag_spans_add(&w->spans, r->addr, r->addr + r->bytes, i);

		if (span == FRAG_NO_SPAN)
			return false;
		w->idle += is_plain(w, span);
		w->reserved += r->bytes;
	}
	w->max_reserved = w->reserved;
	for (uint32_t i = 0; i < d->first_live_count; i++) {
		struct life *life;

		count_block(w, d->first_live[i].addr, true);
		if (!begin_life(w, d->first_live[i].addr, &life)
		    || !add_record(w, FRAG_PLAN_INITIAL, i, life->id))
			return false;
		life->pending = d->first_live[i].pending;
		w->pending += life->pending;
	}
	for (uint32_t i = 0; i < d->first_live_count; i++)
		if (w->lives[i].pending && !add_record(w, FRAG_PLAN_INITIAL_FREE, i, w->lives[i].id))
			return false;
	return true;
}

/* The peak of reserved bytes in the log. */
static uint64_t find_most_reserved(const struct frag_snap_device *d)
{
	uint64_t now = 0, max;

	for (uint32_t i = 0; i < d->region_count; i++)
		now += d->regions[i].bytes;
	max = now;
	for (uint32_t i = 0; i < d->log_count; i++) {
		const struct frag_logged *e = &d->log[i];

		if (e->role != FRAG_ROLE_CALL)
			continue;
		now = is_release(e) ? now - frag_min(e->size, now) : now + e->size;
		max = frag_max(max, now);
	}
	return max;
}

/*
 * The log forward, from the first state on. The completes that a request may have
 * forced are those right before it: any other record ends their run. The device
 * held at least what was once reserved, whatever an out-of-memory said.
 */
static bool walk_device(struct frag_snapshot *s, uint32_t device, uint32_t *next_id, uint64_t seed)
{
	struct walk w = { .s = s, .d = &s->devices[device], .device = device, .next_id = next_id };
	uint64_t max_reserved = find_most_reserved(w.d);
	bool good;

	/* the log's last request, where that is one that failed */
	w.d->last_oom = UINT32_MAX;
	for (uint32_t i = 0; i < w.d->log_count; i++)
		if (w.d->log[i].role == FRAG_ROLE_ALLOC || w.d->log[i].role == FRAG_ROLE_OOM)
			w.d->last_oom = w.d->log[i].role == FRAG_ROLE_OOM ? i : UINT32_MAX;
	frag_spans_init(&w.spans, seed);
	good = frag_map_init(&w.live, seed) && find_last_uses(&w) && walk_first_live(&w);
	w.d->plan_initial = s->plan_count;
	for (uint32_t i = 0; i < w.d->log_count && good; i++) {
		const uint32_t before = s->plan_count;
		const bool complete = w.d->log[i].role == FRAG_ROLE_COMPLETE;

		w.let_go = 0;
		good = walk_event(&w, &i, max_reserved);
		if (s->plan_count > before + w.let_go)
			w.completes = complete ? w.completes + 1 : 0;
	}
	if (w.d->capacity && w.d->capacity < w.max_reserved)
		w.d->capacity = w.max_reserved;
	frag_map_fini(&w.live);
	frag_spans_fini(&w.spans);
	free(w.lives);
	free(w.last_use);
	return good;
}

bool frag_snapshot_change(struct frag_snapshot *s, uint32_t step, const char *before,
			  const char *after)
{
	struct frag_snapshot_plan *plan;

	if (s->change) {
		plan = &s->plan[s->change_at];
		memmove(plan, plan + 1, (--s->plan_count - s->change_at) * sizeof(*plan));
	}
	free(s->change);
	free(s->first_settings);
	s->change = s->first_settings = NULL;
	if (!after)
		return true;
	FRAG_ASSERT(before && step < s->plan_count);
	s->change_at = step;
	s->first_settings = strdup(before);
	if (!s->first_settings || !FRAG_GROW(s->plan, s->plan_capacity, s->plan_count))
		return false;
	s->change = strdup(after);
	if (!s->change)
		return false;
	plan = &s->plan[step];
	memmove(plan + 1, plan, (s->plan_count++ - step) * sizeof(*plan));
	*plan = (struct frag_snapshot_plan){
		.kind = FRAG_PLAN_CONFIGURE, .device = plan[1].device,
	};
	return true;
}

static int remarks_by_time(const void *a, const void *b)
{
	const struct frag_annotation *x = a, *y = b;

	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Remarks as records, the first line: a mark comes before what happens at its time. */
static bool plan_remarks(struct frag_snapshot *s)
{
	struct walk w = { .s = s, .d = &s->devices[0] };

	FRAG_SORT(s->remarks, s->remark_count, remarks_by_time);
	for (uint32_t i = 0; i < s->remark_count; i++) {
		w.device = s->remarks[i].device;
		w.d = &s->devices[w.device];
		if (!add_record(&w, FRAG_PLAN_REMARK, i, 0))
			return false;
	}
	return true;
}

/* Records of the plan that keep their order: a device's, or the remarks. */
struct line {
	uint32_t at, end;
};

/* The line whose next record is the earliest, the first of equals; NULL: all are done. */
static struct line *earliest(const struct frag_snapshot *s, struct line *lines, uint32_t count)
{
	struct line *best = NULL;
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

/*
 * Merges the lines by time, annotations first and then one list for each device, after the
 * blocks that existed before. Of equal times the first list wins. False: out of memory.
 */
static bool merge_lines(struct frag_snapshot *s, struct line *lines, uint32_t count)
{
	struct frag_snapshot_plan *merged;
	struct line *line;
	uint32_t used = 0;

	for (uint32_t i = 0; i < count; i++)
		if (lines[i].end - lines[i].at == s->plan_count)        /* there is only one */
			return true;
	merged = malloc(((size_t)s->plan_count + 1) * sizeof(*merged));
	if (!merged)
		return false;
	for (uint32_t i = 0; i < s->device_count; i++)
		while (lines[i + 1].at < s->devices[i].plan_initial)
			merged[used++] = s->plan[lines[i + 1].at++];
	while ((line = earliest(s, lines, count)) != NULL)
		merged[used++] = s->plan[line->at++];
	free(s->plan);
	s->plan = merged;
	s->plan_capacity = s->plan_count + 1;
	return true;
}

/* A segment: where it was, and as which it came. */
struct arrival {
	uint64_t address;
	uint32_t number;
};

static int by_arrival_address(const void *a, const void *b)
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
static int order_segments(struct frag_snapshot *s)
{
	for (uint32_t i = 0; i < s->device_count; i++) {
		struct frag_snap_device *d = &s->devices[i];
		const size_t most = (size_t)d->initial_count + d->call_count + 1;
		struct arrival *all;

		if (d->any_map)
			continue;
		all = calloc(most, sizeof(*all));
		d->order = calloc(most, sizeof(*d->order));
		if (all && d->order) {
			d->order_count = find_arrivals(d, all);
			FRAG_SORT(all, d->order_count, by_arrival_address);
		}
		for (uint32_t k = 0; k < d->order_count; k++)
			d->order[all[k].number] = k;
		free(all);
		if (!all || !d->order)
			return frag_fail_nomem(s->err);
	}
	return 0;
}

/*
 * Each device's records keep the order of its log, as blocks depend on it; times
 * only interleave the devices and the annotations. One counter gives the ids of
 * all devices, as a trace knows a block by its id alone.
 */
int frag_snapshot_plan(struct frag_snapshot *s)
{
	uint64_t seed = frag_hash_seed();
	struct line *lines = calloc((size_t)s->device_count + 1, sizeof(*lines));
	uint32_t next_id = 0;
	bool good = lines != NULL;

	FRAG_ASSERT(s->err && s->initial && !s->plan);
	for (uint32_t i = 0; i < s->device_count; i++)
		for (uint32_t k = 0; k < s->devices[i].log_count; k++)
			if (s->first_time == 0 || s->devices[i].log[k].t < s->first_time)
				s->first_time = s->devices[i].log[k].t;
	for (uint32_t i = 0; i < s->remark_count; i++)
		if (s->remarks[i].t < s->first_time)
			s->first_time = s->remarks[i].t;
	if (!s->has_times)              /* there is nothing to place them by */
		s->remark_count = 0;
	good = good && plan_remarks(s);
	if (good)
		lines[0].end = s->plan_count;
	for (uint32_t i = 0; i < s->device_count && good; i++) {
		lines[i + 1].at = s->plan_count;
		good = walk_device(s, i, &next_id, seed);
		lines[i + 1].end = s->plan_count;
	}
	good = good && merge_lines(s, lines, s->device_count + 1);
	free(lines);
	return good ? order_segments(s) : frag_fail_nomem(s->err);
}

/* Places and orders stay those of the devices. */
int frag_snapshot_begin(struct frag_snapshot *s)
{
	struct frag_first_state *b = &s->beginning;
	uint32_t capacity = 0;

	*b = (struct frag_first_state){ .segments = s->initial, .segment_count = s->initial_count };
	b->orders = calloc(s->device_count, sizeof(*b->orders));
	if (!b->orders)
		return frag_fail_nomem(s->err);
	b->order_count = s->device_count;
	for (uint32_t i = 0; i < s->device_count; i++)
		b->orders[i] = (struct frag_ranks_by_address){ s->devices[i].order,
							       s->devices[i].order_count };
	for (uint32_t i = 0; i < s->plan_count; i++) {
		const struct frag_snapshot_plan *p = &s->plan[i];
		const struct frag_snap_device *d = &s->devices[p->device];

		if (p->kind != FRAG_PLAN_INITIAL || d->places[p->index].initial == UINT32_MAX)
			continue;
		if (!FRAG_GROW(b->blocks, capacity, b->block_count))
			return frag_fail_nomem(s->err);
		b->blocks[b->block_count++] = (struct frag_first_block){
			.event = i, .requested = d->first_live[p->index].requested,
			.spot = d->places[p->index],
		};
	}
	return 0;
}
