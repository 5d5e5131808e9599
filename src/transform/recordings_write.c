/* recordings_write.c - the trace of a program at a number that it was not recorded at. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/parse.h"
#include "events/tape.h"
#include "transform/recordings.h"

struct recordings_writing {
	struct frag_recordings *r;
	uint32_t number;
	uint32_t alloc, mark;           /* N so far */
	bool *dropped;                  /* by slot: it is not there at the number */
	uint32_t slot_count, slot_capacity;
	char *text;                     /* of the event that is given */
	uint32_t text_capacity;
};

static bool is_other(struct frag_text a, struct frag_text b)
{
	return b.text && (a.length != b.length || memcmp(a.text, b.text, a.length) != 0);
}

/* The tag of an alloc, the name of a mark; none of other events. */
static struct frag_text event_name(const struct frag_tape *tape, const struct frag_event *ev)
{
	if (ev->op == FRAG_OP_ALLOC && ev->tag)
		return frag_symbols_tag(frag_tape_symbols(tape), ev->tag);
	return ev->op == FRAG_OP_MARK ? ev->text : (struct frag_text){ .text = NULL };
}

/* Of recordings with the same events: notes names of `other` that are not those of the template. */
static bool note_others(struct frag_recordings *r, const struct frag_tape *template,
			const struct frag_tape *other)
{
	struct frag_tape_walk a = { .reader = frag_tape_reader_new(template) };
	struct frag_tape_walk b = { .reader = frag_tape_reader_new(other) };
	const struct frag_event *x, *y;
	uint32_t alloc = 0, mark = 0;
	bool good = a.reader && b.reader;

	while (good && (x = frag_tape_walk_next(&a)) && (y = frag_tape_walk_next(&b))) {
		const bool is_alloc = x->op == FRAG_OP_ALLOC;
		const struct frag_text name = event_name(other, y);
		struct frag_text **list = is_alloc ? &r->others : &r->other_marks;
		uint32_t *capacity = is_alloc ? &r->others_capacity : &r->marks_capacity;
		uint32_t i;

		if (!is_alloc && x->op != FRAG_OP_MARK)
			continue;
		i = is_alloc ? alloc++ : mark++;
		/* blocks from before the history come in another order */
		if (x->place && is_alloc)
			continue;
		if (!is_other(event_name(template, x), name))
			continue;
		while (*capacity <= i && good) {
			const uint32_t old = *capacity;

			good = frag_grow(list, capacity, old + 1, sizeof(**list));
			if (good)
				memset(*list + old, 0, (*capacity - old) * sizeof(**list));
		}
		if (good && !(*list)[i].text)
			(*list)[i] = name;
	}
	frag_tape_reader_del(a.reader);
	frag_tape_reader_del(b.reader);
	return good;
}

/* The name at the number, where it differs between the recordings. */
static int name_at_number(struct recordings_writing *w, struct frag_text *name, struct frag_text other,
			  struct frag_error *err)
{
	if (!name->text || !is_other(*name, other))
		return 0;
	if (!frag_grow(&w->text, &w->text_capacity, FRAG_OWN_NUMBER_ROOM(name->length), 1))
		return frag_fail_nomem(err);
	*name = frag_own_number_at(*name, other, w->number, w->text);
	return 0;
}

static struct frag_text other_of(const struct frag_text *list, uint32_t capacity, uint32_t i)
{
	return i < capacity ? list[i] : (struct frag_text){ .text = NULL };
}

/* Changes an event of the template; *given: it is there at the number. */
static int change_event(struct recordings_writing *w, struct frag_record *rec, struct frag_event *ev,
			bool *given, struct frag_error *err)
{
	const struct frag_recordings *r = w->r;
	const struct frag_sizes *s;
	uint32_t i;

	*given = true;
	if (ev->op == FRAG_OP_MARK)
		return name_at_number(w, &rec->text,
				      other_of(r->other_marks, r->marks_capacity, w->mark++), err);
	if (ev->op != FRAG_OP_ALLOC) {
		*given = !(ev->op == FRAG_OP_FREE || ev->op == FRAG_OP_COMPLETE
			   || ev->op == FRAG_OP_RECORD_STREAM) || !w->dropped[ev->slot];
		return 0;
	}
	i = w->alloc++;
	s = &r->sizes[r->which[i]];
	frag_size_at(&r->numbers, s->at, w->number, &ev->bytes);
	if (ev->bytes >= FRAG_SIZE_LIMIT)
		return frag_fail(err, FRAG_EUSAGE, "at %" PRIu32 " the alloc of event %" PRIu64
				 " would have 2^53 bytes or more", w->number, ev->step);
	if (!FRAG_EXTEND(w->dropped, w->slot_capacity, w->slot_count, ev->slot))
		return frag_fail_nomem(err);
	w->dropped[ev->slot] = frag_size_is_missing(s, r->count) && !ev->bytes;
	*given = !w->dropped[ev->slot];
	rec->size = ev->bytes;
	ev->place = NULL;
	rec->members &= ~(uint32_t)FRAG_HAS_PLACE;
	return rec->members & FRAG_HAS_TAG
	       ? name_at_number(w, &rec->tag, other_of(r->others, r->others_capacity, i), err) : 0;
}

int frag_recordings_write(struct frag_recordings *r, const struct frag_tape *const *tapes,
			  const struct frag_record_buffer *records, uint32_t number,
			  int (*event)(void *ctx, const struct frag_record *rec,
				       const struct frag_event *ev, struct frag_error *err),
			  void *ctx, struct frag_error *err)
{
	const struct frag_tape *tape = tapes[r->template];
	struct recordings_writing w = { .r = r, .number = number };
	struct frag_tape_walk walk = { .reader = frag_tape_reader_new(tape) };
	struct frag_record_place place = { .piece = NULL };
	const struct frag_event *next;
	struct frag_item item;
	int rc = walk.reader ? 0 : frag_fail_nomem(err);

	for (uint32_t i = 1; i < r->count && !r->aligned && !rc; i++)
		rc = note_others(r, tape, tapes[i]) ? 0 : frag_fail_nomem(err);
	while (!rc && (next = frag_tape_walk_next(&walk))
	       && frag_record_buffer_next(&records[r->template], &place, &item)) {
		struct frag_event ev = *next;
		bool given;

		rc = change_event(&w, &item.rec, &ev, &given, err);
		if (!rc && given)
			rc = event(ctx, &item.rec, &ev, err);
	}
	frag_tape_reader_del(walk.reader);
	free(w.dropped);
	free(w.text);
	return rc;
}
