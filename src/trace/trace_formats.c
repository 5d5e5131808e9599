/* trace_formats.c - the table of formats in which a trace can be written, and JSON itself. */
#include "trace/trace_formats.h"

#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "trace/beginning.h"
#include "trace/reader.h"
#include "trace/fsb.h"
#include "trace/scope.h"

#define TEXT_ROOM(length) (6 * (size_t)(length) + 2)

static char *writer_put_word(char *p, const char *word)
{
	size_t n = strlen(word);

	memcpy(p, word, n);
	return p + n;
}

static char *writer_put_member(char *p, const char *before, uint64_t value)
{
	return frag_put_u64(writer_put_word(p, before), value);
}

static char *put_handle(char *p, const char *before, const struct frag_handle *h)
{
	p = writer_put_word(p, before);
	return h->text ? frag_put_json(p, h->text, h->number) : frag_put_u64(p, h->number);
}

static char *writer_put_text(char *p, const char *before, struct frag_text text)
{
	return frag_put_json(writer_put_word(p, before), text.text, text.length);
}

static void writer_put_device(struct frag_outfile *out, const struct frag_device_figures *d)
{
	size_t name = d->name ? strlen(d->name) : 0;
	char *p = frag_outfile_room(out, 256 + TEXT_ROOM(name));

	if (!p)
		return;
	p = writer_put_word(p, "{");
	if (d->name)
		p = writer_put_word(frag_put_json(writer_put_word(p, "\"name\":"), d->name, name),
				    ",");
	p = writer_put_member(p, "\"total_bytes\":", d->total);
	if (d->context)
		p = writer_put_member(p, ",\"context_bytes\":", d->context);
	if (d->other)
		p = writer_put_member(p, ",\"other_bytes\":", d->other);
	if (d->granularity != FRAG_GRANULARITY)
		p = writer_put_member(p, ",\"granularity_bytes\":", d->granularity);
	frag_outfile_used(out, writer_put_word(p, "}"));
}

static void writer_put(struct frag_outfile *out, const char *text)
{
	frag_outfile_write(out, text, strlen(text));
}

static void put_devices(struct frag_outfile *out, const struct frag_device_figures *devices,
			uint32_t count)
{
	writer_put(out, count > 1 ? ",\"devices\":[" : ",\"device\":");
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			writer_put(out, ",");
		writer_put_device(out, &devices[i]);
	}
	writer_put(out, count > 1 ? "]" : "");
}

/* Values equal to the defaults are not written, so a trace without a device does not gain one. */
static int json_begin(struct frag_sink *s, const struct frag_trace_info *info,
		      struct frag_error *err)
{
	const struct frag_device_figures *d = info->devices;
	struct frag_text meta;
	bool failed;
	char *own = frag_scope_meta(info, &meta, &failed);

	if (failed)
		return frag_fail_nomem(err);
	s->object = strcmp(s->ops->name, "object") == 0;
	writer_put(s->out, "{\"format\":\"fragsim-trace\",\"version\":1");
	if (info->device_count > 1
	    || (info->device_count && (d->name || d->total || d->context || d->other
				       || d->granularity != FRAG_GRANULARITY)))
		put_devices(s->out, d, info->device_count);
	if (meta.text) {
		writer_put(s->out, ",\"meta\":");
		frag_outfile_write(s->out, meta.text, meta.length);
	}
	free(own);
	if (info->beginning) {
		size_t length;
		char *text = frag_first_state_text(info->beginning, &length);

		if (!text)
			return frag_fail_nomem(err);
		writer_put(s->out, ",\"beginning\":");
		frag_outfile_write(s->out, text, length);
		free(text);
	}
	if (s->object)
		writer_put(s->out, ",\"events\":[");
	return frag_outfile_status(s->out, err);
}

static size_t writer_room_of(const struct frag_record *rec)
{
	size_t texts = 0;

	if (rec->members & FRAG_HAS_ID && rec->id.text)
		texts += rec->id.number;
	if (rec->members & FRAG_HAS_STREAM && rec->stream.text)
		texts += rec->stream.number;
	if (rec->members & FRAG_HAS_POOL && rec->pool.text)
		texts += rec->pool.number;
	if (rec->members & FRAG_HAS_TAG)
		texts += rec->tag.length;
	if (rec->members & (FRAG_HAS_VALUE | FRAG_HAS_NAME))
		texts += rec->text.length;
	if (rec->members & FRAG_HAS_T)
		texts += rec->t_text.length;
	return 512 + TEXT_ROOM(texts);
}

