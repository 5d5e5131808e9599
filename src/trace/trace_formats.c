/* trace_formats.c - the table of formats in which a trace can be written, and JSON itself. */
#include "trace/trace_formats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "trace/reader.h"
#include "trace/fsb.h"
#include "trace/writer.h"

#define GRANULARITY (UINT64_C(2) << 20)         /* where a trace gives none */

static int begin_json(struct frag_sink *s, const struct frag_trace_info *info, bool object,
		      struct frag_error *err)
{
	struct frag_writer *w = malloc(sizeof(*w));

	if (!w)
		return frag_fail_nomem(err);
	s->state = w;
	frag_writer_begin(w, s->out, object, info->devices, info->device_count, info->meta, NULL);
	return frag_outfile_status(s->out, err);
}

static int object_begin(struct frag_sink *s, const struct frag_trace_info *info,
			struct frag_error *err)
{
	return begin_json(s, info, true, err);
}

static int lines_begin(struct frag_sink *s, const struct frag_trace_info *info,
		       struct frag_error *err)
{
	return begin_json(s, info, false, err);
}

static int json_event(struct frag_sink *s, const struct frag_record *rec,
		      const struct frag_event *ev, struct frag_error *err)
{
	(void)ev;
	s->lost[FRAG_LOSS_STACKS] += (rec->members & FRAG_HAS_STACK) != 0;
	frag_writer_event(s->state, rec);
	return frag_outfile_status(s->out, err);
}

static int json_end(struct frag_sink *s, struct frag_error *err)
{
	frag_writer_end(s->state);
	return frag_outfile_status(s->out, err);
}

static void json_fini(struct frag_sink *s)
{
	free(s->state);
}

static const struct frag_sink_ops lines = {
	.name = "lines",
	.summary = "fragsim's own JSON, an event a line",
	.ending = ".ndjson",
	.lossless = true,
	.begin = lines_begin,
	.event = json_event,
	.end = json_end,
	.fini = json_fini,
};

static const struct frag_sink_ops object = {
	.name = "object",
	.summary = "fragsim's own JSON, one object",
	.ending = ".json",
	.lossless = true,
	.begin = object_begin,
	.event = json_event,
	.end = json_end,
	.fini = json_fini,
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

void frag_sink_count_lost_header(struct frag_sink *s, const struct frag_trace_info *info)
{
	for (uint32_t i = 0; i < info->device_count; i++) {
		const struct frag_device_figures *d = &info->devices[i];

		s->lost[FRAG_LOSS_DEVICES] += (uint64_t)(d->name != NULL) + (d->total != 0)
			+ (d->context != 0) + (d->other != 0) + (d->granularity != GRANULARITY);
	}
	s->lost[FRAG_LOSS_META] += info->meta.text != NULL;
}
