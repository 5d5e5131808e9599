/* steps.c - a row of metrics a step, as CSV or NDJSON. */
#include <string.h>

#include "metrics/metric.h"
#include "answers/append.h"
#include "answers/row_writer.h"

/* A number, with the column's name as NDJSON; ids and times come on top. */
#define COLUMN_ROOM 48

void frag_steps_header(struct frag_outfile *out, const struct frag_columns *columns, bool policy)
{
	if (policy)
		frag_outfile_write(out, "policy,", 7);
	for (uint32_t i = 0; i < columns->count; i++) {
		const char *name = frag_column_name(columns->at[i]);

		frag_outfile_write(out, name, strlen(name));
		frag_outfile_write(out, i + 1 < columns->count ? "," : "\n", 1);
	}
}

static size_t steps_room(const struct frag_rows *rows, const struct frag_event *ev)
{
	size_t n = (FRAG_COLUMN_ALL + 1) * COLUMN_ROOM + rows->prefix_length;

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

static char *steps_put_name(char *p, const char *name, bool json)
{
	if (json)
		*p++ = '"';
	p = put_word(p, name);
	if (json)
		*p++ = '"';
	return p;
}

static char *put_id(char *p, const struct frag_handle *id, bool json)
{
	if (json || !id->text)
		return put_handle_json(p, id);
	return frag_put_csv(p, id->text, (size_t)id->number);
}

/* What has no value: CSV leaves its place empty. */
static char *put_nothing(char *p, bool json)
{
	return json ? PUT(p, "null") : p;
}

static char *put_of_step(char *p, const struct frag_step *step, enum frag_column column, bool json)
{
	const struct frag_event *ev = step->event;

	switch (column) {
	case FRAG_COLUMN_STEP:
		return frag_put_u64(p, ev->step);
	case FRAG_COLUMN_T:
		return ev->members & FRAG_HAS_T ? put_t(p, ev) : put_nothing(p, json);
	case FRAG_COLUMN_DEVICE:
		return frag_put_u64(p, step->device);
	case FRAG_COLUMN_OP:
		return steps_put_name(p, frag_op_name((enum frag_op)ev->op), json);
	case FRAG_COLUMN_ID:
		return shows_id(ev) ? put_id(p, &ev->id, json) : put_nothing(p, json);
	case FRAG_COLUMN_SIZE:
		return shows_size(ev) ? frag_put_u64(p, ev->bytes) : put_nothing(p, json);
	case FRAG_COLUMN_STATUS:
	case FRAG_COLUMN_METRICS:
	case FRAG_COLUMN_ALL:
		break;
	}
	return steps_put_name(p, frag_step_status_name(step->status), json);
}

static char *steps_put_metric(char *p, const struct frag_metrics *m,
			      const struct frag_metric *metric, bool json)
{
	const union frag_metric_value value = frag_metric_get(m, metric);

	if (!is_known(m, metric))
		return put_nothing(p, json);
	switch (metric->unit) {
	case FRAG_METRIC_BYTES:
	case FRAG_METRIC_COUNT:
		return frag_put_u64(p, value.u);
	case FRAG_METRIC_SIGNED:
		return frag_put_i64(p, value.i);
	case FRAG_METRIC_PERCENT:
		break;
	}
	return frag_put_fixed4(p, value.d);
}

static char *put_cell(char *p, const struct frag_cell *cell, const struct frag_step *step,
		      bool json)
{
	/* all of it, as a copy of a known length is an instruction or two */
	memcpy(p, cell->before, sizeof(cell->before));
	p += cell->before_length;
	if (cell->metric)
		return steps_put_metric(p, step->metrics, cell->metric, json);
	return put_of_step(p, step, (enum frag_column)cell->column, json);
}

static char *steps_put_row(char *p, const struct frag_rows *rows, const struct frag_step *step)
{
	const bool json = rows->form == FRAG_ROWS_NDJSON;

	if (json)
		*p++ = '{';
	p = put_bytes(p, rows->prefix, rows->prefix_length);
	for (uint32_t i = 0; i < rows->cell_count; i++)
		p = put_cell(p, &rows->cells[i], step, json);
	if (json)
		*p++ = '}';
	*p++ = '\n';
	return p;
}

int frag_steps_observe(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	struct frag_rows *rows = ctx;
	char *p = frag_outfile_room(rows->out, steps_room(rows, step->event));

	if (p)
		frag_outfile_used(rows->out, steps_put_row(p, rows, step));
	return rows->out->failed ? frag_outfile_status(rows->out, err) : 0;
}
