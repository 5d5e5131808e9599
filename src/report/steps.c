/* steps.c - a row of metrics a step, as CSV or NDJSON. */
#include "report/put.h"
#include "report/rows.h"

/* All numbers of a row, with their names as NDJSON; ids and times come on top. */
#define ROW_ROOM 1024

void frag_steps_header(struct frag_outfile *out, bool policy)
{
	static const char header[] =
		"step,t,device,op,id,size,status,requested,allocated,active,reserved,free,"
		"largest_free,releasable,stranded,waste,device_free,process_used,fi,fi_device,"
		"internal,utilization,segments,blocks\n";

	if (policy)
		frag_outfile_write(out, "policy,", 7);
	frag_outfile_write(out, header, sizeof(header) - 1);
}

static size_t room(const struct frag_rows *rows, const struct frag_event *ev)
{
	size_t n = ROW_ROOM + rows->prefix_length;

	if (ev->id.text)
		n += (size_t)ev->id.number * 6;
	return ev->members & FRAG_HAS_T ? n + ev->t_text.length : n;
}

/* As the trace wrote it, where it is text. */
static char *put_t(char *p, const struct frag_event *ev)
{
	return ev->t_text.text ? put_bytes(p, ev->t_text.text, ev->t_text.length)
			       : frag_put_double(p, ev->t);
}

static char *put_metrics_csv(char *p, const struct frag_metrics *m)
{
#define X(name)                                                               \
	if (!m->opaque || !frag_metric_is_opaque(#name))                      \
		p = frag_put_u64(p, m->name);                                 \
	*p++ = ',';
	FRAG_METRICS_BEFORE_DEVICE(X)
#undef X
#define X(name) p = frag_put_u64(p, m->name); *p++ = ',';
	if (m->limited)
		p = frag_put_i64(p, m->device_free);
	*p++ = ',';
	X(process_used)
#undef X
#define X(name)                                                               \
	if (!m->opaque || !frag_metric_is_opaque(#name))                      \
		p = frag_put_fixed4(p, m->name);                              \
	*p++ = ',';
	FRAG_METRICS_PERCENT(X)
#undef X
	p = frag_put_u64(p, m->segments);
	*p++ = ',';
	p = frag_put_u64(p, m->blocks);
	*p++ = '\n';
	return p;
}

static char *put_csv(char *p, const struct frag_rows *rows, const struct frag_step *step)
{
	const struct frag_event *ev = step->event;

	p = put_bytes(p, rows->prefix, rows->prefix_length);
	p = frag_put_u64(p, ev->step);
	*p++ = ',';
	if (ev->members & FRAG_HAS_T)
		p = put_t(p, ev);
	*p++ = ',';
	p = frag_put_u64(p, step->device);
	*p++ = ',';
	p = put_word(p, frag_op_name((enum frag_op)ev->op));
	*p++ = ',';
	if (shows_id(ev))
		p = ev->id.text ? frag_put_csv(p, ev->id.text, (size_t)ev->id.number)
				: frag_put_u64(p, ev->id.number);
	*p++ = ',';
	if (shows_size(ev))
		p = frag_put_u64(p, ev->bytes);
	*p++ = ',';
	p = put_word(p, frag_step_status_name(step->status));
	*p++ = ',';
	return put_metrics_csv(p, step->metrics);
}

static char *put_metrics_json(char *p, const struct frag_metrics *m)
{
#define X(name)                                                               \
	p = PUT(p, ",\"" #name "\":");                                        \
	p = m->opaque && frag_metric_is_opaque(#name) ? PUT(p, "null")        \
						      : frag_put_u64(p, m->name);
	FRAG_METRICS_BEFORE_DEVICE(X)
#undef X
#define X(name) p = PUT(p, ",\"" #name "\":"); p = frag_put_u64(p, m->name);
	p = PUT(p, ",\"device_free\":");
	p = m->limited ? frag_put_i64(p, m->device_free) : PUT(p, "null");
	X(process_used)
#undef X
#define X(name)                                                               \
	p = PUT(p, ",\"" #name "\":");                                        \
	p = m->opaque && frag_metric_is_opaque(#name) ? PUT(p, "null")        \
						      : frag_put_fixed4(p, m->name);
	FRAG_METRICS_PERCENT(X)
#undef X
#define X(name) p = PUT(p, ",\"" #name "\":"); p = frag_put_u64(p, m->name);
	FRAG_METRICS_COUNT(X)
#undef X
	return p;
}

static char *put_json(char *p, const struct frag_rows *rows, const struct frag_step *step)
{
	const struct frag_event *ev = step->event;

	*p++ = '{';
	p = put_bytes(p, rows->prefix, rows->prefix_length);
	p = put_member(p, "step", ev->step);
	p = PUT(p, ",\"t\":");
	p = ev->members & FRAG_HAS_T ? put_t(p, ev) : PUT(p, "null");
	p = PUT(p, ",\"device\":");
	p = frag_put_u64(p, step->device);
	p = PUT(p, ",\"op\":\"");
	p = put_word(p, frag_op_name((enum frag_op)ev->op));
	p = PUT(p, "\",\"id\":");
	p = shows_id(ev) ? put_handle_json(p, &ev->id) : PUT(p, "null");
	p = PUT(p, ",\"size\":");
	p = shows_size(ev) ? frag_put_u64(p, ev->bytes) : PUT(p, "null");
	p = PUT(p, ",\"status\":\"");
	p = put_word(p, frag_step_status_name(step->status));
	*p++ = '"';
	p = put_metrics_json(p, step->metrics);
	*p++ = '}';
	*p++ = '\n';
	return p;
}

int frag_steps_observe(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	struct frag_rows *rows = ctx;
	char *p = frag_outfile_room(rows->out, room(rows, step->event));

	if (p)
		frag_outfile_used(rows->out, rows->form == FRAG_ROWS_CSV
				  ? put_csv(p, rows, step) : put_json(p, rows, step));
	return rows->out->failed ? frag_outfile_status(rows->out, err) : 0;
}
