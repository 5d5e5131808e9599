/* row_writer.c - a line for each step: metrics as CSV or NDJSON, placements as NDJSON. */
#include "answers/row_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers/append.h"
#include "base/array_grow.h"
#include "base/atomic_file.h"
#include "base/bug.h"
#include "base/format.h"
#include "events/id_map.h"
#include "base/parse.h"
#include "metrics/metric.h"

struct frag_row_column frag_row_column(uint32_t i)
{
	static const struct frag_row_column of_step[FRAG_COLUMN_METRICS] = {
		[FRAG_COLUMN_STEP] = { "step", "number of the event", NULL },
		[FRAG_COLUMN_T] = { "t", "time of the event", NULL },
		[FRAG_COLUMN_DEVICE] = { "device", "ordinal of the device", NULL },
		[FRAG_COLUMN_OP] = { "op", "what the event does", NULL },
		[FRAG_COLUMN_ID] = { "id", "block of the event", NULL },
		[FRAG_COLUMN_SIZE] = { "size", "bytes requested", NULL },
		[FRAG_COLUMN_STATUS] = { "status", "ok, oom or skipped", NULL },
	};
	const struct frag_metric *m;

	if (i < FRAG_COLUMN_METRICS)
		return of_step[i];
	m = &frag_metric_table()[i - FRAG_COLUMN_METRICS];
	return (struct frag_row_column){ m->name, m->text, m };
}

/* The columns in the order of their numbers, with or without the optional ones. */
static struct frag_columns columns_in_order(bool requested)
{
	struct frag_columns columns = { .count = 0 };

	for (uint32_t i = 0; i < FRAG_COLUMN_ALL; i++)
		if (requested || i < FRAG_COLUMN_METRICS || !frag_row_column(i).metric->requested)
			columns.at[columns.count++] = (uint8_t)i;
	return columns;
}

static int columns_add(struct frag_columns *columns, const char *word, size_t length,
		       struct frag_error *err)
{
	const int shown = length < 64 ? (int)length : 64;
	struct frag_suggestion near = frag_near_to(word, length);
	char hint[FRAG_HINT_ROOM];

	for (uint32_t i = 0; i < FRAG_COLUMN_ALL; i++) {
		const char *name = frag_row_column(i).name;

		frag_near_offer(&near, name);
		if (strlen(name) != length || memcmp(name, word, length) != 0)
			continue;
		if (memchr(columns->at, (int)i, columns->count))
			return frag_fail(err, FRAG_EUSAGE, "--columns: %s is named twice", name);
		columns->at[columns->count++] = (uint8_t)i;
		return 0;
	}
	return frag_fail(err, FRAG_EUSAGE,
			 "--columns: no such column \"%.*s\";%s"
			 " fragsim-result(5) lists them, and \"all\" selects every one",
			 shown, word, frag_near_hint(&near, "", hint));
}

int frag_columns_parse(struct frag_columns *columns, const char *text, struct frag_error *err)
{
	int rc = 0;

	if (!text || strcmp(text, "all") == 0) {
		*columns = columns_in_order(text != NULL);
		return 0;
	}
	columns->count = 0;
	for (size_t length; !rc; text += length + 1) {
		length = strcspn(text, ",");
		rc = columns_add(columns, text, length, err);
		if (!text[length])
			break;
	}
	return rc;
}

int frag_rows_ending(const char *option, const char *path, enum frag_rows_form usual,
		     enum frag_rows_form *form, struct frag_error *err)
{
	const char *const name = frag_file_name(path), *dot;
	size_t length;

	frag_packing_of(name, &length);
	dot = name + length;
	while (dot > name && *--dot != '.')
		;
	length -= (size_t)(dot - name);
	*form = usual;
	if (*dot != '.' || (usual == FRAG_ROWS_CSV && length == 4 && memcmp(dot, ".csv", 4) == 0))
		return 0;
	*form = FRAG_ROWS_NDJSON;
	if ((length == 7 && memcmp(dot, ".ndjson", 7) == 0)
	    || (length == 6 && memcmp(dot, ".jsonl", 6) == 0))
		return 0;
	return frag_fail(err, FRAG_EUSAGE,
			 "--%s %.200s: no format of rows has this ending (%s.ndjson, .jsonl, each also"
			 " with .gz or .zst)",
			 option, path, usual == FRAG_ROWS_CSV ? ".csv, " : "");
}

static void add_cell(struct frag_rows *rows, uint8_t column)
{
	const char *comma = rows->cell_count ? "," : "";
	struct frag_row_cell *cell = &rows->cells[rows->cell_count++];
	int length;

	cell->column = column;
	cell->metric = frag_row_column(column).metric;
	if (rows->form == FRAG_ROWS_CSV)
		length = snprintf(cell->before, sizeof(cell->before), "%s", comma);
	else
		length = snprintf(cell->before, sizeof(cell->before), "%s\"%s\":", comma,
				  frag_row_column(column).name);
	FRAG_ASSERT(length >= 0 && (size_t)length < sizeof(cell->before));
	cell->before_length = (uint8_t)length;
}

