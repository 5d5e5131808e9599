/* record_buffer.c - records in memory: only what each of them has, one after the other. */
#include "transform/record_buffer.h"

#include <stdlib.h>
#include <string.h>

#define PIECE ((size_t)1 << 20)         /* bytes */

/* What every record has; which handles are texts is in `texts`. */
struct head {
	uint32_t members, block, stack;
	uint8_t op, pending, lasts, texts;
	uint8_t class;
};

/* Counts, writes or reads: one walk through the members serves all three. */
struct walk {
	char *at;               /* NULL: it counts */
	size_t bytes;
	bool reads;
};

static void pass(struct walk *w, void *field, size_t size)
{
	if (w->at && w->reads)
		memcpy(field, w->at + w->bytes, size);
	else if (w->at)
		memcpy(w->at + w->bytes, field, size);
	w->bytes += size;
}

/* Text that is read stays where it is. */
static void pass_bytes(struct walk *w, const char **text, uint64_t length)
{
	if (w->at && w->reads)
		*text = w->at + w->bytes;
	else if (w->at && length)
		memcpy(w->at + w->bytes, *text, (size_t)length);
	w->bytes += (size_t)length;
}

static void pass_handle(struct walk *w, struct frag_handle *handle, bool is_text)
{
	pass(w, &handle->number, sizeof(handle->number));
	if (is_text)
		pass_bytes(w, &handle->text, handle->number);
}

static void pass_text(struct walk *w, struct frag_text *text)
{
	pass(w, &text->length, sizeof(text->length));
	pass_bytes(w, &text->text, text->length);
}

/* Reads or writes the members that the record has, in a fixed order. */
static void pass_members(struct walk *w, struct frag_record *r, uint8_t texts)
{
	const uint32_t has = r->members;

	if (has & FRAG_HAS_ID)
		pass_handle(w, &r->id, texts & 1);
	if (has & FRAG_HAS_STREAM)
		pass_handle(w, &r->stream, texts & 2);
	if (has & FRAG_HAS_POOL)
		pass_handle(w, &r->pool, texts & 4);
	if (has & FRAG_HAS_SIZE)
		pass(w, &r->size, sizeof(r->size));
	if (has & FRAG_HAS_DEVICE)
		pass(w, &r->device, sizeof(r->device));
	if (has & FRAG_HAS_T) {
		pass(w, &r->t, sizeof(r->t));
		pass_text(w, &r->t_text);
	}
	if (has & FRAG_HAS_TAG)
		pass_text(w, &r->tag);
	if (has & (FRAG_HAS_VALUE | FRAG_HAS_NAME)) {
		pass_text(w, &r->text);
		pass(w, &r->fraction, sizeof(r->fraction));
	}
}

static uint8_t texts_of(const struct frag_record *r)
{
	return (uint8_t)((r->members & FRAG_HAS_ID && r->id.text ? 1 : 0)
			 | (r->members & FRAG_HAS_STREAM && r->stream.text ? 2 : 0)
			 | (r->members & FRAG_HAS_POOL && r->pool.text ? 4 : 0));
}

/* Extends the buffer by `bytes` at its end. */
static char *record_buffer_extend(struct frag_record_buffer *h, size_t bytes)
{
	struct frag_record_chunk *piece = h->last;
	const size_t room = bytes > PIECE ? bytes : PIECE;

	if (!piece || piece->room - piece->used < bytes) {
		piece = malloc(sizeof(*piece) + room);
		if (!piece)
			return NULL;
		*piece = (struct frag_record_chunk){ .room = room };
		if (h->last)
			h->last->next = piece;
		else
			h->first = piece;
		h->last = piece;
	}
	piece->used += bytes;
	return piece->bytes + piece->used - bytes;
}

/* What a record has no use for is not passed. Returns the bytes of its members. */
static size_t prepare(struct frag_record *rec)
{
	struct walk w = { .at = NULL };

	if (!(rec->members & (FRAG_HAS_VALUE | FRAG_HAS_NAME)) || !rec->text.text)
		rec->text = (struct frag_text){ .text = NULL };
	if (!(rec->members & FRAG_HAS_PENDING))
		rec->pending = false;   /* it may never have been set */
	if (rec->members & FRAG_HAS_T && !rec->t_text.text)
		rec->t_text.length = 0;
	pass_members(&w, rec, texts_of(rec));
	return w.bytes;
}

bool frag_record_buffer_add(struct frag_record_buffer *h, const struct frag_item *item)
{
	struct frag_record rec = item->rec;
	const size_t bytes = prepare(&rec);
	struct head head = {
		.members = rec.members, .block = item->block, .stack = rec.stack,
		.op = (uint8_t)rec.op, .pending = rec.pending,
		.lasts = (uint8_t)(item->lasts | item->begins << 1), .class = item->class,
		.texts = texts_of(&rec),
	};
	struct walk w = { .at = record_buffer_extend(h, bytes + sizeof(head)) };

	if (!w.at)
		return false;
	pass(&w, &head, sizeof(head));
	pass_members(&w, &rec, head.texts);
	return true;
}

bool frag_record_buffer_next(const struct frag_record_buffer *h, struct frag_record_place *place,
			     struct frag_item *item)
{
	struct walk w = { .reads = true };
	struct head head;

	if (!place->piece)
		*place = (struct frag_record_place){ .piece = h->first };
	if (place->piece && place->at == place->piece->used && place->piece->next)
		*place = (struct frag_record_place){ .piece = place->piece->next };
	if (!place->piece || place->at == place->piece->used)
		return false;
	w.at = (char *)(uintptr_t)place->piece->bytes + place->at;
	pass(&w, &head, sizeof(head));
	*item = (struct frag_item){
		.block = head.block, .lasts = head.lasts & 1, .begins = head.lasts >> 1,
		.class = head.class,
		.rec = { .members = head.members, .stack = head.stack, .pending = head.pending,
			 .op = (enum frag_op)head.op },
	};
	pass_members(&w, &item->rec, head.texts);
	place->at += w.bytes;
	return true;
}

void frag_record_buffer_fini(struct frag_record_buffer *h)
{
	while (h->first) {
		struct frag_record_chunk *next = h->first->next;

		free(h->first);
		h->first = next;
	}
	h->last = NULL;
}

/* Writes the members behind the copy, and reads them from there: its texts are there then. */
struct frag_owned_record *frag_record_copy(const struct frag_record *rec, uint64_t step)
{
	struct frag_record r = *rec;
	struct frag_owned_record *c = malloc(sizeof(*c) + prepare(&r));
	struct walk w = { .at = c ? (char *)(c + 1) : NULL };

	if (!c)
		return NULL;
	pass_members(&w, &r, texts_of(&r));
	w = (struct walk){ .at = w.at, .reads = true };
	*c = (struct frag_owned_record){ .step = step, .rec = r };
	pass_members(&w, &c->rec, texts_of(&r));
	return c;
}
