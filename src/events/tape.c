/* tape.c - a trace onto a tape. */
#include "events/tape.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"

_Static_assert(FRAG_OPS <= 1 << FRAG_TAPE_OP_BITS, "an operation must fit its bits");

/* What is needed while the tape is written. */
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
	       && a->stream_order == b->stream_order;
}

static uint64_t hash_site(const struct frag_tape_site *s, uint64_t seed)
{
	uint64_t h = frag_hash_key((uint64_t)s->tag << 32 | s->stack, seed);

	h = frag_hash_mix(h ^ ((uint64_t)s->device << 32 | s->stream));
	h = frag_hash_mix(h ^ ((uint64_t)s->pool << 32 | s->members));
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
	if (!frag_grow(&t->sites, &t->site_capacity, (uint64_t)t->site_count + 1,
		       sizeof(*t->sites))
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

/* A new alloc's id, and where it is if the trace begins with it. */
static bool tape_add_alloc(struct frag_tape_writer *w, const struct frag_event *ev)
{
	struct frag_tape *t = w->tape;
	uint64_t id = ev->id.number;

	if (!frag_grow(&t->ids, &t->alloc_capacity, (uint64_t)t->alloc_count + 1, sizeof(*t->ids))
	    || !frag_grow(&w->alloc_of, &w->slot_capacity, (uint64_t)ev->slot + 1,
			  sizeof(*w->alloc_of)))
		return false;
	if (ev->id.text) {
		id = FRAG_TAPE_TEXT_ID | t->text_bytes;
		if (!tape_add_text(t, (const char *)&ev->id.number, sizeof(ev->id.number))
		    || !tape_add_text(t, ev->id.text, ev->id.number))
			return false;
	}
	if (ev->place) {
		if (!frag_grow(&t->spots, &t->spot_capacity, (uint64_t)t->alloc_count + 1,
			       sizeof(*t->spots)))
			return false;
		/* blocks of the beginning come first, but one of them may be without a place */
		while (t->spot_count < t->alloc_count)
			t->spots[t->spot_count++] = (struct frag_spot){ .initial = UINT32_MAX };
		t->spots[t->spot_count++] = *ev->place;
	}
	t->ids[t->alloc_count] = id;
	w->alloc_of[ev->slot] = t->alloc_count++;
	return true;
}

static bool add_rare(struct frag_tape *t, const struct frag_event *ev)
{
	struct frag_tape_rare *r;

	if (!frag_grow(&t->rare, &t->rare_capacity, (uint64_t)t->rare_count + 1, sizeof(*t->rare))
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
	if (!frag_grow(&t->times, &t->time_capacity, (uint64_t)t->count + 1, sizeof(*t->times)))
		return false;
	for (; had < t->count; had++)
		t->times[had] = 0;
	t->times[t->count] = ev->members & FRAG_HAS_T ? ev->t : 0;
	return true;
}

/* Events that were left out keep their number: a gap. */
static bool tape_add_gap(struct frag_tape *t, uint64_t step)
{
	const struct frag_tape_gap *last = t->gap_count ? &t->gaps[t->gap_count - 1] : NULL;

	if (last && last->step + (t->count - last->event) == step)
		return true;
	if (!frag_grow(&t->gaps, &t->gap_capacity, (uint64_t)t->gap_count + 1, sizeof(*t->gaps)))
		return false;
	t->gaps[t->gap_count++] = (struct frag_tape_gap){ .event = t->count, .step = step };
	return true;
}

static bool add_stride(struct frag_tape *t)
{
	const uint32_t i = t->count / FRAG_TAPE_STRIDE;

	if (t->count % FRAG_TAPE_STRIDE)
		return true;
	if (!frag_grow(&t->allocs_before, &t->stride_capacity, (uint64_t)i + 1,
		       sizeof(*t->allocs_before)))
		return false;
	t->allocs_before[i] = t->alloc_count;
	return true;
}

/*
 * The parts beside the array refer to this event by t->count, so the count grows
 * last. Nothing is undone where the host is out of memory, as the tape is then deleted.
 */
static bool tape_add_event(struct frag_tape_writer *w, const struct frag_event *ev, uint32_t stack,
			   struct frag_text tag)
{
	struct frag_tape *t = w->tape;
	struct frag_tape_site site = {
		.stack = stack, .device = ev->device, .stream = ev->stream, .pool = ev->pool,
		.members = ev->members, .stream_order = ev->stream_order,
	};
	uint64_t word = ev->op | (ev->waits ? FRAG_TAPE_WAITS : 0), value = 0;

	if (tag.text && !(site.tag = frag_tags_acquire(&t->tags, tag)))
		return false;
	if (ev->op == FRAG_OP_ALLOC)
		value = ev->bytes;
	else if (ev->members & FRAG_HAS_ID)
		value = w->alloc_of[ev->slot];
	word |= value << FRAG_TAPE_VALUE_SHIFT;
	if (!add_stride(t) || (ev->op == FRAG_OP_ALLOC && !tape_add_alloc(w, ev))
	    || !tape_add_gap(t, ev->step) || !add_time(t, ev))
		return false;
	if (is_rare(ev)) {
		word |= FRAG_TAPE_RARE;
		if (!add_rare(t, ev))
			return false;
	}
	if (!frag_grow(&t->events, &t->capacity, (uint64_t)t->count + 1, sizeof(*t->events)))
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
		struct frag_text tag = { .text = NULL };

		if (ev->tag)
			tag = frag_symbols_tag(symbols, ev->tag);
		if (!tape_add_event(w, ev, batch->stacks ? batch->stacks[i] : 0, tag))
			return frag_fail_nomem(err);
	}
	return 0;
}

/* Gives the room back that growing has left. */
static void tape_trim(void *array, uint32_t count, size_t size)
{
	void *from, *less;

	memcpy(&from, array, sizeof(from));
	less = count ? realloc(from, count * size) : NULL;
	if (less)
		memcpy(array, &less, sizeof(less));
}

static void trim_all(struct frag_tape *t)
{
	tape_trim(&t->events, t->count, sizeof(*t->events));
	tape_trim(&t->ids, t->alloc_count, sizeof(*t->ids));
	tape_trim(&t->times, t->times ? t->count : 0, sizeof(*t->times));
	tape_trim(&t->ended, t->ended_count, sizeof(*t->ended));
	tape_trim(&t->texts, t->text_bytes, 1);
}

static struct frag_text tape_tag_text(const void *of, uint32_t tag)
{
	const struct frag_tape *t = of;

	if (tag == 0)
		return (struct frag_text){ .text = NULL };
	return (struct frag_text){ .text = frag_tag_at(&t->tags, tag)->text,
				   .length = frag_tag_at(&t->tags, tag)->length };
}

static bool tape_stack_frame(const void *of, uint64_t *at, struct frag_frame *frame)
{
	const struct frag_tape *t = of;

	return frag_symbols_frame(frag_trace_symbols(t->trace), at, frame);
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

	if (tape)
		trim_all(tape);
	w->tape = NULL;
	return tape;
}

/*
 * Each batch is copied before the next one is asked for, as the trace may then
 * reuse the numbers of tags that no block has any more.
 */
int frag_tape_new(struct frag_tape **out, struct frag_trace *trace,
		  const struct frag_tape_options *options, struct frag_error *err)
{
	struct frag_tape_writer *w = frag_tape_writer_new(trace, 0);
	struct frag_batch batch;
	int rc = 0;

	if (!w)
		return frag_fail_nomem(err);
	do {
		if (options && options->stop && options->stop(options->ctx))
			rc = frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
		rc = rc ? rc : frag_trace_next(trace, &batch, err);
		rc = rc ? rc : frag_tape_write(w, &batch, err);
		if (!rc && options && options->progress)
			options->progress(options->ctx, frag_trace_info(trace));
	} while (!rc && batch.count);
	if (!rc)
		*out = frag_tape_finish(w);
	frag_tape_writer_del(w);
	return rc;
}

/* A resized tape owns its events only; the part of one device shares texts and tags. */
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
	if (!t->part) {
		free(t->ended);
		free(t->texts);
		frag_tags_fini(&t->tags);
	}
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
	return t->count * sizeof(*t->events) + t->alloc_count * sizeof(*t->ids)
	       + (t->times ? t->count * sizeof(*t->times) : 0)
	       + t->spot_count * sizeof(*t->spots) + t->site_count * sizeof(*t->sites)
	       + t->rare_count * sizeof(*t->rare) + t->gap_count * sizeof(*t->gaps)
	       + t->ended_count * sizeof(*t->ended) + t->text_bytes;
}

/* Between two gaps steps run along with the numbers. */
uint64_t frag_tape_event(const struct frag_tape *t, uint64_t step)
{
	uint32_t low = 0, high = t->gap_count;
	uint64_t event, end = t->count;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (t->gaps[middle].step <= step)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;
	if (low < t->gap_count)
		end = t->gaps[low].event;
	event = t->gaps[low - 1].event + (step - t->gaps[low - 1].step);
	return event < end ? event : end;
}

/* The value of an alloc's word is its bytes; those of others are the numbers of allocs. */
static void tape_resize(struct frag_tape *t, const uint32_t *which, const uint64_t *sizes)
{
	const uint64_t rest = (UINT64_C(1) << FRAG_TAPE_VALUE_SHIFT) - 1;
	const uint64_t op = (UINT64_C(1) << FRAG_TAPE_OP_BITS) - 1;
	uint32_t alloc = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		uint64_t *word = &t->events[i].word;

		if ((*word & op) == FRAG_OP_ALLOC)
			*word = (*word & rest) | sizes[which[alloc++]] << FRAG_TAPE_VALUE_SHIFT;
	}
}

/* Copies the events and changes their sizes; all else is shared with `from`. */
struct frag_tape *frag_tape_resized(const struct frag_tape *from, const uint32_t *which,
				    const uint64_t *sizes)
{
	const size_t bytes = from->count * sizeof(*from->events);
	struct frag_tape *t = malloc(sizeof(*t));

	if (!t)
		return NULL;
	*t = *from;
	t->resized = true;
	t->events = malloc(bytes + 1);
	t->spots = NULL;
	t->spot_count = 0;
	t->symbols.of = t;
	t->symbols.initial = NULL;
	t->symbols.initial_count = 0;
	if (!t->events) {
		free(t);
		return NULL;
	}
	if (bytes)
		memcpy(t->events, from->events, bytes);
	tape_resize(t, which, sizes);
	return t;
}