/* The first line of a CSV of steps. */
static void put_header(struct frag_outfile *out, const struct frag_columns *columns, bool policy)
{
	if (policy)
		frag_outfile_write(out, "policy,", 7);
	for (uint32_t i = 0; i < columns->count; i++) {
		const char *name = frag_row_column(columns->at[i]).name;

		frag_outfile_write(out, name, strlen(name));
		frag_outfile_write(out, i + 1 < columns->count ? "," : "\n", 1);
	}
}

/*
 * What all rows of a run begin with is formatted once: only the policy's name
 * needs escaping, and it never changes.
 */
bool frag_rows_init(struct frag_rows *rows, struct frag_outfile *out, enum frag_rows_form form,
		    const struct frag_columns *columns, const char *policy, bool many_devices,
		    bool first)
{
	char *p;

	*rows = (struct frag_rows){ .out = out, .form = form, .many_devices = many_devices };
	for (uint32_t i = 0; columns && i < columns->count; i++)
		add_cell(rows, columns->at[i]);
	p = rows->prefix = malloc((policy ? strlen(policy) * 6 : 0) + 32);
	if (!p)
		return false;
	if (policy && form == FRAG_ROWS_CSV) {
		p = frag_put_csv(p, policy, strlen(policy));
		*p++ = ',';
	} else if (policy) {
		memcpy(p, "\"policy\":", 9);
		p = frag_put_json(p + 9, policy, strlen(policy));
		*p++ = ',';
	}
	rows->prefix_length = (size_t)(p - rows->prefix);
	if (first && form == FRAG_ROWS_CSV)
		put_header(out, columns, policy != NULL);
	return true;
}

void frag_rows_fini(struct frag_rows *rows)
{
	for (uint32_t i = 0; i < rows->id_count; i++)
		free(rows->ids[i]);
	free(rows->ids);
	free(rows->prefix);
	rows->ids = NULL;
	rows->prefix = NULL;
	rows->id_count = rows->id_capacity = 0;
}

/* A number, with the column's name as NDJSON; ids and times come on top. */
#define COLUMN_ROOM 48

