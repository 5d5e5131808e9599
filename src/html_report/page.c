/* page.c - what is kept of a run so that it can be drawn. */
#include "html_report/page.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"

/* What few steps have: apart from what all have, so that it costs them nothing. */
#define RARE __attribute__((cold, noinline))

/* The block in a slot of the trace, which becomes a rectangle when it ends. */
struct frag_page_block {
	struct frag_area area;  /* without bytes: there is none; who: its share */
	uint32_t device;
	uint32_t waits;         /* where the last one of this slot that waits is, plus 1 */
};

/* One that is freed and waits for a stream. */
struct frag_page_pending {
	struct frag_page_block block;
	frag_block handle;
	uint32_t slot;
};

/* Call when a block of the peak is freed. False: out of memory. */
static bool page_free_peak_block(struct frag_page_device *d, uint32_t share, uint64_t bytes)
{
	const uint32_t before = d->sum_capacity;
	struct frag_page_sum *sum;

	if (share >= before) {
		if (!FRAG_GROW(d->sums, d->sum_capacity, share))
			return false;
		memset(&d->sums[before], 0, (d->sum_capacity - before) * sizeof(*d->sums));
	}
	sum = &d->sums[share];
	if (sum->peak != d->peaks)
		*sum = (struct frag_page_sum){ .peak = d->peaks };
	sum->bytes += bytes;
	sum->blocks++;
	return true;
}

void frag_page_fini(struct frag_page *page)
{
	for (uint32_t i = 0; i < page->device_count; i++) {
		frag_layout_fini(&page->devices[i].layout);
		frag_areas_fini(&page->devices[i].blocks);
		frag_areas_fini(&page->devices[i].segments);
		free(page->devices[i].sums);
	}
	frag_tags_fini(&page->who.texts);
	free(page->who.of);
	free(page->who.by_number);
	frag_block_groups_fini(&page->who.shares);
	free(page->devices);
	free(page->live);
	free(page->waiting.at);
	free(page->ready.at);
}

static int do_call(struct frag_page_device *d, const struct frag_call *call, uint64_t step)
{
	struct frag_layout_place *place = frag_layout_find(&d->layout, call->ordinal);

	switch (call->kind) {
	case FRAG_CALL_NEW:
	case FRAG_CALL_NEW_RANGE:
		return place ? 0 : frag_layout_add(&d->layout, call->ordinal, call->bytes,
					      call->kind == FRAG_CALL_NEW_RANGE, step);
	case FRAG_CALL_MAP:
		return place ? frag_layout_map(place, call->offset, call->bytes, step) : 0;
	case FRAG_CALL_UNMAP:
		return place ? frag_layout_unmap(place, call->offset, call->bytes, step,
					    &d->segments) : 0;
	case FRAG_CALL_RELEASE:
	case FRAG_CALL_RELEASE_RANGE:
		break;
	}
	return place ? frag_layout_remove(&d->layout, place, step, &d->segments) : 0;
}

/* Segments that exist since before the first step. */
struct beginning {
	struct frag_page_device *d;
	const struct frag_step *step;
	struct frag_layout_place *place;       /* of a range with blocks */
	int rc;
};

static bool is_new(const struct frag_step *step, uint32_t ordinal)
{
	for (uint32_t i = 0; i < step->call_count; i++)
		if (step->calls[i].ordinal == ordinal
		    && (step->calls[i].kind == FRAG_CALL_NEW
			|| step->calls[i].kind == FRAG_CALL_NEW_RANGE))
			return true;
	return false;
}

static void page_begin_segment(struct beginning *b, const struct frag_segment_view *seg)
{
	b->place = NULL;
	if (is_new(b->step, seg->ordinal))
		return;
	b->rc = frag_layout_add(&b->d->layout, seg->ordinal, seg->bytes, seg->page != 0,
			   b->step->event->step);
	if (!b->rc && seg->page)
		b->place = frag_layout_find(&b->d->layout, seg->ordinal);
}

static void page_visit(void *ctx, const struct frag_segment_view *seg,
		       const struct frag_block_view *blk)
{
	struct beginning *b = ctx;

	if (b->rc)
		return;
	if (!blk)
		page_begin_segment(b, seg);
	else if (b->place && blk->state != FRAG_UNMAPPED)
		b->rc = frag_layout_map(b->place, blk->offset, blk->bytes, b->step->event->step);
}

