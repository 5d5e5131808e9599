/* message_write.c - out-of-memory messages as JSON, one by one, as cJSON lays a document out. */
#include "documents/pytorch_oom_message.h"

#include <string.h>

#include "base/format.h"

#define MEMBER "\n\t\t\t"
#define MESSAGE_ROOM 1024

static char *message_write_put(char *p, const char *text)
{
	const size_t n = strlen(text);

	memcpy(p, text, n);
	return p + n;
}

static char *put_figure(char *p, const char *key, const struct frag_message_value *figure)
{
	p = message_write_put(p, MEMBER "\"");
	p = message_write_put(p, key);
	p = message_write_put(p, "\":\t");
	p = figure->there ? frag_put_u64(p, figure->bytes) : message_write_put(p, "null");
	return message_write_put(p, ",");
}

static char *put_possible(char *p, const struct frag_message *m)
{
	const char *separator = "";
	uint32_t named = 1U << frag_message_cause(m);

	p = message_write_put(p, "," MEMBER "\"also_possible\":\t[");
	for (int i = 0; i < FRAG_SHORTAGES; i++) {
		const enum frag_oom_cause cause = frag_shortage_cause((enum frag_oom_verdict)i);

		if (!(m->possible >> i & 1) || (int)m->verdict == i || named >> cause & 1)
			continue;
		named |= 1U << cause;
		p = message_write_put(p, separator);
		p = message_write_put(p, "\"");
		p = message_write_put(p, frag_oom_cause_name(cause));
		p = message_write_put(p, "\"");
		separator = ", ";
	}
	return message_write_put(p, "]\n\t\t}");
}

void frag_message_write(const struct frag_message *m, uint64_t count, struct frag_outfile *out)
{
	char *p = frag_outfile_room(out, MESSAGE_ROOM);

	p = message_write_put(p,
			      count ? ", {"
				    : "{\n\t\"format\":\t\"fragsim-message\",\n\t\"version\":\t2,\n"
				      "\t\"messages\":\t[{");
	p = message_write_put(p, MEMBER "\"wording\":\t\"");
	p = message_write_put(p, frag_wording_name(m->wording));
	p = message_write_put(p, "\",");
	p = put_figure(p, "asked", &m->said[FRAG_SAID_ASKED]);
	p = put_figure(p, "total", &m->total);
	p = put_figure(p, "free", &m->free);
	p = put_figure(p, "allocated", &m->allocated);
	p = put_figure(p, "reserved", &m->reserved);
	p = put_figure(p, "outside", &m->outside);
	p = put_figure(p, "precision",
		       &(struct frag_message_value){ .bytes = m->precision, .there = true });
	p = message_write_put(p, MEMBER "\"verdict\":\t\"");
	p = message_write_put(p, frag_oom_cause_name(frag_message_cause(m)));
	p = message_write_put(p, "\"," MEMBER "\"nearly_full\":\t");
	p = message_write_put(p, m->verdict == FRAG_SHORT_TIGHT ? "true" : "false");
	frag_outfile_used(out, put_possible(p, m));
}

void frag_message_write_end(struct frag_outfile *out)
{
	frag_outfile_write(out, "]\n}\n", 4);
}
