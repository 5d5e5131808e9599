/* record_copy.c - a record of its own, that nothing else has to keep alive. */
#include "transform/record_copy.h"

#include <stdlib.h>
#include <string.h>

/* Moves a text to p, and p after it. */
static void record_copy_move(const char **text, uint64_t length, char **p)
{
	if (!*text)
		return;
	memcpy(*p, *text, (size_t)length);
	*text = *p;
	*p += length;
}

/* What a record does not have may be anything. */
static struct frag_record cleaned(const struct frag_record *rec)
{
	struct frag_record r = *rec;
	uint32_t has = r.members;

	if (!(has & FRAG_HAS_ID))
		r.id = (struct frag_handle){ .text = NULL };
	if (!(has & FRAG_HAS_STREAM))
		r.stream = (struct frag_handle){ .text = NULL };
	if (!(has & FRAG_HAS_POOL))
		r.pool = (struct frag_handle){ .text = NULL };
	if (!(has & FRAG_HAS_T))
		r.t_text = (struct frag_text){ .text = NULL };
	if (!(has & FRAG_HAS_TAG))
		r.tag = (struct frag_text){ .text = NULL };
	if (!(has & (FRAG_HAS_VALUE | FRAG_HAS_NAME)))
		r.text = (struct frag_text){ .text = NULL };
	return r;
}

/* Record and texts are one piece of memory, which one free() ends. */
struct frag_owned_record *frag_record_copy(const struct frag_record *rec, uint64_t step)
{
	struct frag_record r = cleaned(rec);
	size_t texts =
		(size_t)((r.id.text ? r.id.number : 0) + (r.stream.text ? r.stream.number : 0)
			 + (r.pool.text ? r.pool.number : 0))
		+ r.t_text.length + r.tag.length + r.text.length;
	struct frag_owned_record *c = malloc(sizeof(*c) + texts + 1);
	char *p;

	if (!c)
		return NULL;
	p = (char *)(c + 1);
	*c = (struct frag_owned_record){ .step = step, .rec = r };
	record_copy_move(&c->rec.id.text, r.id.number, &p);
	record_copy_move(&c->rec.stream.text, r.stream.number, &p);
	record_copy_move(&c->rec.pool.text, r.pool.number, &p);
	record_copy_move(&c->rec.t_text.text, r.t_text.length, &p);
	record_copy_move(&c->rec.tag.text, r.tag.length, &p);
	record_copy_move(&c->rec.text.text, r.text.length, &p);
	return c;
}