/* What was mapped in this very step is seen in the heap, and comes as a call too. */
static bool has_map(const struct frag_step *step)
{
	for (uint32_t i = 0; i < step->call_count; i++)
		if (step->calls[i].kind == FRAG_CALL_MAP || step->calls[i].kind == FRAG_CALL_UNMAP)
			return true;
	return false;
}

RARE static int do_calls(struct frag_page *page, struct frag_page_device *d,
		    const struct frag_step *step)
{
	struct beginning b = { .d = d, .step = step };
	const bool done = !d->begun && has_map(step);

	if (!d->begun)
		frag_heap_walk(frag_sim_heap(page->sim, step->device), &b, page_visit);
	d->begun = true;
	for (uint32_t i = 0; i < step->call_count && !b.rc; i++) {
		const struct frag_call *call = &step->calls[i];
		const bool old = done && !is_new(step, call->ordinal);

		if (!old || (call->kind != FRAG_CALL_MAP && call->kind != FRAG_CALL_UNMAP))
			b.rc = do_call(d, call, step->event->step);
	}
	if (!b.rc && frag_areas_are_many(&d->segments))
		b.rc = frag_areas_thin(&d->segments, FRAG_AREAS_MAX, NULL, 0);
	return b.rc;
}

static void add_birth(uint64_t *births, uint32_t *n, const struct frag_page_block *b, uint32_t device)
{
	if (b->device == device && b->area.bytes)
		births[(*n)++] = b->area.birth;
}

/* Too many blocks have ended: keeps half of them. */
RARE static int thin_blocks(struct frag_page *page, uint32_t device)
{
	const struct frag_page_waits *const lists[] = { &page->waiting, &page->ready };
	const size_t room = (size_t)page->live_count + page->waiting.count + page->ready.count + 1;
	uint64_t *births = malloc(room * sizeof(*births));
	uint32_t n = 0;
	int rc;

	for (uint32_t i = 0; births && i < page->live_count; i++)
		add_birth(births, &n, &page->live[i], device);
	for (int k = 0; births && k < 2; k++)
		for (uint32_t i = 0; i < lists[k]->count; i++)
			add_birth(births, &n, &lists[k]->at[i].block, device);
	rc = births ? frag_areas_thin(&page->devices[device].blocks, FRAG_AREAS_MAX, births, n) : -FRAG_ENOMEM;
	free(births);
	return rc;
}

static inline int page_end_block(struct frag_page *page, struct frag_page_block *b, uint64_t step)
{
	struct frag_page_device *d = &page->devices[b->device];
	int rc;

	b->area.end = step;
	page->who.of[page->who.shares.of[b->area.who].tag].live--;
	if (b->area.birth <= d->peak.step
	    && !page_free_peak_block(d, b->area.who, b->area.bytes))
		return -FRAG_ENOMEM;
	rc = frag_areas_add(&d->blocks, &b->area);
	return !rc && frag_areas_are_many(&d->blocks) ? thin_blocks(page, b->device) : rc;
}

static int page_begin_block(struct frag_page *page, const struct frag_step *step)
{
	const struct frag_event *ev = step->event;
	const struct frag_layout_place *place;
	struct frag_page_block *b;

	if (ev->slot >= page->live_count
	    && !FRAG_EXTEND(page->live, page->live_capacity, page->live_count, ev->slot))
		return -FRAG_ENOMEM;
	b = &page->live[ev->slot];
	b->area.bytes = 0;
	place = frag_layout_find(&page->devices[step->device].layout, step->segment);
	if (!step->placed || !ev->bytes || !place)
		return 0;
	b->area.birth = ev->step;
	b->area.y = place->y + step->offset;
	b->area.bytes = step->bytes;
	b->area.lane = place->lane;
	b->area.who = frag_page_begin_share(&page->who, ev->tag, step->stack);
	b->device = step->device;
	return b->area.who == UINT32_MAX ? -FRAG_ENOMEM : 0;
}

static bool page_push(struct frag_page_waits *list, const struct frag_page_pending *p)
{
	if (!FRAG_GROW(list->at, list->capacity, list->count))
		return false;
	list->at[list->count++] = *p;
	return true;
}

RARE static int defer_block(struct frag_page *page, const struct frag_page_block *b,
		       const struct frag_event *ev)
{
	struct frag_page_pending p = {
		.block = *b, .handle = frag_sim_block(page->sim, ev->slot), .slot = ev->slot,
	};

	page->live[ev->slot].waits = page->waiting.count + 1;
	page->devices[b->device].pending += b->area.bytes;
	return page_push(&page->waiting, &p) ? 0 : -FRAG_ENOMEM;
}