static char *put_numbers(char *p, const struct frag_record *rec)
{
	uint32_t has = rec->members;

	if (has & FRAG_HAS_ID)
		p = put_handle(p, ",\"id\":", &rec->id);
	if (has & FRAG_HAS_SIZE)
		p = writer_put_member(p, ",\"size\":", rec->size);
	if (has & FRAG_HAS_PENDING)
		p = writer_put_word(p, rec->pending ? ",\"pending\":true" : ",\"pending\":false");
	if (has & FRAG_HAS_STREAM)
		p = put_handle(p, ",\"stream\":", &rec->stream);
	if (has & FRAG_HAS_POOL)
		p = put_handle(p, ",\"pool\":", &rec->pool);
	if (has & FRAG_HAS_DEVICE)
		p = writer_put_member(p, ",\"device\":", rec->device);
	return p;
}

/* A time that came as text is written as it was, so that reading and writing changes no digit. */
static char *writer_put_words(char *p, const struct frag_record *rec)
{
	uint32_t has = rec->members;

	if (has & FRAG_HAS_VALUE)
		p = rec->op == FRAG_OP_SET_FRACTION ? frag_put_double(writer_put_word(p, ",\"value\":"),
								      rec->fraction)
						    : writer_put_text(p, ",\"value\":", rec->text);
	if (has & FRAG_HAS_NAME)
		p = writer_put_text(p, ",\"name\":", rec->text);
	if (has & FRAG_HAS_T && rec->t_text.text) {
		p = writer_put_word(p, ",\"t\":");
		memcpy(p, rec->t_text.text, rec->t_text.length);
		p += rec->t_text.length;
	} else if (has & FRAG_HAS_T) {
		p = frag_put_double(writer_put_word(p, ",\"t\":"), rec->t);
	}
	if (has & FRAG_HAS_TAG)
		p = writer_put_text(p, ",\"tag\":", rec->tag);
	return p;
}

/* A t without its text is written with all its digits. */
static int json_event(struct frag_sink *s, const struct frag_record *rec,
		      const struct frag_event *ev, struct frag_error *err)
{
	char *p = frag_outfile_room(s->out, writer_room_of(rec));

	(void)ev;
	s->lost[FRAG_LOSS_STACKS] += (rec->members & FRAG_HAS_STACK) != 0;
	if (!p)
		return frag_outfile_status(s->out, err);
	if (s->object)
		p = writer_put_word(p, s->events ? ",\n" : "\n");
	else if (!s->events)
		p = writer_put_word(p, "}\n"); /* the header */
	p = writer_put_word(
		writer_put_word(writer_put_word(p, "{\"op\":\""), frag_op_name(rec->op)), "\"");
	p = writer_put_words(put_numbers(p, rec), rec);
	p = writer_put_word(p, s->object ? "}" : "}\n");
	frag_outfile_used(s->out, p);
	s->events++;
	return frag_outfile_status(s->out, err);
}

/* A header and nothing else would be no trace; an object without events is one. */
static int json_end(struct frag_sink *s, struct frag_error *err)
{
	if (s->object)
		writer_put(s->out, "\n]}\n");
	else if (!s->events)
		writer_put(s->out, ",\"events\":[]}\n");
	return frag_outfile_status(s->out, err);
}

static const struct frag_sink_ops lines = {
	.name = "lines",
	.ending = ".ndjson",
	.lossless = true,
	.begin = json_begin,
	.event = json_event,
	.end = json_end,
};

static const struct frag_sink_ops object = {
	.name = "object",
	.ending = ".json",
	.lossless = true,
	.begin = json_begin,
	.event = json_event,
	.end = json_end,
};

static const struct frag_sink_ops *const sinks[] = {
	&lines,
	&object,
	&frag_sink_fsb,
	&frag_sink_minimalloc,
	&frag_sink_rmm,
	NULL,
};

const struct frag_sink_ops *const *frag_sinks(void)
{
	return sinks;
}

const struct frag_sink_ops *frag_sink_named(const char *name)
{
	for (uint32_t i = 0; sinks[i]; i++)
		if (strcmp(sinks[i]->name, name) == 0)
			return sinks[i];
	return NULL;
}
