/* transform_trace.c - commands that read a trace and write one. */
#include "cmd/transform_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "cmd/loaded_trace.h"
#include "events/recording_info.h"
#include "trace/reader.h"
#include "verify/log_check.h"

static int no_form(const char *value, struct frag_error *err)
{
	struct frag_name_list names = { .used = 0 };

	for (uint32_t i = 0; frag_sinks()[i]; i++)
		frag_listed_add(&names, frag_sinks()[i]->name);
	return frag_fail(err, FRAG_EUSAGE, "--to %.60s: use %s",
			 value, frag_listed_text(&names, ", "));
}

int frag_rewrite_set_form(void *at, const struct frag_opt *o, const char *value,
			  struct frag_error *err)
{
	struct frag_rewrite *r = at;

	(void)o;
	r->form = frag_sink_named(value);
	return r->form ? 0 : no_form(value, err);
}

static int no_ending(const char *path, struct frag_error *err)
{
	struct frag_name_list endings = { .used = 0 };

	for (uint32_t i = 0; frag_sinks()[i]; i++)
		if (frag_sinks()[i]->ending)
			frag_listed_add(&endings, frag_sinks()[i]->ending);
	return frag_fail(err, FRAG_EUSAGE,
			 "%s: no format has this ending (%s,"
			 " each also with .gz or .zst); --to selects one", path,
			 frag_listed_text(&endings, ", "));
}

/* By a file's name without .gz and .zst. */
static const struct frag_sink_ops *sink_ending(const char *path, size_t length)
{
	for (const struct frag_sink_ops *const *sink = frag_sinks(); *sink; sink++) {
		const size_t n = (*sink)->ending ? strlen((*sink)->ending) : 0;

		if (n && length > n && memcmp(path + length - n, (*sink)->ending, n) == 0)
			return *sink;
	}
	return NULL;
}

int frag_rewrite_find_form(struct frag_rewrite *r, const char *path, struct frag_error *err)
{
	size_t length;

	r->packing = frag_packing_of(path, &length);
	if (r->form)
		return 0;
	r->form = strcmp(path, "-") == 0 ? frag_sink_named("lines")
					 : sink_ending(path, length);
	return r->form ? 0 : no_ending(path, err);
}

void frag_drop_beginning(struct frag_trace_info *head, const char *why, bool *quiet)
{
	const struct frag_first_state *b = head->beginning;
	char message[600];

	if (!b)
		return;
	head->beginning = NULL;
	snprintf(message, sizeof(message), "%.300s: the state at its beginning (%u segment%s, %u"
		 " block%s) is not written: %s", frag_input_name(head->path), b->segment_count,
		 frag_s(b->segment_count), b->block_count, frag_s(b->block_count), why);
	frag_warn(quiet, message);
}

/* Writes a batch, unless a signal came: -FRAG_EINTERRUPTED. 1: its last event is the last. */
static int copy_batch(struct frag_rewrite *r, const struct frag_batch *batch,
		      struct frag_sink *sink, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < batch->count && !rc; i++)
		rc = r->event ? r->event(r->ctx, sink, &batch->records[i], &batch->events[i], err)
			      : sink->ops->event(sink, &batch->records[i], &batch->events[i], err);
	if (!rc && frag_interrupted(NULL))
		rc = frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	return rc;
}

struct copy {
	struct frag_rewrite *rewrite;
	struct frag_trace *trace;
	const char *from;
};

/* Adds the marks of a PyTorch recording to a head without meta. */
static int transform_trace_begin(const struct copy *c, struct frag_sink *sink,
				 struct frag_error *err)
{
	struct frag_rewrite *r = c->rewrite;
	const struct frag_trace *const trace = c->trace;
	struct frag_trace_info head = *frag_trace_info(trace);
	char *mark = NULL;
	int rc = r->head ? r->head(r->ctx, &head, err) : 0;

	if (!rc && sink->ops->lossless)
		rc = frag_mark_head(&head, &mark, &trace, 1, !r->part,
				    FRAG_WARN_LOG(&r->quiet), err);
	rc = rc ? rc : sink->ops->begin(sink, &head, err);
	free(mark);
	return rc;
}

