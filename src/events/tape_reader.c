/* tape_reader.c - a place on a tape, and the events from there on. */
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "events/tape.h"

struct frag_tape_reader *frag_tape_reader_new(const struct frag_tape *tape)
{
	struct frag_tape_reader *r = malloc(sizeof(*r));

	if (r) {
		r->tape = tape;
		frag_tape_seek(r, 0);
	}
	return r;
}

void frag_tape_reader_del(struct frag_tape_reader *r)
{
	free(r);
}

/* The first rare event at or after the place. */
static uint32_t find_rare(const struct frag_tape *t, uint32_t event)
{
	uint32_t low = 0, high = t->rare_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (t->rare[middle].event < event)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void take_gap(struct frag_tape_reader *r)
{
	const struct frag_tape_gap *gap = &r->tape->gaps[r->next_gap++];

	r->skipped = gap->step - gap->event;
}

void frag_tape_seek(struct frag_tape_reader *r, uint64_t event)
{
	const struct frag_tape *t = r->tape;
	const uint32_t to = event < t->count ? (uint32_t)event : t->count;
	uint32_t i = to / FRAG_TAPE_STRIDE * FRAG_TAPE_STRIDE;

	r->next = to;
	r->next_rare = find_rare(t, to);
	r->next_alloc = i < t->count ? t->allocs_before[i / FRAG_TAPE_STRIDE] : t->alloc_count;
	for (; i < to; i++)
		r->next_alloc += frag_tape_is_alloc(&t->events[i]);
	r->skipped = 0;
	for (r->next_gap = 0; r->next_gap < t->gap_count && t->gaps[r->next_gap].event < to;)
		take_gap(r);
}

uint64_t frag_tape_at(const struct frag_tape_reader *r)
{
	return r->next;
}

static struct frag_handle id_of(const struct frag_tape *t, uint64_t alloc)
{
	uint64_t id = t->ids[alloc], length;
	const char *text;

	if (!(id & FRAG_TAPE_TEXT_ID))
		return (struct frag_handle){ .number = id };
	text = t->texts + (id & ~FRAG_TAPE_TEXT_ID);
	memcpy(&length, text, sizeof(length));
	return (struct frag_handle){ .text = text + sizeof(length), .number = length };
}

static void read_rare(struct frag_tape_reader *r, struct frag_event *ev)
{
	const struct frag_tape *t = r->tape;
	const struct frag_tape_rare *rare = &t->rare[r->next_rare++];

	ev->fraction = rare->fraction;
	ev->ended_count = rare->ended_count;
	if (rare->ended_count)
		ev->ended = &t->ended[rare->ended];
	if (rare->text.text)
		ev->text = frag_tape_text(t->texts, rare);
}

/* What few events have. One by one: of a literal of so many bytes GCC makes a slow `rep stos`. */
static inline void clear_rest(struct frag_event *ev)
{
	ev->bytes = 0;
	ev->ended_count = 0;
	ev->ended = NULL;
	ev->id = (struct frag_handle){ .text = NULL };
	ev->text = ev->t_text = (struct frag_text){ .text = NULL };
	ev->t = ev->fraction = 0;
	ev->place = NULL;
}

/* Decodes the next event to the i-th of the batch. */
static inline void tape_reader_read_event(struct frag_tape_reader *r, uint32_t i)
{
	const struct frag_tape *t = r->tape;
	const struct frag_tape_event *from = &t->events[r->next];
	const struct frag_tape_site *site = &t->sites[from->site];
	struct frag_event *ev = &r->events[i];
	const uint64_t value = from->word >> FRAG_TAPE_VALUE_SHIFT;

	if (r->next_gap < t->gap_count && t->gaps[r->next_gap].event == r->next)
		take_gap(r);
	ev->step = r->next + r->skipped;
	ev->slot = from->slot;
	ev->waits = from->word & FRAG_TAPE_WAITS;
	ev->op = (uint8_t)frag_tape_op(from);
	ev->device = site->device;
	ev->stream = site->stream;
	ev->pool = site->pool;
	ev->stream_order = site->stream_order;
	ev->tag = site->tag;
	ev->members = site->members;
	r->stacks[i] = site->stack;
	clear_rest(ev);
	if (frag_tape_is_alloc(from)) {
		const uint32_t alloc = r->next_alloc++;

		ev->bytes = value;
		ev->id = id_of(t, alloc);
		if (alloc < t->spot_count && t->spots[alloc].initial != UINT32_MAX)
			ev->place = &t->spots[alloc];
	} else if (ev->members & FRAG_HAS_ID) {
		ev->id = id_of(t, value);
	}
	if (ev->members & FRAG_HAS_T)
		ev->t = t->times[r->next];
	if (from->word & FRAG_TAPE_RARE)
		read_rare(r, ev);
	r->next++;
}

void frag_tape_next(struct frag_tape_reader *r, uint64_t until, struct frag_batch *batch)
{
	const uint32_t end = until < r->tape->count ? (uint32_t)until : r->tape->count;
	uint32_t count = 0;

	FRAG_ASSERT(r->next <= r->tape->count);
	while (count < FRAG_TAPE_BATCH && r->next < end)
		tape_reader_read_event(r, count++);
	*batch = (struct frag_batch){
		.events = r->events, .count = count, .stacks = r->stacks,
	};
}
