/*
 * minimalloc_reader.c - minimalloc's buffers with their lifetimes, a CSV, read as a trace.
 *
 * Each row becomes an alloc and a free; those are put in the order of time, at equal times frees
 * first, else in the order of the rows.
 */
#include "trace/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/format.h"
#include "base/parse.h"
#include "input/json_scan.h"
#include "trace/csv_lines.h"

enum { ID, LOWER, UPPER, SIZE, ALIGNMENT, HINT, GAPS, OFFSET, COLUMNS };
#define REQUIRED 4

static const struct {
	const char *name;
	uint32_t column;
} names[] = {
	{ "id", ID }, { "buffer", ID }, { "buffer_id", ID },
	{ "lower", LOWER }, { "begin", LOWER }, { "start", LOWER },
	{ "upper", UPPER }, { "end", UPPER },
	{ "size", SIZE }, { "alignment", ALIGNMENT }, { "hint", HINT }, { "gaps", GAPS },
	{ "offset", OFFSET },
};
#define NAMES (sizeof(names) / sizeof(names[0]))

/* An alloc, a free, or a gap's begin or end; turns order those of one time. */
enum turn { TURN_FREE, TURN_GAP, TURN_GAP_END, TURN_ALLOC, TURN_FREE_EMPTY };

struct moment {
	int64_t  time;
	uint64_t id, size, line;        /* id: of a gap, its number */
	uint32_t row;                   /* number of the buffer */
	enum turn turn;
	bool     text_id;
};

struct minimalloc {
	struct frag_csv_file file;
	struct frag_buffered *buffered;
	uint32_t column[COLUMNS];       /* of each field: which column it is */
	uint32_t fields;
	bool inclusive;                 /* the column is `end`, and its times are the last ones */
	struct moment *moments;
	uint32_t count, capacity;
	struct frag_constraint *rows;   /* the places of all buffers, by row */
	uint32_t row_count, row_capacity;
	uint64_t aligned, gapped;       /* rows with what a trace cannot say */
	bool placed;
};

static uint32_t minimalloc_name_of(struct frag_text field)
{
	for (uint32_t i = 0; i < NAMES; i++)
		if (frag_text_equals(field, names[i].name))
			return i;
	return NAMES;
}

/* Columns go by name, in any order, with the aliases that the solver itself accepts. */
static int read_header(struct minimalloc *m, struct frag_error *err)
{
	static const char *const required[REQUIRED] = { "id", "lower", "upper", "size" };
	struct frag_text line = { .text = "" }, fields[COLUMNS];
	uint32_t seen = 0;
	char shown[48];
	int rc = frag_csv_next_line(&m->file, &line, err);

	if (rc < 0)
		return rc;
	m->fields = frag_csv_split(line, fields, COLUMNS);
	for (uint32_t i = 0; i < m->fields && i < COLUMNS; i++) {
		uint32_t name = minimalloc_name_of(fields[i]);

		if (name == NAMES)
			return frag_csv_bad(&m->file, fields[i].text, err,
				       "unknown column \"%s\"",
				       frag_csv_show(fields[i], shown));
		m->column[i] = names[name].column;
		if (seen & 1U << m->column[i])
			return frag_csv_bad(&m->file, fields[i].text, err,
				       "column \"%s\" is specified more than once",
				       frag_csv_show(fields[i], shown));
		seen |= 1U << m->column[i];
		m->inclusive = m->inclusive || strcmp(names[name].name, "end") == 0;
	}
	if (m->fields > COLUMNS)
		return frag_csv_bad(&m->file, line.text, err, "%u columns, but there are 8 at"
			       " most", m->fields);
	for (uint32_t i = 0; i < REQUIRED; i++)
		if (!(seen & 1U << i))
			return frag_csv_bad(&m->file, line.text, err,
				       "column \"%s\" is missing", required[i]);
	m->placed = seen & 1U << OFFSET;
	return 0;
}