/* Moves blocks whose pending free ends here to the ready list; the last one fills the gap. */
static int note_ended(struct frag_page *page, const struct frag_step *step)
{
	const struct frag_event *ev = step->event;
	struct frag_page_waits *w = &page->waiting;

	for (uint32_t i = 0; i < ev->ended_count; i++) {
		const uint32_t slot = ev->ended[i].slot;
		const uint32_t at = (slot < page->live_count ? page->live[slot].waits : 0) - 1;

		if (at >= w->count || w->at[at].slot != slot
		    || w->at[at].block.device != step->device)
			continue;
		if (!page_push(&page->ready, &w->at[at]))
			return -FRAG_ENOMEM;
		w->at[at] = w->at[--w->count];
		page->live[w->at[at].slot].waits = at + 1;
	}
	return 0;
}

static int free_block(struct frag_page *page, const struct frag_event *ev)
{
	struct frag_page_block *b = &page->live[ev->slot];
	int rc;

	if (ev->slot >= page->live_count || !b->area.bytes)
		return 0;
	b->area.freed = ev->step;
	rc = ev->waits ? defer_block(page, b, ev) : page_end_block(page, b, ev->step);
	b->area.bytes = 0;
	return rc;
}

/* Those of the list that the heap has no more. */
static int end_of_list(struct frag_page *page, struct frag_page_waits *list,
		       const struct frag_step *step)
{
	const struct frag_heap *heap = frag_sim_heap(page->sim, step->device);
	uint32_t kept = 0;
	int rc = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		struct frag_page_pending p = list->at[i];

		if (rc || p.block.device != step->device
		    || frag_heap_is_pending(heap, p.handle, p.slot)) {
			if (list == &page->waiting)
				page->live[p.slot].waits = kept + 1;
			list->at[kept++] = p;
			continue;
		}
		page->devices[step->device].pending -= p.block.area.bytes;
		rc = page_end_block(page, &p.block, step->event->step);
	}
	list->count = kept;
	return rc;
}

/*
 * A policy may end what is pending before the trace does, or after: it is searched for where the
 * heap has not as many bytes of it as are known here.
 */
RARE static int end_some(struct frag_page *page, struct frag_page_device *d,
		    const struct frag_step *step, uint64_t pending)
{
	int rc = step->event->ended_count ? note_ended(page, step) : 0;

	if (!rc && pending != d->pending)
		rc = end_of_list(page, &page->ready, step);
	if (!rc && pending != d->pending)
		rc = end_of_list(page, &page->waiting, step);
	return rc;
}

/* Takes what is around a moment, once there is as much behind as there is before it. */
static void take_window(struct frag_page_device *d, struct frag_page_moment *m, bool last)
{
	const uint64_t due = m->window.seen + FRAG_PAGE_STEPS_MAX / 2;

	if (m->window.taken)
		return;
	if (last || d->recent.seen >= due)
		frag_window_take(&m->window, &d->recent);
	else if (due < d->window_due)
		d->window_due = due;
}

RARE static void page_take_windows(struct frag_page_device *d, bool last)
{
	d->window_due = UINT64_MAX;
	take_window(d, &d->peak, last);
	take_window(d, &d->worst, last);
	take_window(d, &d->look, last);
	for (uint32_t i = 0; i < d->oom_count; i++)
		take_window(d, &d->ooms[i], last);
}

/* Steps are counted so that each has as many behind it as before it. */
static void begin_window(struct frag_page_device *d, struct frag_page_moment *m)
{
	m->window.seen = d->recent.seen;
	m->window.taken = false;
	take_window(d, m, false);
}

static void add_holder(struct frag_page_share *held, const struct frag_page_block *b,
		       uint32_t device, uint64_t born_by)
{
	if (b->device != device || !b->area.bytes || b->area.birth > born_by)
		return;
	held[b->area.who].bytes += b->area.bytes;
	held[b->area.who].blocks++;
}

/* Live bytes by share, now or at the peak; owned by the caller. NULL: out of memory. */
static struct frag_page_share *holders(const struct frag_page *page, uint32_t device, bool at_peak)
{
	const struct frag_page_waits *const lists[] = { &page->waiting, &page->ready };
	const struct frag_page_device *d = &page->devices[device];
	const uint64_t born_by = at_peak ? d->peak.step : UINT64_MAX;
	struct frag_page_share *held = calloc((size_t)page->who.shares.count + 1, sizeof(*held));

