/* pytorch_oom_message.c - writes out-of-memory errors: as PyTorch does, and as JSON. */
#include "documents/pytorch_oom_message.h"

#include <stdio.h>
#include <string.h>

#include "base/format.h"

static const char *owner(const struct frag_result *run)
{
	const char *name = run->choice.ops->name;

	return strcmp(name, "pytorch") == 0 ? "PyTorch" : name;
}

/* The sentence of PyTorch's own error, with the name of the policy instead of PyTorch's. */
const char *frag_oom_message(const struct frag_result *run, const struct frag_oom *oom,
			     char buf[FRAG_OOM_MESSAGE_ROOM])
{
	const struct frag_metrics *m = &oom->metrics;
	char tried[FRAG_NUMBER_ROOM], total[FRAG_NUMBER_ROOM], allocated[FRAG_NUMBER_ROOM];
	char unused[FRAG_NUMBER_ROOM], reserved[FRAG_NUMBER_ROOM];
	char capacity[64] = "", left[64] = "";

	if (m->limited) {
		snprintf(capacity, sizeof(capacity), "%s total capacity; ",
			 frag_pytorch_size_text(total, run->total));
		snprintf(left, sizeof(left), "%s free; ",
			 frag_pytorch_size_text(unused,
						m->device_free > 0 ? (uint64_t)m->device_free : 0));
	}
	snprintf(buf, FRAG_OOM_MESSAGE_ROOM,
		 "CUDA out of memory. Tried to allocate %s (GPU %u; %s%s already allocated; "
		 "%s%s reserved in total by %s)",
		 frag_pytorch_size_text(tried, oom->tried), run->device, capacity,
		 frag_pytorch_size_text(allocated, m->allocated), left,
		 frag_pytorch_size_text(reserved, m->reserved), owner(run));
	return buf;
}

/* The sentence of PyTorch 2.2 and later; parts without a value are omitted. */
const char *frag_oom_message_now(const struct frag_result *run, const struct frag_oom *oom,
				 char buf[FRAG_OOM_MESSAGE_ROOM])
{
	const struct frag_metrics *m = &oom->metrics;
	char tried[FRAG_NUMBER_ROOM], a[FRAG_NUMBER_ROOM], b[FRAG_NUMBER_ROOM];
	char c[FRAG_NUMBER_ROOM], device[256] = "", allowed[64] = "";

	if (m->limited)
		snprintf(device, sizeof(device),
			 " GPU %u has a total capacity of %s of which %s is"
			 " free. Including non-PyTorch memory, this process has %s memory in use.",
			 run->device, frag_pytorch_size_text(a, run->total),
			 frag_pytorch_size_text(b,
						m->device_free > 0 ? (uint64_t)m->device_free : 0),
			 frag_pytorch_size_text(c, m->process_used));
	if (oom->limit != UINT64_MAX)
		snprintf(allowed, sizeof(allowed), " %s allowed;",
			 frag_pytorch_size_text(a, oom->limit));
	snprintf(buf, FRAG_OOM_MESSAGE_ROOM,
		 "CUDA out of memory. Tried to allocate %s.%s%s Of the allocated memory %s is"
		 " allocated by %s, and %s is reserved by %s but unallocated.",
		 frag_pytorch_size_text(tried, oom->tried), device, allowed,
		 frag_pytorch_size_text(b, m->allocated), owner(run),
		 frag_pytorch_size_text(c, m->reserved - m->allocated), owner(run));
	return buf;
}

/* Messages are laid out as cJSON lays out a document. */
#define MEMBER "\n\t\t\t"
#define MESSAGE_ROOM 1024

static char *put_text(char *p, const char *text)
{
	const size_t n = strlen(text);

	memcpy(p, text, n);
	return p + n;
}

static char *put_figure(char *p, const char *key, const struct frag_message_value *figure)
{
	p = put_text(p, MEMBER "\"");
	p = put_text(p, key);
	p = put_text(p, "\":\t");
	p = figure->there ? frag_put_u64(p, figure->bytes) : put_text(p, "null");
	return put_text(p, ",");
}

static char *put_possible(char *p, const struct frag_message *m)
{
	const char *separator = "";
	uint32_t named = 1U << frag_message_cause(m);

	p = put_text(p, "," MEMBER "\"also_possible\":\t[");
	for (int i = 0; i < FRAG_SHORTAGES; i++) {
		const enum frag_oom_cause cause = frag_shortage_cause((enum frag_oom_verdict)i);

		if (!(m->possible >> i & 1) || (int)m->verdict == i || named >> cause & 1)
			continue;
		named |= 1U << cause;
		p = put_text(p, separator);
		p = put_text(p, "\"");
		p = put_text(p, frag_oom_cause_name(cause));
		p = put_text(p, "\"");
		separator = ", ";
	}
	return put_text(p, "]\n\t\t}");
}

/* The first message begins the document, each later one continues its array. */
void frag_message_write(const struct frag_message *m, uint64_t count, struct frag_outfile *out)
{
	char *p = frag_outfile_room(out, MESSAGE_ROOM);

	p = put_text(p,
			      count ? ", {"
				    : "{\n\t\"format\":\t\"fragsim-message\",\n\t\"version\":\t2,\n"
				      "\t\"messages\":\t[{");
	p = put_text(p, MEMBER "\"wording\":\t\"");
	p = put_text(p, frag_wording_name(m->wording));
	p = put_text(p, "\",");
	p = put_figure(p, "asked", &m->said[FRAG_SAID_ASKED]);
	p = put_figure(p, "total", &m->total);
	p = put_figure(p, "free", &m->free);
	p = put_figure(p, "allocated", &m->allocated);
	p = put_figure(p, "reserved", &m->reserved);
	p = put_figure(p, "outside", &m->outside);
	p = put_figure(p, "precision",
		       &(struct frag_message_value){ .bytes = m->precision, .there = true });
	p = put_text(p, MEMBER "\"verdict\":\t\"");
	p = put_text(p, frag_oom_cause_name(frag_message_cause(m)));
	p = put_text(p, "\"," MEMBER "\"nearly_full\":\t");
	p = put_text(p, m->verdict == FRAG_SHORT_TIGHT ? "true" : "false");
	frag_outfile_used(out, put_possible(p, m));
}

void frag_message_write_end(struct frag_outfile *out)
{
	frag_outfile_write(out, "]\n}\n", 4);
}