static size_t steps_room(const struct frag_rows *rows, const struct frag_event *ev)
{
	size_t n = (FRAG_COLUMN_ALL + 1) * COLUMN_ROOM + rows->prefix_length;

	if (ev->id.text)
		n += (size_t)ev->id.number * 6;
	return ev->members & FRAG_HAS_T ? n + ev->t_text.length : n;
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

/* What has no value: CSV leaves its place empty. */
static char *put_nothing(char *p, bool json)
{
	return json ? PUT(p, "null") : p;
}

/* A column about the step itself; a missing value is null in NDJSON and empty in CSV. */
static char *put_of_step(char *p, const struct frag_step *step, enum frag_row_column_number column,
			 bool json)
{
	const struct frag_event *ev = step->event;

	switch (column) {
	case FRAG_COLUMN_STEP:
		return frag_put_u64(p, ev->step);
	case FRAG_COLUMN_T:
		if (!(ev->members & FRAG_HAS_T))
			return put_nothing(p, json);
		/* as the trace wrote it, where it is text */
		return ev->t_text.text ? put_bytes(p, ev->t_text.text, ev->t_text.length)
				       : frag_put_double(p, ev->t);
	case FRAG_COLUMN_DEVICE:
		return frag_put_u64(p, step->device);
	case FRAG_COLUMN_OP:
		return steps_put_name(p, frag_op_name((enum frag_op)ev->op), json);
	case FRAG_COLUMN_ID:
		if (!shows_id(ev))
			return put_nothing(p, json);
		return json || !ev->id.text ? put_handle_json(p, &ev->id)
					    : frag_put_csv(p, ev->id.text, (size_t)ev->id.number);
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

static char *put_cell(char *p, const struct frag_row_cell *cell, const struct frag_step *step,
		      bool json)
{
	/* all of it, as a copy of a known length is an instruction or two */
	memcpy(p, cell->before, sizeof(cell->before));
	p += cell->before_length;
	if (cell->metric)
		return steps_put_metric(p, step->metrics, cell->metric, json);
	return put_of_step(p, step, (enum frag_row_column_number)cell->column, json);
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

#define LINE_ROOM 512
#define CALL_ROOM 128

/* One call as an element of its list. */
static char *placements_put_call(char *p, const struct frag_call *c)
{
	if (c->kind == FRAG_CALL_RELEASE || c->kind == FRAG_CALL_RELEASE_RANGE)
		return frag_put_u64(p, c->ordinal);
	*p++ = '{';
	p = put_member(p, "segment", c->ordinal);
	if (c->kind == FRAG_CALL_MAP || c->kind == FRAG_CALL_UNMAP)
		p = put_member(PUT(p, ","), "offset", c->offset);
	p = put_member(PUT(p, ","), "bytes", c->bytes);
	if (c->kind == FRAG_CALL_NEW_RANGE)
		p = PUT(p, ",\"expandable\":true");
	*p++ = '}';
	return p;
}

/* The calls of these two kinds as a member of this name; nothing where there is none. */
static char *put_calls(char *p, const struct frag_step *step, const char *name,
		       enum frag_call_kind a, enum frag_call_kind b)
{
	bool any = false;

	for (uint32_t i = 0; i < step->call_count; i++) {
		const struct frag_call *c = &step->calls[i];

		if (c->kind != a && c->kind != b)
			continue;
		*p++ = ',';
		if (!any)
			p = PUT(put_word(PUT(p, "\""), name), "\":[");
		any = true;
		p = placements_put_call(p, c);
	}
	if (any)
		*p++ = ']';
	return p;
}

static char *placements_put_place(char *p, const struct frag_step *step)
{
	if (step->status == FRAG_STEP_OOM)
		return PUT(p, ",\"oom\":true");
	if (!step->placed)
		return p;
	*p++ = ',';
	if (step->event->bytes) {
		p = put_member(p, "segment", step->segment);
		p = put_member(PUT(p, ","), "offset", step->offset);
		*p++ = ',';
	}
	return put_member(p, "bytes", step->bytes);
}

/* Where blocks are that the policy has moved for this request. */
static char *put_moves(char *p, const struct frag_rows *rows, const struct frag_step *step)
{
	for (uint32_t i = 0; i < step->move_count && rows->follows; i++) {
		const struct frag_step_move *m = &step->moves[i];

		p = i ? PUT(p, ",{\"id\":") : PUT(p, ",\"moved\":[{\"id\":");
		p = put_word(p, rows->ids[m->slot]);
		p = put_member(PUT(p, ","), "segment", m->segment);
		p = put_member(PUT(p, ","), "offset", m->offset);
		p = put_member(PUT(p, ","), "bytes", m->bytes);
		*p++ = '}';
	}
	if (step->move_count && rows->follows)
		*p++ = ']';
	return p;
}

/* The id of the block that is in a slot from here on. False: out of memory. */
static bool keep_id(struct frag_rows *rows, const struct frag_event *ev)
{
	if (!FRAG_EXTEND(rows->ids, rows->id_capacity, rows->id_count, ev->slot))
		return false;
	free(rows->ids[ev->slot]);
	rows->ids[ev->slot] = frag_id_json(&ev->id);
	return rows->ids[ev->slot] != NULL;
}

/*
 * Members that do not apply are omitted, so that lines of two runs differ only where
 * the runs decided differently.
 */
static char *placements_put_line(char *p, const struct frag_rows *rows,
				 const struct frag_step *step)
{
	const struct frag_event *ev = step->event;

	*p++ = '{';
	p = put_bytes(p, rows->prefix, rows->prefix_length);
	p = put_member(p, "step", ev->step);
	if (rows->many_devices)
		p = put_member(PUT(p, ","), "device", step->device);
	p = put_word(PUT(p, ",\"op\":\""), frag_op_name((enum frag_op)ev->op));
	*p++ = '"';
	if (shows_id(ev))
		p = put_handle_json(PUT(p, ",\"id\":"), &ev->id);
	p = placements_put_place(p, step);
	p = put_moves(p, rows, step);
	p = put_calls(p, step, "new", FRAG_CALL_NEW, FRAG_CALL_NEW_RANGE);
	p = put_calls(p, step, "mapped", FRAG_CALL_MAP, FRAG_CALL_MAP);
	p = put_calls(p, step, "unmapped", FRAG_CALL_UNMAP, FRAG_CALL_UNMAP);
	p = put_calls(p, step, "released", FRAG_CALL_RELEASE, FRAG_CALL_RELEASE_RANGE);
	*p++ = '}';
	*p++ = '\n';
	return p;
}

/* Nothing of steps without a decision. */
static int put_placement(struct frag_rows *rows, const struct frag_step *step,
			 struct frag_error *err)
{
	const struct frag_event *ev = step->event;
	size_t need = LINE_ROOM + rows->prefix_length + (size_t)step->call_count * CALL_ROOM;
	char *p;

	if (step->status == FRAG_STEP_SKIPPED
	    || (ev->op != FRAG_OP_ALLOC && ev->op != FRAG_OP_FREE && step->call_count == 0))
		return 0;
	if (rows->follows && ev->op == FRAG_OP_ALLOC && !keep_id(rows, ev))
		return frag_fail_nomem(err);
	if (ev->id.text)
		need += (size_t)ev->id.number * 6;
	for (uint32_t i = 0; i < step->move_count && rows->follows; i++)
		need += CALL_ROOM + strlen(rows->ids[step->moves[i].slot]);
	p = frag_outfile_room(rows->out, need);
	if (p)
		frag_outfile_used(rows->out, placements_put_line(p, rows, step));
	return rows->out->failed ? frag_outfile_status(rows->out, err) : 0;
}

int frag_rows_observe(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	struct frag_rows *rows = ctx;
	char *p;

	if (!rows->cell_count)
		return put_placement(rows, step, err);
	p = frag_outfile_room(rows->out, steps_room(rows, step->event));
	if (p)
		frag_outfile_used(rows->out, steps_put_row(p, rows, step));
	return rows->out->failed ? frag_outfile_status(rows->out, err) : 0;
}
