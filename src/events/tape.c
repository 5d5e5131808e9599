/* tape.c - a trace onto a tape. */
#include "events/tape.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "events/resolve.h"

_Static_assert(FRAG_OPS <= 1 << FRAG_TAPE_OP_BITS, "an operation must fit its bits");

/* The state while the tape is written. */
struct frag_tape_writer {
	struct frag_tape *tape;         /* NULL: it became too large, and was given up */
	uint64_t max;                   /* bytes that it may take; 0: any number */
	struct frag_map sites;          /* hash of a site -> its number */
	uint32_t recent;                /* the site of the event before: often this one's too */
	uint32_t *alloc_of;             /* by slot: the number of the alloc that has it */
	uint32_t slot_capacity;
};

static bool same_site(const struct frag_tape_site *a, const struct frag_tape_site *b)
{
	return a->tag == b->tag && a->stack == b->stack && a->device == b->device
	       && a->stream == b->stream && a->pool == b->pool && a->members == b->members
	       && a->stream_order == b->stream_order && a->whole == b->whole;
}

static uint64_t hash_site(const struct frag_tape_site *s, uint64_t seed)
{
	uint64_t h = frag_hash_key((uint64_t)s->tag << 32 | s->stack, seed);

	h = frag_hash_mix(h ^ ((uint64_t)s->device << 32 | s->stream));
	h = frag_hash_mix(h ^ ((uint64_t)s->pool << 32 | s->members));
	h = frag_hash_mix(h ^ s->whole);
	return frag_hash_mix(h ^ s->stream_order);
}

/* The site's number, made when new; UINT32_MAX where the host is out of memory. */
static uint32_t intern_site(struct frag_tape_writer *w, const struct frag_tape_site *site)
{
	struct frag_tape *t = w->tape;
	const uint64_t hash = hash_site(site, w->sites.seed);
	uint32_t at, i;

	if (w->recent < t->site_count && same_site(&t->sites[w->recent], site))
		return w->recent;
	at = frag_map_home(&w->sites, hash);
	while ((i = frag_map_next(&w->sites, hash, &at)) != FRAG_MAP_NONE)
		if (same_site(&t->sites[i], site))
			return w->recent = i;
	if (!FRAG_GROW(t->sites, t->site_capacity, t->site_count)
	    || !frag_map_add(&w->sites, hash, t->site_count))
		return UINT32_MAX;
	t->sites[t->site_count] = *site;
	return w->recent = t->site_count++;
}

static bool tape_add_text(struct frag_tape *t, const char *text, uint64_t length)
{
	if (!frag_grow(&t->texts, &t->text_capacity, t->text_bytes + length, 1))
		return false;
	if (length)
		memcpy(t->texts + t->text_bytes, text, (size_t)length);
	t->text_bytes += (uint32_t)length;
	return true;
}

/* Ids that count up from the first one on are not stored. */
static bool tape_add_id(struct frag_tape *t, uint64_t id)
{
	const bool stored = t->ids;

	if (!t->alloc_count)
		t->first_id = id;
	if (!stored && id == t->first_id + t->alloc_count)
		return true;
	if (!FRAG_GROW(t->ids, t->alloc_capacity, t->alloc_count))
		return false;
	for (uint32_t i = 0; i < t->alloc_count && !stored; i++)
		t->ids[i] = t->first_id + i;
	t->ids[t->alloc_count] = id;
	return true;
}

/* A new alloc's id, and where it is if the trace begins with it. */
static bool tape_add_alloc(struct frag_tape_writer *w, const struct frag_event *ev)
{
	struct frag_tape *t = w->tape;
	uint64_t id = ev->id.number;

	if (!FRAG_GROW(w->alloc_of, w->slot_capacity, ev->slot))
		return false;
	if (ev->id.text) {
		id = FRAG_TAPE_TEXT_ID | t->text_bytes;
		if (!tape_add_text(t, (const char *)&ev->id.number, sizeof(ev->id.number))
		    || !tape_add_text(t, ev->id.text, ev->id.number))
			return false;
	}
	if (ev->place) {
		if (!FRAG_GROW(t->spots, t->spot_capacity, t->alloc_count))
			return false;
		/* initial blocks come first, but some of them may have no place */
		while (t->spot_count < t->alloc_count)
			t->spots[t->spot_count++] = (struct frag_spot){ .initial = UINT32_MAX };
		t->spots[t->spot_count++] = *ev->place;
	}
	if (!tape_add_id(t, id))
		return false;
	w->alloc_of[ev->slot] = t->alloc_count++;
	return true;
}