static bool minimalloc_add(struct minimalloc *m, int64_t time, enum turn turn,
			   const struct moment *like)
{
	if (!FRAG_GROW(m->moments, m->capacity, m->count))
		return false;
	m->moments[m->count] = *like;
	m->moments[m->count].time = time;
	m->moments[m->count++].turn = turn;
	return true;
}

/* A number where it is one and is written as such, else a text. */
static bool read_id(struct minimalloc *m, struct frag_text field, struct moment *out)
{
	uint32_t number;

	if (frag_parse_count(field.text, field.length, &out->id)
	    && (field.length == 1 || *field.text != '0'))
		return true;
	out->text_id = true;
	if (!frag_buffered_text(m->buffered, field, &number))
		return false;
	out->id = number;
	return true;
}

/*
 * Gaps are "3-5 8-9", half open as lifetimes. One with a window, "3-5@0:64", in which the buffer
 * keeps a part of its bytes, is omitted: the buffer then keeps all. Of a gap that begins before
 * `lower` or ends after `upper` only the other end is a moment.
 */
static int read_gaps(struct minimalloc *m, struct frag_text field, int64_t lower, int64_t upper,
		     struct frag_error *err)
{
	struct frag_constraints *c = &m->buffered->constraints;
	const char *p = field.text;      /* NULL: there is no such column */
	const char *end = p ? p + field.length : NULL;

	while (p < end) {
		const size_t length = strcspn(p, " ,\r\n"), low = strcspn(p, "-");
		const size_t high = strcspn(p, "@ ,\r\n");
		const struct moment like = {
			.id = c->gap_count, .line = m->file.line, .row = m->row_count,
		};
		uint64_t numbers[2] = { 0 };
		int64_t from, to;

		if (length && (low >= high || !frag_parse_count(p, low, &numbers[0])
			       || !frag_parse_count(p + low + 1, high - low - 1, &numbers[1])
			       || numbers[1] + m->inclusive < numbers[0]))
			return frag_csv_bad(&m->file, p, err,
					    "gaps such as \"3-5 8-9\" are required");
		from = (int64_t)numbers[0];
		to = (int64_t)numbers[1] + m->inclusive;
		p += length + 1;
		if (length != high || from >= to || from >= upper || to <= lower)
			continue;
		if (!FRAG_GROW(c->gaps, c->gap_capacity, c->gap_count)
		    || (from > lower && !minimalloc_add(m, from, TURN_GAP, &like))
		    || (to < upper && !minimalloc_add(m, to, TURN_GAP_END, &like)))
			return frag_fail_nomem(err);
		c->scale += (from > lower ? 1U : 0) + (to < upper ? 1U : 0);
		c->gaps[c->gap_count++] =
			(struct frag_pause){ .step = m->row_count, .to = UINT64_MAX };
	}
	return 0;
}

/* The columns that only a plan uses. Without a hint minimalloc writes -1. */
static int read_constraint(struct minimalloc *m, const struct frag_text *by, struct frag_error *err)
{
	struct frag_constraint *c = &m->rows[m->row_count];
	int64_t hint = -1;
	char shown[48];

	*c = (struct frag_constraint){ .fixed = by[OFFSET].length };
	if (by[ALIGNMENT].length
	    && !frag_parse_count(by[ALIGNMENT].text, by[ALIGNMENT].length, &c->align))
		return frag_csv_wanted(&m->file, by[ALIGNMENT], "an alignment from 0 to 2^53-1",
				       err);
	if (c->fixed && !frag_parse_count(by[OFFSET].text, by[OFFSET].length, &c->offset))
		return frag_csv_wanted(&m->file, by[OFFSET], "an offset from 0 to 2^53-1", err);
	if (by[HINT].length && !frag_csv_integer(by[HINT], &hint))
		return frag_csv_wanted(&m->file, by[HINT], "a hint, an integer below 2^53,", err);
	if (c->align > 1 && c->offset % c->align)
		return frag_csv_bad(&m->file, by[OFFSET].text, err,
			       "the offset of \"%s\" is no multiple of its alignment",
			       frag_csv_show(by[ID], shown));
	c->hinted = hint >= 0;
	c->hint = c->hinted ? (uint64_t)hint : 0;
	m->aligned += c->align > 1;
	m->gapped += by[GAPS].length != 0;
	return 0;
}

