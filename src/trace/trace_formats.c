/* trace_formats.c - the table of formats in which a trace can be written, and JSON itself. */
#include "trace/trace_formats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bug.h"
#include "base/format.h"
#include "trace/reader.h"
#include "trace/fsb.h"

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

static void writer_put(struct frag_writer *w, const char *text)
{
	frag_outfile_write(w->out, text, strlen(text));
}

static void put_devices(struct frag_writer *w, const struct frag_device_figures *devices,
			uint32_t count)
{
	writer_put(w, count > 1 ? ",\"devices\":[" : ",\"device\":");
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			writer_put(w, ",");
		writer_put_device(w->out, &devices[i]);
	}
	writer_put(w, count > 1 ? "]" : "");
}

/*
 * Values equal to the defaults are not written, so a trace without a device does not gain one.
 */
void frag_writer_begin(struct frag_writer *w, struct frag_outfile *out, bool object,
		       const struct frag_device_figures *devices, uint32_t device_count,
		       struct frag_text meta, const char *source)
{
	const struct frag_device_figures *d = devices;

	*w = (struct frag_writer){ .out = out, .object = object };
	writer_put(w, "{\"format\":\"fragsim-trace\",\"version\":1");
	if (device_count > 1 || (device_count && (d->name || d->total || d->context || d->other
						  || d->granularity != FRAG_GRANULARITY)))
		put_devices(w, devices, device_count);
	if (meta.text) {
		writer_put(w, ",\"meta\":");
		frag_outfile_write(out, meta.text, meta.length);
	} else if (source) {
		char *p;

		writer_put(w, ",\"meta\":{\"source\":");
		p = frag_outfile_room(out, TEXT_ROOM(strlen(source)));
		if (p)
			frag_outfile_used(out, frag_put_json(p, source, strlen(source)));
		writer_put(w, "}");
	}
	if (object)
		writer_put(w, ",\"events\":[");
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

/*
 * A time that came as text is written as it was, so that reading and writing
 * changes no digit.
 */
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

void frag_writer_event(struct frag_writer *w, const struct frag_record *rec)
{
	char *p = frag_outfile_room(w->out, writer_room_of(rec));

	if (!p)
		return;
	if (w->object)
		p = writer_put_word(p, w->events ? ",\n" : "\n");
	else if (!w->events)
		p = writer_put_word(p, "}\n"); /* the header */
	p = writer_put_word(
		writer_put_word(writer_put_word(p, "{\"op\":\""), frag_op_name(rec->op)), "\"");
	p = writer_put_words(put_numbers(p, rec), rec);
	p = writer_put_word(p, w->object ? "}" : "}\n");
	frag_outfile_used(w->out, p);
	w->events++;
}

/* A header and nothing else would be no trace; an object without events is one. */
void frag_writer_end(struct frag_writer *w)
{
	if (w->object)
		writer_put(w, "\n]}\n");
	else if (!w->events)
		writer_put(w, ",\"events\":[]}\n");
}

static int json_begin(struct frag_sink *s, const struct frag_trace_info *info,
		      struct frag_error *err)
{
	frag_writer_begin(&s->writer, s->out, strcmp(s->ops->name, "object") == 0, info->devices,
			  info->device_count, info->meta, NULL);
	return frag_outfile_status(s->out, err);
}

static int json_event(struct frag_sink *s, const struct frag_record *rec,
		      const struct frag_event *ev, struct frag_error *err)
{
	(void)ev;
	s->lost[FRAG_LOSS_STACKS] += (rec->members & FRAG_HAS_STACK) != 0;
	frag_writer_event(&s->writer, rec);
	return frag_outfile_status(s->out, err);
}

static int json_end(struct frag_sink *s, struct frag_error *err)
{
	frag_writer_end(&s->writer);
	return frag_outfile_status(s->out, err);
}

static const struct frag_sink_ops lines = {
	.name = "lines",
	.summary = "fragsim's own JSON, an event a line",
	.ending = ".ndjson",
	.lossless = true,
	.begin = json_begin,
	.event = json_event,
	.end = json_end,
};

static const struct frag_sink_ops object = {
	.name = "object",
	.summary = "fragsim's own JSON, one object",
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

const struct frag_sink_ops *frag_sink_ending(const char *path, size_t length)
{
	for (uint32_t i = 0; sinks[i]; i++) {
		size_t n = sinks[i]->ending ? strlen(sinks[i]->ending) : 0;

		if (n && length > n && memcmp(path + length - n, sinks[i]->ending, n) == 0)
			return sinks[i];
	}
	return NULL;
}

/*
 * snprintf() returns the length of the full text, so `used` may exceed the buffer's size: then
 * the text is cut and the loop ends.
 */
void frag_sink_losses(const struct frag_sink *s, char *buf, size_t size)
{
	static const char *const words[FRAG_LOSS_COUNT][2] = {
#define X(name, singular, plural) { singular, plural },
		FRAG_LOSSES(X)
#undef X
	};
	size_t used = 0;

	FRAG_ASSERT(size > 0);
	*buf = '\0';
	for (uint32_t i = 0; i < FRAG_LOSS_COUNT && used < size; i++) {
		if (!s->lost[i])
			continue;
		if (i == FRAG_LOSS_META)
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
						 words[i][0]);
		else
			used += (size_t)snprintf(buf + used, size - used, "%s%" PRIu64 " %s",
						 used ? ", " : "", s->lost[i],
						 words[i][s->lost[i] != 1]);
	}
}