static bool add_rare(struct frag_tape *t, const struct frag_event *ev)
{
	struct frag_tape_rare *r;

	FRAG_ASSERT(ev->ended || !ev->ended_count);
	if (!FRAG_GROW(t->rare, t->rare_capacity, t->rare_count)
	    || !frag_grow(&t->ended, &t->ended_capacity,
			  (uint64_t)t->ended_count + ev->ended_count, sizeof(*t->ended)))
		return false;
	r = &t->rare[t->rare_count++];
	*r = (struct frag_tape_rare){
		.event = t->count, .ended = t->ended_count, .ended_count = ev->ended_count,
		.text = ev->text, .text_at = t->text_bytes, .fraction = ev->fraction,
	};
	for (uint32_t i = 0; i < ev->ended_count; i++)
		t->ended[t->ended_count++] = ev->ended[i];
	return !ev->text.text || tape_add_text(t, ev->text.text, ev->text.length);
}

static bool is_rare(const struct frag_event *ev)
{
	return ev->ended_count || ev->op == FRAG_OP_MARK || ev->op == FRAG_OP_CONFIGURE
	       || ev->op == FRAG_OP_SET_FRACTION;
}

/* Times are indexed by event, so those before the first that has one are 0. */
static bool add_time(struct frag_tape *t, const struct frag_event *ev)
{
	uint32_t had = t->times ? t->count : 0;

	if (!(ev->members & FRAG_HAS_T) && !t->times)
		return true;
	if (!FRAG_GROW(t->times, t->time_capacity, t->count))
		return false;
	for (; had < t->count; had++)
		t->times[had] = 0;
	t->times[t->count] = ev->members & FRAG_HAS_T ? ev->t : 0;
	return true;
}

/* Skipped events keep their number: a gap. */
static bool tape_add_gap(struct frag_tape *t, uint64_t step)
{
	const struct frag_tape_gap *last = t->gap_count ? &t->gaps[t->gap_count - 1] : NULL;

	if (last && last->step + (t->count - last->event) == step)
		return true;
	if (!FRAG_GROW(t->gaps, t->gap_capacity, t->gap_count))
		return false;
	t->gaps[t->gap_count++] = (struct frag_tape_gap){ .event = t->count, .step = step };
	return true;
}

static bool add_stride(struct frag_tape *t)
{
	const uint32_t i = t->count / FRAG_TAPE_STRIDE;

	if (t->count % FRAG_TAPE_STRIDE)
		return true;
	if (!FRAG_GROW(t->allocs_before, t->stride_capacity, i))
		return false;
	t->allocs_before[i] = t->alloc_count;
	return true;
}

/*
 * The other lists refer to this event by t->count, so the count grows last. Nothing is undone
 * where the host is out of memory, as the tape is then deleted.
 */
static bool tape_add_event(struct frag_tape_writer *w, const struct frag_event *ev, uint32_t stack,
			   uint32_t whole, uint32_t tag)
{
	struct frag_tape *t = w->tape;
	const struct frag_tape_site site = {
		.tag = tag, .stack = stack, .device = ev->device, .stream = ev->stream, .pool = ev->pool,
		.members = ev->members, .stream_order = ev->stream_order, .whole = whole,
	};
	uint64_t word = ev->op | (ev->waits ? FRAG_TAPE_WAITS : 0), value = 0;

	if (ev->op == FRAG_OP_ALLOC)
		value = ev->bytes;
	else if (ev->members & FRAG_HAS_ID)
		value = w->alloc_of[ev->slot];
	FRAG_ASSERT(value >> 53 == 0);
	word |= value << FRAG_TAPE_VALUE_SHIFT;
	if (!add_stride(t) || (ev->op == FRAG_OP_ALLOC && !tape_add_alloc(w, ev))
	    || !tape_add_gap(t, ev->step) || !add_time(t, ev))
		return false;
	if (is_rare(ev)) {
		word |= FRAG_TAPE_RARE;
		if (!add_rare(t, ev))
			return false;
	}
	if (!FRAG_GROW(t->events, t->capacity, t->count))
		return false;
	t->events[t->count] = (struct frag_tape_event){
		.word = word, .slot = ev->slot, .site = intern_site(w, &site),
	};
	return t->events[t->count++].site != UINT32_MAX;
}