	if (!held)
		return NULL;
	for (uint32_t i = 0; i < page->live_count; i++)
		add_holder(held, &page->live[i], device, born_by);
	for (int k = 0; k < 2; k++)
		for (uint32_t i = 0; i < lists[k]->count; i++)
			add_holder(held, &lists[k]->at[i].block, device, born_by);
	for (uint32_t i = 0; at_peak && i < page->who.shares.count && i < d->sum_capacity; i++)
		if (d->sums[i].peak == d->peaks) {
			held[i].bytes += d->sums[i].bytes;
			held[i].blocks += d->sums[i].blocks;
		}
	return held;
}

static int page_by_bytes(const void *a, const void *b)
{
	const struct frag_page_share *x = a, *y = b;

	return frag_order_two(y->bytes, x->bytes, x->share, y->share);
}

/* Sets the largest shares of the moment, and the sum of all others. */
static int note_holders(const struct frag_page *page, uint32_t device, struct frag_page_moment *m)
{
	struct frag_page_share *held = holders(page, device, m == &page->devices[device].peak);
	uint32_t n = 0;

	if (!held)
		return -FRAG_ENOMEM;
	for (uint32_t i = 0; i < page->who.shares.count; i++)
		if (held[i].blocks)
			held[n++] = (struct frag_page_share){ i, held[i].bytes, held[i].blocks };
	FRAG_SORT(held, n, page_by_bytes);
	m->rest_bytes = m->rest_blocks = 0;
	for (uint32_t i = FRAG_PAGE_HOLDERS_MAX; i < n; i++) {
		m->rest_bytes += held[i].bytes;
		m->rest_blocks += held[i].blocks;
	}
	m->share_count = n < FRAG_PAGE_HOLDERS_MAX ? n : FRAG_PAGE_HOLDERS_MAX;
	memcpy(m->shares, held, m->share_count * sizeof(*held));
	free(held);
	return 0;
}

RARE static int page_note_oom(struct frag_page *page, struct frag_page_device *d,
			      const struct frag_step *step)
{
	struct frag_page_moment *m = &d->ooms[d->oom_count];

	if (d->oom_count == FRAG_PAGE_OOMS_MAX)
		return 0;
	d->oom_count++;
	m->step = step->event->step;
	begin_window(d, m);
	return note_holders(page, step->device, m);
}

/* At the last step that was seen, as the next two. */
RARE static void note_worst(struct frag_page_device *d, uint64_t non_releasable)
{
	d->non_releasable = non_releasable;
	d->worst.step = d->end - 1;
	begin_window(d, &d->worst);
}

RARE static int note_look(struct frag_page *page, struct frag_page_device *d)
{
	d->has_look = true;
	d->look.step = d->end - 1;
	begin_window(d, &d->look);
	return note_holders(page, (uint32_t)(d - page->devices), &d->look);
}

RARE static void page_note_peak(struct frag_page_device *d, uint64_t reserved, uint64_t allocated)
{
	d->highest[0] = reserved;
	d->highest[1] = allocated;
	d->peak.step = d->end - 1;
	begin_window(d, &d->peak);
	d->peaks++;
}

/* The peak is where the most is reserved, and of those steps where the most is allocated. */
static int note_step(struct frag_page *page, struct frag_page_device *d,
		     const struct frag_step *step)
{
	const struct frag_metrics *m = step->metrics;
	const uint64_t now = step->event->step;
	const uint64_t reserved = m->reserved, allocated = m->allocated;
	const uint64_t at[FRAG_LINE_FIGURES] = {
		reserved, allocated, m->requested, m->non_releasable,
	};

	frag_window_add(&d->recent, now, at);
	frag_line_add(&d->line, now, at);
	d->end = now + 1;
	if (reserved >= d->highest[0] && (reserved > d->highest[0] || allocated > d->highest[1]))
		page_note_peak(d, reserved, allocated);
	if (allocated > d->most_allocated) {
		d->most_allocated = allocated;
		d->live_step = now;
	}
	if (m->non_releasable > d->non_releasable)
		note_worst(d, m->non_releasable);
	if (d->recent.seen >= d->window_due)
		page_take_windows(d, false);
	if (now == page->look && note_look(page, d))
		return -FRAG_ENOMEM;
	return step->status == FRAG_STEP_OOM ? page_note_oom(page, d, step) : 0;
}