/*
 * Lifetimes are half open; `end` names the last moment instead, which is one
 * earlier. An empty lifetime is freed after its alloc, though frees come first
 * otherwise.
 */
static int minimalloc_read_row(struct minimalloc *m, struct frag_text line, struct frag_error *err)
{
	struct frag_text f[COLUMNS], by[COLUMNS] = { { .text = NULL } };
	uint32_t count = frag_csv_split(line, f, COLUMNS);
	struct moment like = { .line = m->file.line };
	int64_t lower = 0, upper = 0;
	int rc;
	char shown[48];

	if (count != m->fields)
		return frag_csv_bad(&m->file, line.text, err, "%u fields, but %u columns",
			       count, m->fields);
	for (uint32_t i = 0; i < count; i++)
		by[m->column[i]] = f[i];
	if (by[ID].length == 0)
		return frag_csv_bad(&m->file, by[ID].text, err, "an empty id");
	if (!frag_csv_is_text(by[ID]))
		return frag_csv_bad(&m->file, by[ID].text, err, "an id that is no text: \"%s\"",
			       frag_csv_show(by[ID], shown));
	for (uint32_t c = LOWER; c <= UPPER; c++)
		if (!frag_csv_integer(by[c], c == LOWER ? &lower : &upper))
			return frag_csv_wanted(&m->file, by[c], "a time, an integer below 2^53,",
					       err);
	upper += m->inclusive;
	if (upper < lower)
		return frag_csv_bad(&m->file, by[UPPER].text, err, "the end, %" PRId64
			       ", is before the beginning, %" PRId64, upper, lower);
	if (!frag_parse_count(by[SIZE].text, by[SIZE].length, &like.size))
		return frag_csv_wanted(&m->file, by[SIZE], "a size from 0 to 2^53-1", err);
	rc = frag_buffered_afford(m->buffered, &m->file.in,
				  m->count * (sizeof(*m->moments) + sizeof(struct frag_row)
					      + sizeof(*m->rows)), err);
	if (!rc && !FRAG_GROW(m->rows, m->row_capacity, m->row_count))
		rc = frag_fail_nomem(err);
	rc = rc ? rc : read_constraint(m, by, err);
	rc = rc ? rc : read_gaps(m, by[GAPS], lower, upper, err);
	if (rc)
		return rc;
	like.row = m->row_count++;
	if (!read_id(m, by[ID], &like) || !minimalloc_add(m, lower, TURN_ALLOC, &like)
	    || !minimalloc_add(m, upper, upper == lower ? TURN_FREE_EMPTY : TURN_FREE, &like))
		return frag_fail_nomem(err);
	return 0;
}

static int minimalloc_in_order(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return frag_order_two(x->turn, y->turn, x->line, y->line);
}

/*
 * In the order of time, with frees before allocs, so that buffers which only touch
 * in time can share memory.
 */
static int minimalloc_make_rows(struct minimalloc *m, const struct frag_log *log,
				struct frag_error *err)
{
	struct frag_constraints *c = &m->buffered->constraints;
	uint64_t rank = 0;              /* of gaps: each end has its own part of a step */