static int add_batch(struct frag_tape_writer *w, const struct frag_batch *batch,
		     const struct frag_symbols *symbols, struct frag_error *err)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		const struct frag_event *ev = &batch->events[i];
		uint32_t tag = 0;

		if ((ev->tag && !frag_tags_acquire(&w->tape->tags,
						   frag_symbols_tag(symbols, ev->tag), &tag))
		    || !tape_add_event(w, ev, batch->stacks ? batch->stacks[i] : 0,
				       batch->whole ? batch->whole[i] : 0, tag))
			return frag_fail_nomem(err);
	}
	return 0;
}

/* Releases the unused capacity of an array. */
static void tape_trim(void *array, uint32_t count, size_t size)
{
	void *from, *less;

	memcpy(&from, array, sizeof(from));
	less = count ? realloc(from, count * size) : NULL;
	if (less)
		memcpy(array, &less, sizeof(less));
}

static struct frag_text tape_tag_text(const void *of, uint32_t tag)
{
	return frag_tag_text(&((const struct frag_tape *)of)->tags, tag);
}

static bool tape_stack_frame(const void *of, uint64_t *at, struct frag_frame *frame)
{
	return frag_symbols_frame(frag_trace_symbols(((const struct frag_tape *)of)->trace), at, frame);
}

static bool tape_whole_frame(const void *of, uint64_t *at, struct frag_frame *frame)
{
	return frag_symbols_whole(frag_trace_symbols(((const struct frag_tape *)of)->trace), at, frame);
}

static struct frag_tape *tape_make(const struct frag_trace *trace)
{
	struct frag_tape *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->trace = trace;
	t->symbols = *frag_trace_symbols(trace);
	t->symbols.of = t;
	t->symbols.tag = tape_tag_text;
	t->symbols.frame = tape_stack_frame;
	t->symbols.whole = tape_whole_frame;
	if (frag_tags_init(&t->tags, frag_hash_seed()))
		return t;
	frag_tape_del(t);
	return NULL;
}

struct frag_tape_writer *frag_tape_writer_new(const struct frag_trace *trace, uint64_t max)
{
	struct frag_tape_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->max = max;
	w->tape = tape_make(trace);
	if (w->tape && frag_map_init(&w->sites, frag_hash_seed()))
		return w;
	frag_tape_writer_del(w);
	return NULL;
}

void frag_tape_writer_del(struct frag_tape_writer *w)
{
	if (!w)
		return;
	frag_tape_del(w->tape);
	frag_map_fini(&w->sites);
	free(w->alloc_of);
	free(w);
}

int frag_tape_write(struct frag_tape_writer *w, const struct frag_batch *batch,
		    struct frag_error *err)
{
	int rc;

	if (!w->tape)
		return 0;
	rc = add_batch(w, batch, frag_trace_symbols(w->tape->trace), err);
	if (!rc && w->max && frag_tape_bytes(w->tape) > w->max) {
		frag_tape_del(w->tape);
		w->tape = NULL;
	}
	return rc;
}

struct frag_tape *frag_tape_finish(struct frag_tape_writer *w)
{
	struct frag_tape *tape = w->tape;

	w->tape = NULL;
	if (!tape)
		return NULL;
	tape_trim(&tape->events, tape->count, sizeof(*tape->events));
	tape_trim(&tape->ids, tape->ids ? tape->alloc_count : 0, sizeof(*tape->ids));
	tape_trim(&tape->times, tape->times ? tape->count : 0, sizeof(*tape->times));
	tape_trim(&tape->ended, tape->ended_count, sizeof(*tape->ended));
	tape_trim(&tape->texts, tape->text_bytes, 1);
	return tape;
}

