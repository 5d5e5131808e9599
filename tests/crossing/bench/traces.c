/* traces.c - a workload as files: the lines form, the object form on one line, the binary form. */
#include <string.h>

#include "base/format.h"
#include "base/atomic_file.h"
#include "crossing/bench/bench.h"
#include "trace/trace_formats.h"

#define EVENT_ROOM 256
#define PUT(p, literal) ((char *)memcpy((p), (literal), sizeof(literal) - 1) + sizeof(literal) - 1)

static const char header[] = "{\"format\":\"fragsim-trace\",\"version\":1,"
	"\"device\":{\"name\":\"none\",\"total_bytes\":0},\"meta\":{\"source\":\"bench\"}";

/* As short as can be; where there are tags, with all that the recorder writes. */
static char *put_event(char *p, const struct bench_op *op)
{
	p = op->bytes ? PUT(p, "{\"op\":\"alloc\",\"id\":") : PUT(p, "{\"op\":\"free\",\"id\":");
	p = frag_put_u64(p, op->id);
	if (op->bytes)
		p = frag_put_u64(PUT(p, ",\"size\":"), op->bytes);
	if (op->tag && op->bytes)
		p = PUT(p, ",\"stream\":0");
	if (op->tag)
		p = frag_put_u64(PUT(p, ",\"t\":"), op->t);
	if (op->tag && op->bytes) {
		p = bench_tag(PUT(p, ",\"tag\":\""), op->tag);
		*p++ = '"';
	}
	*p++ = '}';
	return p;
}

static void put_trace(struct bench_workload *w, struct frag_outfile *f, bool lines)
{
	struct bench_op op;

	frag_outfile_write(f, header, sizeof(header) - 1);
	if (lines)
		frag_outfile_write(f, "}", 1);
	else
		frag_outfile_write(f, ",\"events\":[", 11);
	while (bench_workload_next(w, &op)) {
		char *p = frag_outfile_room(f, EVENT_ROOM);

		if (!p)
			return;
		if (lines)
			*p++ = '\n';
		else if (w->made > 1)
			*p++ = ',';
		frag_outfile_used(f, put_event(p, &op));
	}
	if (lines)
		frag_outfile_write(f, "\n", 1);
	else
		frag_outfile_write(f, "]}", 2);
}

static int write_trace(struct bench_subject *s, const char *path, bool lines,
		       struct frag_error *err)
{
	struct bench_workload w;
	struct frag_outfile f;
	int rc;

	if (!bench_workload_init(&w, &s->spec))
		return frag_fail_nomem(err);
	rc = frag_outfile_open(&f, path, err);
	if (!rc) {
		put_trace(&w, &f, lines);
		rc = frag_outfile_commit(&f, err);
	}
	s->allocs = w.allocs;
	s->peak = w.peak;
	bench_workload_fini(&w);
	return rc;
}

int bench_write_traces(struct bench_subject *s, bool lines, bool object, struct frag_error *err)
{
	int rc = lines ? write_trace(s, s->lines, true, err) : 0;

	return rc || !object ? rc : write_trace(s, s->object, false, err);
}

static int copy(struct frag_trace *trace, struct frag_sink *sink, struct frag_error *err)
{
	struct frag_batch batch = { .count = 1 };
	int rc = sink->ops->begin(sink, frag_trace_info(trace), err);

	while (!rc && batch.count) {
		rc = frag_trace_next(trace, &batch, err);
		for (uint32_t i = 0; !rc && i < batch.count; i++)
			rc = sink->ops->event(sink, &batch.records[i], &batch.events[i], err);
	}
	return rc ? rc : sink->ops->end(sink, err);
}

int bench_write_binary(const struct bench_subject *s, struct frag_error *err)
{
	const struct frag_trace_options options = { .records = true };
	struct frag_outfile out = { .fd = -1 };
	struct frag_sink sink = { .ops = frag_sink_named("fsb"), .out = &out };
	struct frag_trace *trace = NULL;
	int rc = frag_trace_open(&trace, s->lines, &options, err);

	rc = rc ? rc : frag_outfile_open(&out, s->binary, err);
	rc = rc ? rc : copy(trace, &sink, err);
	rc = rc ? rc : frag_outfile_commit(&out, err);
	if (sink.state)
		sink.ops->fini(&sink);
	frag_outfile_abandon(&out);
	frag_trace_close(trace);
	return rc;
}