	if (m->count == 0)
		return frag_fail(err, FRAG_ETRACE, "%s: a header and no rows", m->buffered->path);
	FRAG_SORT(m->moments, m->count, minimalloc_in_order);
	for (uint32_t i = 0; i < m->count; i++) {
		const struct moment *from = &m->moments[i];
		bool alloc = from->turn == TURN_ALLOC;
		struct frag_row *row;

		if (from->turn == TURN_GAP || from->turn == TURN_GAP_END) {
			*(from->turn == TURN_GAP ? &c->gaps[from->id].from
						 : &c->gaps[from->id].to) =
				(m->buffered->count - UINT64_C(1)) * c->scale + ++rank;
			continue;
		}
		row = frag_buffered_add(m->buffered);
		if (!row)
			return frag_fail_nomem(err);
		if (alloc)
			m->rows[from->row].step = m->buffered->count - 1;
		row->op = alloc ? FRAG_OP_ALLOC : FRAG_OP_FREE;
		row->size = alloc ? from->size : 0;
		row->id = from->id;
		row->t = (double)from->time;
		row->place = from->line;
		row->members = (uint8_t)(FRAG_ROW_T | (from->text_id ? FRAG_ROW_TEXT_ID : 0));
	}
	for (uint32_t i = 0; i < c->gap_count; i++)
		c->gaps[i].step = m->rows[c->gaps[i].step].step;
	c->of = m->rows;
	m->rows = NULL;
	for (uint32_t i = 0; i < m->row_count; i++)
		if (c->of[i].align > 1 || c->of[i].hinted || c->of[i].fixed)
			c->of[c->count++] = c->of[i];
	if (m->aligned)
		frag_note(log,
			  "%s: only fragsim plan uses the alignments of %" PRIu64 " buffers",
			  m->buffered->path, m->aligned);
	if (m->gapped)
		frag_note(log,
			  "%s: only fragsim plan uses the gaps of %" PRIu64 " buffers",
			  m->buffered->path, m->gapped);
	if (m->placed)
		frag_note(log, "%s: only fragsim plan uses the column \"offset\"",
			  m->buffered->path);
	return 0;
}

static int minimalloc_read_all(struct minimalloc *m, const struct frag_log *log,
			       struct frag_error *err)
{
	struct frag_text line;
	int rc = read_header(m, err);

	while (!rc) {
		rc = frag_csv_next_line(&m->file, &line, err);
		/* an empty line ends the buffers, whatever follows */
		if (rc <= 0 || line.length == 0)
			break;
		rc = minimalloc_read_row(m, line, err);
	}
	return rc < 0 ? rc : minimalloc_make_rows(m, log, err);
}

static int minimalloc_open(struct frag_reading *out, struct frag_input *in,
			   const struct frag_log *log, struct frag_error *err)
{
	struct minimalloc m = { .file = { .in = *in } };
	int rc;

	m.buffered = frag_buffered_new(in->path, "line");
	rc = m.buffered ? minimalloc_read_all(&m, log, err) : frag_fail_nomem(err);
	if (!rc)
		rc = frag_buffered_open(out, m.buffered, 1, &m.file.in, err);
	else
		frag_buffered_del(m.buffered);
	free(m.moments);
	free(m.rows);
	frag_input_close(&m.file.in);
	return rc;
}

/* A first line of nothing but names of columns, with id and size among them. */
static enum frag_sniff minimalloc_sniff(const char *bytes, size_t length)
{
	const char *end = memchr(bytes, '\n', length);
	struct frag_text line = { .text = bytes }, fields[COLUMNS];
	uint32_t count, seen = 0;
	size_t n = end ? (size_t)(end - bytes) : length;

	for (size_t i = 0; i < n; i++)
		if (i > 256 || (bytes[i] != ',' && bytes[i] != '_' && bytes[i] != '\r'
				&& (bytes[i] < 'a' || bytes[i] > 'z')))
			return FRAG_SNIFF_NO;
	if (!end)
		return FRAG_SNIFF_MORE;
	line.length = (uint32_t)(n && bytes[n - 1] == '\r' ? n - 1 : n);
	count = frag_csv_split(line, fields, COLUMNS);
	for (uint32_t i = 0; i < count && i < COLUMNS; i++) {
		uint32_t name = minimalloc_name_of(fields[i]);

		seen |= name < NAMES ? 1U << names[name].column : 0;
	}
	return seen & 1U << SIZE && seen & 1U << ID ? FRAG_SNIFF_YES : FRAG_SNIFF_NO;
}

const struct frag_reader frag_reader_minimalloc = {
	.name = "minimalloc",
	.sniff = minimalloc_sniff,
	.open = minimalloc_open,
};