/*
 * Each batch is copied before the next one is read, because the trace may then reuse the numbers
 * of tags that no block has any more.
 */
int frag_tape_new(struct frag_tape **out, struct frag_trace *trace,
		  const struct frag_read_job *job, struct frag_error *err)
{
	static const struct frag_read_job none = { .stop = NULL };
	struct frag_tape_writer *w = frag_tape_writer_new(trace, 0);
	struct frag_batch batch;
	int rc;

	if (!w)
		return frag_fail_nomem(err);
	job = job ? job : &none;
	do {
		rc = frag_read_check(job, err);
		rc = rc ? rc : frag_trace_next(trace, &batch, err);
		rc = rc ? rc : frag_tape_write(w, &batch, err);
		if (!rc)
			frag_read_show(job, frag_trace_info(trace));
	} while (!rc && batch.count);
	if (!rc)
		*out = frag_tape_finish(w);
	frag_tape_writer_del(w);
	return rc;
}

/* A resized tape owns its events only; the part of one device shares the tags. */
void frag_tape_del(struct frag_tape *t)
{
	if (!t)
		return;
	free(t->events);
	if (t->resized) {
		free(t);
		return;
	}
	free(t->ids);
	free(t->times);
	free(t->spots);
	free(t->sites);
	free(t->rare);
	free(t->gaps);
	free(t->allocs_before);
	free(t->ended);
	free(t->texts);
	if (!t->part)
		frag_tags_fini(&t->tags);
	free(t);
}

const struct frag_trace_info *frag_tape_info(const struct frag_tape *t)
{
	return t->part ? &t->info : frag_trace_info(t->trace);
}

const struct frag_symbols *frag_tape_symbols(const struct frag_tape *t)
{
	return &t->symbols;
}

uint64_t frag_tape_bytes(const struct frag_tape *t)
{
	return t->count * sizeof(*t->events) + (t->ids ? t->alloc_count * sizeof(*t->ids) : 0)
	       + (t->times ? t->count * sizeof(*t->times) : 0)
	       + t->spot_count * sizeof(*t->spots) + t->site_count * sizeof(*t->sites)
	       + t->rare_count * sizeof(*t->rare) + t->gap_count * sizeof(*t->gaps)
	       + t->ended_count * sizeof(*t->ended) + t->text_bytes;
}

const struct frag_event *frag_tape_walk_next(struct frag_tape_walk *w)
{
	if (w->reader && w->at == w->batch.count) {
		frag_tape_next(w->reader, UINT64_MAX, &w->batch);
		w->at = 0;
	}
	return w->at < w->batch.count ? &w->batch.events[w->at++] : NULL;
}

/* Between two gaps steps run along with the numbers. */
uint64_t frag_tape_event(const struct frag_tape *t, uint64_t step)
{
	uint32_t low;
	uint64_t event, end = t->count;

	FRAG_COUNT_WHILE(low, t->gap_count, t->gaps[low].step <= step);
	if (low == 0)
		return 0;
	if (low < t->gap_count)
		end = t->gaps[low].event;
	event = t->gaps[low - 1].event + (step - t->gaps[low - 1].step);
	return event < end ? event : end;
}

/* The last gap before the event has the difference between steps and events. */
uint64_t frag_tape_step(const struct frag_tape *t, uint32_t event)
{
	uint32_t low;

	FRAG_COUNT_WHILE(low, t->gap_count, t->gaps[low].event <= event);
	return low ? event + (t->gaps[low - 1].step - t->gaps[low - 1].event) : event;
}

