/* tape_device.c - the part of a tape that concerns one device. */

#include <stdlib.h>
#include <string.h>

#include "events/tape.h"

#define GONE UINT32_MAX

/* The tape that is made, and which number an alloc of the whole tape has there. */
struct part {
	const struct frag_tape *from;
	struct frag_tape *to;
	uint32_t *alloc_of;
	uint32_t allocs;    /* of the whole tape, so far */
	uint32_t rare, gap; /* likewise */
	uint64_t skipped;   /* steps of the whole tape ahead of its numbers */
};

/* Allocates each array for the events of this device. */
static bool make_room(struct part *p, uint32_t events, uint32_t rare)
{
	const struct frag_tape *from = p->from;
	struct frag_tape *t = p->to;
	const size_t room = (size_t)events + 1;

	t->events = malloc(room * sizeof(*t->events));
	t->ids = malloc(room * sizeof(*t->ids));
	t->times = from->times ? malloc(room * sizeof(*t->times)) : NULL;
	t->gaps = malloc(room * sizeof(*t->gaps));
	t->rare = malloc(((size_t)rare + 1) * sizeof(*t->rare));
	t->sites = malloc(((size_t)from->site_count + 1) * sizeof(*t->sites));
	t->allocs_before = malloc((room / FRAG_TAPE_STRIDE + 1) * sizeof(*t->allocs_before));
	p->alloc_of = malloc(((size_t)from->alloc_count + 1) * sizeof(*p->alloc_of));
	return t->events && t->ids && (t->times || !from->times) && t->gaps && t->rare && t->sites
	       && t->allocs_before && p->alloc_of;
}

static bool tape_device_concerns(const struct frag_tape *t, uint32_t event, uint32_t device)
{
	const uint32_t of = t->sites[t->events[event].site].device;

	return of == device || of == FRAG_ALL;
}

static void tape_device_add_gap(struct frag_tape *t, uint64_t step)
{
	const struct frag_tape_gap *last = t->gap_count ? &t->gaps[t->gap_count - 1] : NULL;

	if (!last || last->step + (t->count - last->event) != step)
		t->gaps[t->gap_count++] = (struct frag_tape_gap){ .event = t->count, .step = step };
}

/* Appends the i-th event of the whole tape; gaps and rare parts refer to it by t->count. */
static void tape_device_add_event(struct part *p, uint32_t i)
{
	struct frag_tape *t = p->to;
	struct frag_tape_event e = p->from->events[i];
	const uint64_t low = (UINT64_C(1) << FRAG_TAPE_VALUE_SHIFT) - 1;

	if (t->count % FRAG_TAPE_STRIDE == 0)
		t->allocs_before[t->count / FRAG_TAPE_STRIDE] = t->alloc_count;
	tape_device_add_gap(t, i + p->skipped);
	if (frag_tape_is_alloc(&e)) {
		p->alloc_of[p->allocs] = t->alloc_count;
		t->ids[t->alloc_count++] = p->from->ids[p->allocs];
	} else if (p->from->sites[e.site].members & FRAG_HAS_ID) {
		e.word = (e.word & low)
			 | (uint64_t)p->alloc_of[e.word >> FRAG_TAPE_VALUE_SHIFT]
				   << FRAG_TAPE_VALUE_SHIFT;
	}
	if (e.word & FRAG_TAPE_RARE) {
		t->rare[t->rare_count] = p->from->rare[p->rare];
		t->rare[t->rare_count++].event = t->count;
	}
	if (t->times)
		t->times[t->count] = p->from->times[i];
	t->events[t->count++] = e;
}

static void copy_events(struct part *p, uint32_t device)
{
	const struct frag_tape *from = p->from;

	for (uint32_t i = 0; i < from->count; i++) {
		const struct frag_tape_event *e = &from->events[i];

		if (p->gap < from->gap_count && from->gaps[p->gap].event == i) {
			p->skipped = from->gaps[p->gap].step - i;
			p->gap++;
		}
		if (tape_device_concerns(from, i, device))
			tape_device_add_event(p, i);
		p->allocs += frag_tape_is_alloc(e);
		p->rare += (e->word & FRAG_TAPE_RARE) != 0;
	}
	memcpy(p->to->sites, from->sites, from->site_count * sizeof(*from->sites));
	for (uint32_t i = 0; i < from->site_count; i++)
		if (p->to->sites[i].device != FRAG_ALL)
			p->to->sites[i].device = 0;
	p->to->site_count = from->site_count;
}

/* Returns a tape that shares texts and tags with the whole one, and has no events yet. */
static struct frag_tape *tape_device_begin(const struct frag_tape *from, uint32_t device)
{
	const struct frag_trace_info *info = frag_tape_info(from);
	struct frag_tape *t = malloc(sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct frag_tape){
		.trace = from->trace,
		.symbols = from->symbols,
		.ended = from->ended,
		.ended_count = from->ended_count,
		.texts = from->texts,
		.text_bytes = from->text_bytes,
		.tags = from->tags,
		.info = *info,
		.part = true,
		.device = device,
	};
	t->symbols.of = t;
	t->info.devices = info->devices + device;
	t->info.device_count = 1;
	return t;
}

uint32_t frag_tape_first_device(const struct frag_tape *tape)
{
	return tape->part ? tape->device : 0;
}

/* Counts the events of the device first, so that each table is allocated once. */
int frag_tape_of_device(struct frag_tape **out, const struct frag_tape *from, uint32_t device,
			struct frag_error *err)
{
	struct part p = { .from = from };
	uint32_t events = 0, rare = 0;

	*out = NULL;
	if (frag_tape_info(from)->device_count == 1 || from->symbols.initial_count
	    || from->spot_count)
		return 0;
	for (uint32_t i = 0; i < from->count; i++)
		if (tape_device_concerns(from, i, device)) {
			events++;
			rare += (from->events[i].word & FRAG_TAPE_RARE) != 0;
		}
	p.to = tape_device_begin(from, device);
	if (p.to && make_room(&p, events, rare)) {
		copy_events(&p, device);
		p.to->info.events = p.to->count;
		*out = p.to;
	} else {
		frag_tape_del(p.to);
	}
	free(p.alloc_of);
	return *out ? 0 : frag_fail_nomem(err);
}