/* Blocks go before the segments that they were in, and come after them. */
static int page_observe(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	struct frag_page *page = ctx;
	struct frag_page_device *d = &page->devices[step->device];
	const struct frag_event *ev = step->event;
	const uint64_t pending = step->metrics->active - step->metrics->allocated;
	int rc = 0;

	if (!d->begun || step->call_count)
		rc = do_calls(page, d, step);
	if (!rc && ev->op == FRAG_OP_ALLOC)
		rc = page_begin_block(page, step);
	else if (!rc && ev->op == FRAG_OP_FREE && step->status != FRAG_STEP_SKIPPED)
		rc = free_block(page, ev);
	if (!rc && (ev->ended_count || pending != d->pending))
		rc = end_some(page, d, step, pending);
	rc = rc ? rc : note_step(page, d, step);
	return rc ? frag_fail_nomem(err) : 0;
}

int frag_page_init(struct frag_page *page, struct frag_sim *sim, struct frag_error *err)
{
	const struct frag_observer watch = { .step = page_observe, .ctx = page };
	const uint32_t devices = frag_sim_devices(sim)->count;
	struct frag_page_tags *t = &page->who;

	*page = (struct frag_page){
		.sim = sim, .look = UINT64_MAX, .who.symbols = frag_sim_symbols(sim),
		.devices = calloc(devices, sizeof(*page->devices)),
	};
	page->device_count = page->devices ? devices : 0;
	if (!page->devices || !frag_tags_init(&t->texts, frag_hash_seed())
	    || !frag_block_groups_init(&t->shares)
	    || !FRAG_EXTEND(t->of, t->capacity, t->count, FRAG_TAG_OTHERS))
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < devices; i++)
		if (frag_layout_init(&page->devices[i].layout))
			return frag_fail_nomem(err);
	return frag_sim_observe(sim, &watch) ? frag_fail_nomem(err) : 0;
}

static int end_device(struct frag_page *page, struct frag_page_device *d)
{
	int rc = 0;

	for (uint32_t i = 0; i < d->layout.place_count && !rc; i++)
		if (d->layout.places[i].used)
			rc = frag_layout_unmap(&d->layout.places[i], 0, UINT64_MAX, d->end,
					  &d->segments);
	page_take_windows(d, true);
	frag_line_fill(&d->line);
	return rc ? rc : note_holders(page, (uint32_t)(d - page->devices), &d->peak);
}

/* Lanes one above the other, each at a whole row of the raster. */
static void lay_lanes(struct frag_page_device *d, uint64_t *height)
{
	const uint32_t shift = d->blocks.row_shift > d->segments.row_shift ? d->blocks.row_shift
									    : d->segments.row_shift;
	uint64_t base = 0;

	for (uint32_t i = 0; i < d->segments.lane_count; i++) {
		struct frag_lane *lane = &d->segments.lanes[i];

		lane->base = base;
		base += lane->height ? (((lane->height - 1) >> shift) + 1) << shift : 0;
		if (i < d->blocks.lane_count)
			d->blocks.lanes[i].base = lane->base;
	}
	*height = base;
}

int frag_page_keep(struct frag_page *page, uint32_t max, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < page->device_count && !rc; i++) {
		struct frag_page_device *d = &page->devices[i];

		rc = frag_areas_end(&d->blocks, max);
		rc = rc ? rc : frag_areas_end(&d->segments, max / 4 + 1);
		lay_lanes(d, &d->height);
	}
	return rc ? frag_fail_nomem(err) : 0;
}

int frag_page_end(struct frag_page *page, struct frag_error *err)
{
	const struct frag_page_waits *const lists[] = { &page->waiting, &page->ready };
	int rc = 0;

	for (uint32_t i = 0; i < page->device_count && !rc; i++)
		rc = end_device(page, &page->devices[i]);
	for (uint32_t i = 0; i < page->live_count && !rc; i++) {
		struct frag_page_block *b = &page->live[i];

		b->area.freed = page->devices[b->device].end;
		if (b->area.bytes)
			rc = page_end_block(page, b, b->area.freed);
	}
	for (int k = 0; k < 2; k++)
		for (uint32_t i = 0; i < lists[k]->count && !rc; i++) {
			struct frag_page_block *b = &lists[k]->at[i].block;

			rc = page_end_block(page, b, page->devices[b->device].end);
		}
	return rc ? frag_fail_nomem(err) : frag_page_keep(page, 2 * FRAG_AREAS_MAX, err);
}