/* What the new tape shares is named: a later member that a tape owns is not shared by mistake. */
struct frag_tape *frag_tape_resized(const struct frag_tape *from, const uint32_t *which,
				    const uint64_t *sizes)
{
	const uint64_t rest = (UINT64_C(1) << FRAG_TAPE_VALUE_SHIFT) - 1;
	const size_t bytes = from->count * sizeof(*from->events);
	struct frag_tape *t = malloc(sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct frag_tape){
		.trace = from->trace, .symbols = from->symbols, .events = malloc(bytes + 1),
		.ids = from->ids, .first_id = from->first_id, .times = from->times,
		.sites = from->sites, .rare = from->rare,
		.gaps = from->gaps, .allocs_before = from->allocs_before, .ended = from->ended,
		.texts = from->texts, .tags = from->tags, .count = from->count,
		.alloc_count = from->alloc_count, .site_count = from->site_count,
		.rare_count = from->rare_count, .gap_count = from->gap_count,
		.ended_count = from->ended_count, .text_bytes = from->text_bytes,
		.resized = true, .part = from->part, .emptied = from->emptied,
		.info = from->info, .device = from->device,
	};
	t->symbols.of = t;
	t->symbols.initial = NULL;
	t->symbols.initial_count = 0;
	if (!t->events) {
		free(t);
		return NULL;
	}
	if (bytes)
		memcpy(t->events, from->events, bytes);
	/* the value of an alloc's word is its bytes; those of others are the numbers of allocs */
	for (uint32_t i = 0, alloc = 0; i < t->count && which; i++)
		if (frag_tape_is_alloc(&t->events[i]))
			t->events[i].word = (t->events[i].word & rest)
					    | sizes[which[alloc++]] << FRAG_TAPE_VALUE_SHIFT;
	return t;
}

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

static void take_gap(struct frag_tape_reader *r)
{
	const struct frag_tape_gap *gap = &r->tape->gaps[r->next_gap++];

	FRAG_ASSERT(gap->step >= gap->event);
	r->skipped = gap->step - gap->event;
}

void frag_tape_seek(struct frag_tape_reader *r, uint64_t event)
{
	const struct frag_tape *t = r->tape;
	const uint32_t to = event < t->count ? (uint32_t)event : t->count;
	uint32_t i = to / FRAG_TAPE_STRIDE * FRAG_TAPE_STRIDE;

	r->next = to;
	FRAG_COUNT_WHILE(r->next_rare, t->rare_count, t->rare[r->next_rare].event < to);
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
	uint64_t id, length;
	const char *text;

	FRAG_ASSERT(alloc < t->alloc_count);
	id = t->ids ? t->ids[alloc] : t->first_id + alloc;
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

	FRAG_ASSERT(rare->event == r->next);
	ev->fraction = rare->fraction;
	ev->ended_count = rare->ended_count;
	if (rare->ended_count)
		ev->ended = &t->ended[rare->ended];
	if (rare->text.text)
		ev->text = frag_tape_text(t->texts, rare);
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
	r->whole[i] = site->whole;
	frag_event_clear_rest(ev);
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
		.events = r->events, .count = count, .stacks = r->stacks, .whole = r->whole,
	};
}

/* Appends a batch of another tape. */
static int add_renumbered(struct frag_tape_writer *w, const struct frag_tape_reader *r,
			  struct frag_batch *batch, struct frag_error *err)
{
	struct frag_event events[FRAG_TAPE_BATCH];

	for (uint32_t i = 0; i < batch->count; i++) {
		events[i] = r->events[i];
		events[i].step = w->tape->count + i;
	}
	batch->events = events;
	return add_batch(w, batch, &r->tape->symbols, err);
}

/* An alloc like this one, in another slot, or the free of that. */
static int add_like(struct frag_tape_writer *w, const struct frag_tape_reader *r,
		    const struct frag_event *alloc, enum frag_op op, uint32_t slot, uint64_t bytes,
		    struct frag_error *err)
{
	struct frag_event ev = *alloc;
	const struct frag_batch batch = { .events = &ev, .count = 1 };

	FRAG_ASSERT(alloc->op == FRAG_OP_ALLOC);
	ev.step = w->tape->count;
	ev.slot = slot;
	ev.place = NULL;
	ev.members &= ~(uint32_t)FRAG_HAS_PLACE;
	ev.bytes = bytes;
	if (op == FRAG_OP_FREE) {
		ev.op = FRAG_OP_FREE;
		ev.tag = 0;
		ev.members &= FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_T;
	}
	return add_batch(w, &batch, &r->tape->symbols, err);
}