/* The trace is read to its end also after the last event, for its validity. */
static int copy(void *ctx, struct frag_sink *sink, struct frag_error *err)
{
	const struct copy *c = ctx;
	struct frag_rewrite *r = c->rewrite;
	struct frag_trace *trace = c->trace;
	struct frag_batch batch;
	bool last = false;
	int rc;

	sink->symbols = r->stacks == FRAG_STACKS_ALL || r->stacks == FRAG_STACKS_PYTHON
				? frag_trace_symbols(trace)
				: NULL;
	sink->snapshot = r->complete ? c->from : NULL;
	rc = transform_trace_begin(c, sink, err);
	while (!rc) {
		rc = frag_trace_next(trace, &batch, err);
		if (rc || batch.count == 0)
			break;
		rc = last ? 0 : copy_batch(r, &batch, sink, err);
		last = last || rc == 1;
		rc = rc == 1 ? 0 : rc;
	}
	rc = rc || !r->end ? rc : r->end(r->ctx, err);
	return rc ? rc : sink->ops->end(sink, err);
}

/*
 * What was lost, in one line; empty where nothing was. snprintf() returns the length of the full
 * text, so `used` may exceed the buffer's size: then the text is cut and the loop ends.
 */
static void list_losses(const struct frag_sink *s, char *buf, size_t size)
{
	static const char *const words[FRAG_LOSS_COUNT][2] = {
#define X(name, singular, plural) { singular, plural },
		FRAG_LOSSES(X)
#undef X
	};
	size_t used = 0;

	*buf = '\0';
	for (uint32_t i = 0; i < FRAG_LOSS_COUNT && used < size; i++) {
		if (!s->lost[i])
			continue;
		if (i == FRAG_LOSS_META || i == FRAG_LOSS_BEGINNING)
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
						 words[i][0]);
		else
			used += (size_t)snprintf(buf + used, size - used, "%s%" PRIu64 " %s",
						 used ? ", " : "", s->lost[i],
						 words[i][s->lost[i] != 1]);
	}
}

static void report_losses(struct frag_rewrite *r, const struct frag_sink *sink, const char *from)
{
	char losses[400], message[600];

	list_losses(sink, losses, sizeof(losses));
	if (!*losses)
		return;
	snprintf(message, sizeof(message), "%.100s: the form %s has no place for: %s", from,
		 sink->ops->name, losses);
	frag_warn(&r->quiet, message);
}

struct writing {
	const struct frag_rewrite *rewrite;
	int (*write)(void *ctx, struct frag_sink *sink, struct frag_error *err);
	void *ctx;
	struct frag_sink sink;
};

static int write_sink(void *ctx, struct frag_outfile *out, struct frag_error *err)
{
	struct writing *w = ctx;
	const int rc = frag_outfile_pack(out, w->rewrite->packing, err);

	w->sink.out = out;
	return rc ? rc : w->write(w->ctx, &w->sink, err);
}

/* Reports losses only of a file that is in its place: another one has lost nothing. */
int frag_rewrite_into(struct frag_rewrite *r, const char *from, const char *to,
		      int (*write)(void *ctx, struct frag_sink *sink, struct frag_error *err),
		      void *ctx, struct frag_error *err)
{
	struct writing w = { .rewrite = r, .write = write, .ctx = ctx, .sink.ops = r->form };
	const int rc = frag_write_file(to, false, write_sink, &w, err);

	if (!rc)
		report_losses(r, &w.sink, from);
	if (w.sink.ops->fini && w.sink.state)
		w.sink.ops->fini(&w.sink);
	return rc;
}

int frag_rewrite(struct frag_rewrite *r, const char *from, const char *to, struct frag_error *err)
{
	const struct frag_trace_options options = {
		.lenient = r->lenient, .records = true, .stacks = r->stacks,
		.log = { .warn = frag_warn, .ctx = &r->quiet },
	};
	struct copy c = { .rewrite = r, .from = from };
	int rc = frag_rewrite_find_form(r, to, err);

	rc = rc ? rc : frag_trace_open(&c.trace, from, &options, err);
	/* what is kept whole has its settings as the file has them */
	if (!rc && !r->complete)
		rc = frag_check_log_warn(c.trace, &options.log, err);
	if (!rc && r->complete && !frag_trace_snapshot(c.trace))
		rc = frag_fail(err, FRAG_ETRACE, "%s: no snapshot of PyTorch (%s), which --complete"
			       " keeps", from, frag_trace_info(c.trace)->form);
	rc = rc ? rc : frag_rewrite_into(r, from, to, copy, &c, err);
	frag_trace_close(c.trace);
	return frag_or_interrupted(rc, err);
}