/* The first of these blocks, like the alloc, and those that live while it does. *taken: how many. */
static int add_block(struct frag_tape_writer *w, const struct frag_tape_reader *r,
		     const struct frag_event *alloc, const struct frag_tape_block *blocks, uint32_t slot,
		     uint32_t *taken, struct frag_error *err)
{
	const uint32_t end = 1 + blocks->inside;
	int rc = add_like(w, r, alloc, FRAG_OP_ALLOC, slot, blocks->bytes, err);

	for (*taken = 1; !rc && *taken < end;) {
		uint32_t more;

		rc = add_block(w, r, alloc, blocks + *taken, slot + 1, &more, err);
		*taken += more;
	}
	return rc ? rc : add_like(w, r, alloc, FRAG_OP_FREE, slot, 0, err);
}

/* The events are read up to each block's, which is added behind it, in slots that no event has. */
int frag_tape_with_blocks(struct frag_tape **out, const struct frag_tape *from,
			  const struct frag_tape_block *blocks, uint32_t count, struct frag_error *err)
{
	struct frag_tape_writer *w = frag_tape_writer_new(from->trace, 0);
	struct frag_tape_reader *r = frag_tape_reader_new(from);
	struct frag_batch batch = { .count = 1 };
	uint32_t slot = 0, taken;
	int rc = w && r ? 0 : frag_fail_nomem(err);

	for (uint32_t i = 0; i < from->count; i++)
		if (frag_tape_is_alloc(&from->events[i]) && from->events[i].slot >= slot)
			slot = from->events[i].slot + 1;
	for (uint32_t i = 0; !rc && batch.count;) {
		const uint64_t until = i < count ? (uint64_t)blocks[i].after + 1 : UINT64_MAX;

		frag_tape_next(r, until, &batch);
		rc = add_renumbered(w, r, &batch, err);
		if (rc || r->next != until || !batch.count)
			continue;
		for (const uint32_t at = blocks[i].after; !rc && i < count && blocks[i].after == at; i += taken)
			rc = add_block(w, r, &r->events[batch.count - 1], &blocks[i], slot, &taken, err);
	}
	*out = rc ? NULL : frag_tape_finish(w);
	if (*out)
		(*out)->emptied = true;
	frag_tape_reader_del(r);
	frag_tape_writer_del(w);
	return rc;
}

/* A tape without events that shares the tags of the whole one. */
static struct frag_tape *tape_device_begin(const struct frag_tape *from, uint32_t device)
{
	struct frag_tape *t = malloc(sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct frag_tape){
		.trace = from->trace, .symbols = from->symbols, .tags = from->tags,
		.info = *frag_tape_info(from), .emptied = from->emptied, .part = true,
		.device = device,
	};
	t->symbols.of = t;
	t->info.devices += device;
	t->info.device_count = 1;
	return t;
}

/* The device's events go from the whole tape onto another one. */
static bool tape_device_copy(struct frag_tape_writer *w, struct frag_tape_reader *r,
			     uint32_t device)
{
	struct frag_batch batch;

	do {
		frag_tape_next(r, UINT64_MAX, &batch);
		for (uint32_t i = 0; i < batch.count; i++) {
			struct frag_event *ev = &r->events[i];

			if (ev->device != device && ev->device != FRAG_ALL)
				continue;
			if (ev->device == device)
				ev->device = 0;
			if (!tape_add_event(w, ev, batch.stacks[i], batch.whole[i], ev->tag))
				return false;
		}
	} while (batch.count);
	return true;
}

int frag_tape_of_device(struct frag_tape **out, const struct frag_tape *from, uint32_t device,
			struct frag_error *err)
{
	struct frag_tape_writer w = { .max = 0 };
	struct frag_tape_reader *r;

	FRAG_ASSERT(device < frag_tape_info(from)->device_count);
	*out = NULL;
	if (frag_tape_info(from)->device_count == 1 || from->symbols.initial_count
	    || from->spot_count)
		return 0;
	w.tape = tape_device_begin(from, device);
	r = frag_tape_reader_new(from);
	if (w.tape && r && frag_map_init(&w.sites, frag_hash_seed())
	    && tape_device_copy(&w, r, device)) {
		w.tape->info.events = w.tape->count;
		*out = frag_tape_finish(&w);
	}
	frag_tape_del(w.tape);
	frag_tape_reader_del(r);
	frag_map_fini(&w.sites);
	free(w.alloc_of);
	return *out ? 0 : frag_fail_nomem(err);
}
