/*
 * csv.c - traces as other programs' CSV, read and written: the log of RMM's
 * logging_resource_adaptor, and minimalloc's buffers with their lifetimes.
 *
 * The quirks of RMM's log over the years: times with a colon before the microseconds, null
 * as (nil), 0x0 or 0, streams with 0x or without. Times have no date, so they
 * begin again at midnight.
 *
 * Of minimalloc each row becomes an alloc and a free; those are put in the order of time, at
 * equal times frees first, else in the order of the rows.
 *
 * Neither format has names of blocks: written, RMM's pointers and minimalloc's ids are numbers in
 * the order of allocation.
 */
#include "trace/reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/format.h"
#include "base/atomic_file.h"
#include "base/parse.h"
#include "input/json_scan.h"

#define DAY_US INT64_C(86400000000)

/* Lines of a text file through the window, and fields between commas. */
struct csv_file {
	struct frag_input in;
	size_t at;              /* the window is used up to here */
	size_t begin;           /* of the line given last, in the window */
	uint64_t line;          /* its number, from 1 */
};

/*
 * The next line without its end, valid until the next call: 1; 0 at the end. A line that the
 * window cuts is searched again from its start once that is the window's first byte. Only the last
 * line of the file may lack its end.
 */
static int csv_next_line(struct csv_file *f, struct frag_text *line, struct frag_error *err)
{
	for (;;) {
		const char *begin = f->in.buf + f->at;
		const char *end = memchr(begin, '\n', f->in.end - f->at);
		size_t length;
		int rc;

		if (!end && !f->in.eof) {
			rc = frag_input_fill(&f->in, f->at, err);
			f->at = 0;
			if (rc < 0)
				return rc;
			continue;
		}
		if (!end && f->at == f->in.end)
			return 0;
		length = end ? (size_t)(end - begin) : f->in.end - f->at;
		f->begin = f->at;
		f->at += length + (end != NULL);
		f->line++;
		if (length && begin[length - 1] == '\r')
			length--;
		*line = (struct frag_text){ .text = begin, .length = (uint32_t)length };
		return 1;
	}
}

/* -FRAG_ETRACE with "PATH:LINE:COLUMN: ..."; at is within the line given last. */
__attribute__((format(printf, 4, 5)))
static int csv_bad(struct csv_file *f, const char *at, struct frag_error *err,
		   const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	frag_vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return frag_fail(err, FRAG_ETRACE, "%s:%" PRIu64 ":%zu: %s", f->in.path, f->line,
			 (size_t)(at - (f->in.buf + f->begin)) + 1, text);
}

/* Decimal digits with or without a sign, below 2^53. */
static bool csv_integer(struct frag_text field, int64_t *out)
{
	bool negative = field.length && *field.text == '-';
	uint64_t value;

	if (!frag_parse_count(field.text + negative, field.length - negative, &value))
		return false;
	*out = negative ? -(int64_t)value : (int64_t)value;
	return true;
}

/* Characters only: no control characters, and UTF-8 where it is not ASCII. */
static bool csv_is_text(struct frag_text field)
{
	const unsigned char *p = (const unsigned char *)field.text, *end = p + field.length;

	while (p < end) {
		uint32_t n = *p < 0x80 ? *p >= 0x20 && *p != 0x7f : frag_utf8_length(p);

		if (n == 0)
			return false;
		p += n;
	}
	return p == end;
}

/* For messages: at most 40 bytes, printable. */
static const char *csv_show(struct frag_text field, char buf[48])
{
	uint32_t n = field.length < 40 ? field.length : 40;

	for (uint32_t i = 0; i < n; i++)
		buf[i] = field.text[i] >= 0x20 && field.text[i] < 0x7f ? field.text[i] : '?';
	buf[n] = '\0';
	return buf;
}

static int csv_wanted(struct csv_file *f, struct frag_text field, const char *wanted,
		      struct frag_error *err)
{
	char shown[48];

	return csv_bad(f, field.text, err, "%s is required, not \"%s\"", wanted,
		       csv_show(field, shown));
}

/* Reading RMM -------------------------------------------------------------- */

enum { RMM_THREAD, RMM_TIME, RMM_ACTION, RMM_POINTER, RMM_SIZE, RMM_STREAM, RMM_FIELDS };

struct rmm {
	struct csv_file file;
	struct frag_buffered *buffered;
	struct frag_address_map addresses;
	int64_t first, last;    /* microseconds; of the first row, and of the last */
	int64_t days;
	bool any;
};

static bool two_digits(const char *p, int64_t max, int64_t *out)
{
	if (p[0] < '0' || p[0] > '9' || p[1] < '0' || p[1] > '9')
		return false;
	*out = (p[0] - '0') * 10 + (p[1] - '0');
	return *out <= max;
}

/* HH:MM:SS.ffffff, or with a colon in the point's place: microseconds of the day. */
static bool parse_time(struct frag_text t, int64_t *out)
{
	int64_t hours, minutes, seconds;
	uint64_t micros;

	if (t.length != 15 || t.text[2] != ':' || t.text[5] != ':'
	    || (t.text[8] != '.' && t.text[8] != ':') || !two_digits(t.text, 23, &hours)
	    || !two_digits(t.text + 3, 59, &minutes) || !two_digits(t.text + 6, 60, &seconds)
	    || !frag_parse_count(t.text + 9, 6, &micros))
		return false;
	*out = ((hours * 60 + minutes) * 60 + seconds) * 1000000 + (int64_t)micros;
	return true;
}

/* Hexadecimal, with 0x or without, or a null pointer as printf writes it. */
static bool parse_pointer(struct frag_text t, uint64_t *out)
{
	uint32_t i = t.length > 2 && t.text[0] == '0' && t.text[1] == 'x' ? 2 : 0;

	*out = 0;
	if (frag_text_equals(t, "(nil)"))
		return true;
	if (t.length == 0 || t.length - i > 16)
		return false;
	for (; i < t.length; i++) {
		char c = t.text[i];
		int digit = c >= '0' && c <= '9' ? c - '0'
			  : c >= 'a' && c <= 'f' ? c - 'a' + 10
			  : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;

		if (digit < 0)
			return false;
		*out = *out << 4 | (uint64_t)digit;
	}
	return true;
}

/* From the log's first row on; a step back of more than half a day is midnight. */
static double rmm_time_of(struct rmm *r, int64_t micros)
{
	micros += r->days * DAY_US;
	if (!r->any)
		r->first = r->last = micros;
	r->any = true;
	if (micros < r->last - DAY_US / 2) {
		r->days++;
		micros += DAY_US;
	}
	r->last = micros;
	return (double)(micros - r->first);
}

/* Fields between commas; nothing is quoted. How many there are, also where that is more than `max`. */
static uint32_t split_fields(struct frag_text line, struct frag_text *fields, uint32_t max)
{
	const char *p = line.text, *end = p + line.length;
	uint32_t count = 0;

	for (;;) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		const char *stop = comma ? comma : end;

		if (count < max)
			fields[count] = (struct frag_text){ p, (uint32_t)(stop - p) };
		count++;
		if (!comma)
			return count;
		p = comma + 1;
	}
}

/*
 * Fields are checked in the order of the line, so that the message is about the
 * first that is wrong.
 */
static int rmm_read_row(struct rmm *r, struct frag_text line, struct frag_error *err)
{
	struct frag_text f[RMM_FIELDS];
	uint32_t count = split_fields(line, f, RMM_FIELDS);
	struct frag_row row = { .place = r->file.line, .members = FRAG_ROW_T | FRAG_ROW_STREAM };
	uint64_t thread, pointer;
	int64_t micros;
	bool good;
	int rc;

	if (count != RMM_FIELDS)
		return csv_bad(&r->file, line.text, err, "%u fields where 6 are required ("
			       FRAG_RMM_HEADER ")", count);
	if (!frag_parse_count(f[RMM_THREAD].text, f[RMM_THREAD].length, &thread))
		return csv_wanted(&r->file, f[RMM_THREAD], "a thread's number", err);
	if (!parse_time(f[RMM_TIME], &micros))
		return csv_wanted(&r->file, f[RMM_TIME], "a time (HH:MM:SS.ffffff)", err);
	if (!parse_pointer(f[RMM_POINTER], &pointer))
		return csv_wanted(&r->file, f[RMM_POINTER], "a pointer in hexadecimal digits", err);
	if (!frag_parse_count(f[RMM_SIZE].text, f[RMM_SIZE].length, &row.size))
		return csv_wanted(&r->file, f[RMM_SIZE], "a size from 0 to 2^53-1", err);
	if (!parse_pointer(f[RMM_STREAM], &row.stream) || row.stream >= FRAG_SIZE_LIMIT)
		return csv_wanted(&r->file, f[RMM_STREAM], "a stream in hexadecimal digits, below 2^53", err);
	if (row.stream == 1)    /* cudaStreamLegacy is the null stream's other name */
		row.stream = 0;
	rc = frag_buffered_afford(r->buffered, &r->file.in,
				  r->addresses.count * sizeof(*r->addresses.entries), err);
	if (rc)
		return rc;
	row.t = rmm_time_of(r, micros);
	if (frag_text_equals(f[RMM_ACTION], "allocate")) {
		good = frag_address_map_alloc(&r->addresses, pointer, &row);
	} else if (frag_text_equals(f[RMM_ACTION], "free")) {
		good = frag_address_map_free(&r->addresses, pointer, &row);
	} else if (frag_text_equals(f[RMM_ACTION], "allocate failure")) {
		row.members = FRAG_ROW_T;
		good = frag_buffered_add_oom(r->buffered, &row);
	} else {
		return csv_wanted(&r->file, f[RMM_ACTION],
				  "\"allocate\", \"free\" or \"allocate failure\"", err);
	}
	return good ? 0 : frag_fail_nomem(err);
}

/*
 * The address map ends after the last row: only then is it known what was allocated
 * before the log.
 */
static int read_rows(struct rmm *r, const struct frag_log *log, struct frag_error *err)
{
	struct frag_text line;
	int rc = csv_next_line(&r->file, &line, err);

	if (rc == 1 && !frag_text_equals(line, FRAG_RMM_HEADER))
		return csv_bad(&r->file, line.text, err, "the header " FRAG_RMM_HEADER
			       " is expected here");
	while (rc == 1) {
		rc = csv_next_line(&r->file, &line, err);
		if (rc == 1 && line.length) {
			int bad = rmm_read_row(r, line, err);

			rc = bad ? bad : 1;
		}
	}
	if (rc < 0)
		return rc;
	if (r->buffered->count == 0)
		return frag_fail(err, FRAG_ETRACE, "%s: a header and no rows", r->buffered->path);
	return frag_address_map_end(&r->addresses, 0, log) ? 0 : frag_fail_nomem(err);
}

static int rmm_open(struct frag_reading *out, struct frag_input *in, const struct frag_log *log,
		    struct frag_error *err)
{
	struct rmm r = { .file = { .in = *in } };
	int rc;

	r.buffered = frag_buffered_new(in->path, "line");
	if (r.buffered && frag_address_map_init(&r.addresses, r.buffered))
		rc = read_rows(&r, log, err);
	else
		rc = frag_fail_nomem(err);
	frag_address_map_fini(&r.addresses);
	if (!rc)
		rc = frag_buffered_open(out, r.buffered, 1, &r.file.in, err);
	else
		frag_buffered_del(r.buffered);
	frag_input_close(&r.file.in);
	return rc;
}

static enum frag_sniff rmm_sniff(const char *bytes, size_t length)
{
	return frag_sniff_prefix(bytes, length, FRAG_RMM_HEADER, strlen(FRAG_RMM_HEADER));
}

const struct frag_reader frag_reader_rmm = {
	.name = "rmm",
	.summary = "CSV log of RMM (rapids memory manager)",
	.sniff = rmm_sniff,
	.open = rmm_open,
};

/* Reading minimalloc ------------------------------------------------------- */

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
	struct csv_file file;
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
	int rc = csv_next_line(&m->file, &line, err);

	if (rc < 0)
		return rc;
	m->fields = split_fields(line, fields, COLUMNS);
	for (uint32_t i = 0; i < m->fields && i < COLUMNS; i++) {
		uint32_t name = minimalloc_name_of(fields[i]);

		if (name == NAMES)
			return csv_bad(&m->file, fields[i].text, err,
				       "unknown column \"%s\"",
				       csv_show(fields[i], shown));
		m->column[i] = names[name].column;
		if (seen & 1U << m->column[i])
			return csv_bad(&m->file, fields[i].text, err,
				       "column \"%s\" is specified more than once",
				       csv_show(fields[i], shown));
		seen |= 1U << m->column[i];
		m->inclusive = m->inclusive || strcmp(names[name].name, "end") == 0;
	}
	if (m->fields > COLUMNS)
		return csv_bad(&m->file, line.text, err, "%u columns, but there are 8 at"
			       " most", m->fields);
	for (uint32_t i = 0; i < REQUIRED; i++)
		if (!(seen & 1U << i))
			return csv_bad(&m->file, line.text, err,
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
			return csv_bad(&m->file, p, err, "gaps such as \"3-5 8-9\" are required");
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
		c->gaps[c->gap_count++] = (struct frag_pause){ .step = m->row_count, .to = UINT64_MAX };
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
		return csv_wanted(&m->file, by[ALIGNMENT], "an alignment from 0 to 2^53-1", err);
	if (c->fixed && !frag_parse_count(by[OFFSET].text, by[OFFSET].length, &c->offset))
		return csv_wanted(&m->file, by[OFFSET], "an offset from 0 to 2^53-1", err);
	if (by[HINT].length && !csv_integer(by[HINT], &hint))
		return csv_wanted(&m->file, by[HINT], "a hint, an integer below 2^53,", err);
	if (c->align > 1 && c->offset % c->align)
		return csv_bad(&m->file, by[OFFSET].text, err,
			       "the offset of \"%s\" is no multiple of its alignment",
			       csv_show(by[ID], shown));
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
	uint32_t count = split_fields(line, f, COLUMNS);
	struct moment like = { .line = m->file.line };
	int64_t lower = 0, upper = 0;
	int rc;
	char shown[48];

	if (count != m->fields)
		return csv_bad(&m->file, line.text, err, "%u fields, but %u columns",
			       count, m->fields);
	for (uint32_t i = 0; i < count; i++)
		by[m->column[i]] = f[i];
	if (by[ID].length == 0)
		return csv_bad(&m->file, by[ID].text, err, "an empty id");
	if (!csv_is_text(by[ID]))
		return csv_bad(&m->file, by[ID].text, err, "an id that is no text: \"%s\"",
			       csv_show(by[ID], shown));
	for (uint32_t c = LOWER; c <= UPPER; c++)
		if (!csv_integer(by[c], c == LOWER ? &lower : &upper))
			return csv_wanted(&m->file, by[c], "a time, an integer below 2^53,", err);
	upper += m->inclusive;
	if (upper < lower)
		return csv_bad(&m->file, by[UPPER].text, err, "the end, %" PRId64
			       ", is before the beginning, %" PRId64, upper, lower);
	if (!frag_parse_count(by[SIZE].text, by[SIZE].length, &like.size))
		return csv_wanted(&m->file, by[SIZE], "a size from 0 to 2^53-1", err);
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
			*(from->turn == TURN_GAP ? &c->gaps[from->id].from : &c->gaps[from->id].to) =
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
		rc = csv_next_line(&m->file, &line, err);
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
	count = split_fields(line, fields, COLUMNS);
	for (uint32_t i = 0; i < count && i < COLUMNS; i++) {
		uint32_t name = minimalloc_name_of(fields[i]);

		seen |= name < NAMES ? 1U << names[name].column : 0;
	}
	return seen & 1U << SIZE && seen & 1U << ID ? FRAG_SNIFF_YES : FRAG_SNIFF_NO;
}

const struct frag_reader frag_reader_minimalloc = {
	.name = "minimalloc",
	.summary = "CSV of google/minimalloc: buffers with their lifetimes",
	.sniff = minimalloc_sniff,
	.open = minimalloc_open,
};

/* Writing both ------------------------------------------------------------- */

/* A live block, by slot. */
struct block {
	uint64_t number, size, begin;
};

struct csv {
	struct block *blocks;
	uint32_t count, capacity;
	uint64_t allocs;
	uint64_t step;          /* of the next event */
	uint64_t micros;        /* of the last time */
};

static int csv_begin(struct frag_sink *s, const struct frag_trace_info *info, const char *header,
		     struct frag_error *err)
{
	if (info->device_count > 1)
		return frag_fail(err, FRAG_EUSAGE, "%s: the form %s has one device, and the trace"
				 " has %u; fragsim slice --device takes one of them",
				 frag_input_name(info->path), s->ops->name, info->device_count);
	s->state = calloc(1, sizeof(struct csv));
	if (!s->state)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < info->device_count; i++) {
		const struct frag_device_figures *d = &info->devices[i];

		s->lost[FRAG_LOSS_DEVICES] += (uint64_t)(d->name != NULL) + (d->total != 0)
			+ (d->context != 0) + (d->other != 0) + (d->granularity != FRAG_GRANULARITY);
	}
	s->lost[FRAG_LOSS_META] += info->meta.text != NULL;
	frag_outfile_write(s->out, header, strlen(header));
	return frag_outfile_status(s->out, err);
}

static void csv_fini(struct frag_sink *s)
{
	struct csv *c = s->state;

	if (c)
		free(c->blocks);
	free(c);
}

static void lose(struct frag_sink *s, const struct frag_record *rec, bool streams, bool times)
{
	bool alloc = rec->op == FRAG_OP_ALLOC, block = alloc || rec->op == FRAG_OP_FREE;

	s->lost[FRAG_LOSS_IDS] += alloc;
	s->lost[FRAG_LOSS_POOLS] += alloc && rec->members & FRAG_HAS_POOL;
	s->lost[FRAG_LOSS_TAGS] += (rec->members & FRAG_HAS_TAG) != 0;
	s->lost[FRAG_LOSS_STACKS] += (rec->members & FRAG_HAS_STACK) != 0;
	s->lost[FRAG_LOSS_STREAMS] += block && rec->members & FRAG_HAS_STREAM
				      && (!streams || rec->stream.text);
	s->lost[FRAG_LOSS_TIMES] += block && rec->members & FRAG_HAS_T && !times;
	s->lost[FRAG_LOSS_PENDING] += rec->op == FRAG_OP_FREE && rec->members & FRAG_HAS_PENDING
				      && rec->pending;
	s->lost[FRAG_LOSS_MARKS] += rec->op == FRAG_OP_MARK;
	s->lost[FRAG_LOSS_OTHERS] += !block && rec->op != FRAG_OP_MARK;
}

/* The block of the event's slot, a new one for an alloc. NULL: out of memory. */
static struct block *csv_block_of(struct csv *c, const struct frag_event *ev)
{
	FRAG_ASSERT(ev->op == FRAG_OP_ALLOC || ev->slot < c->count);
	if (ev->op != FRAG_OP_ALLOC)
		return &c->blocks[ev->slot];
	if (!FRAG_GROW(c->blocks, c->capacity, ev->slot))
		return NULL;
	for (; c->count <= ev->slot; c->count++)
		c->blocks[c->count].begin = UINT64_MAX;
	c->blocks[ev->slot] = (struct block){
		.number = ++c->allocs, .size = ev->bytes, .begin = ev->step,
	};
	return &c->blocks[ev->slot];
}

static int rmm_begin(struct frag_sink *s, const struct frag_trace_info *info,
		     struct frag_error *err)
{
	return csv_begin(s, info, FRAG_RMM_HEADER "\n", err);
}

/*
 * RMM knows blocks by pointers: the number of the alloc in units of 256 bytes,
 * RMM's own alignment, makes one that never comes twice. An event without a time
 * has that of the one before.
 */
static int rmm_event(struct frag_sink *s, const struct frag_record *rec,
		     const struct frag_event *ev, struct frag_error *err)
{
	struct csv *c = s->state;
	bool whole = rec->t >= 0 && rec->t < 1e15 && rec->t == (double)(uint64_t)rec->t;
	bool timed = rec->members & FRAG_HAS_T && rec->t >= 0 && rec->t < 1e15;
	const struct block *b;
	uint64_t stream, t;
	char *p;

	lose(s, rec, true, timed && whole);
	if (ev->op != FRAG_OP_ALLOC && ev->op != FRAG_OP_FREE)
		return 0;
	b = csv_block_of(c, ev);
	p = b ? frag_outfile_room(s->out, 256) : NULL;
	if (!b)
		return frag_fail_nomem(err);
	if (!p)
		return frag_outfile_status(s->out, err);
	c->micros = timed ? (uint64_t)rec->t : c->micros;
	t = c->micros % DAY_US;         /* time of the day: it goes round as a clock does */
	stream = rec->members & FRAG_HAS_STREAM && !rec->stream.text ? rec->stream.number : 0;
	p += snprintf(p, 256, "0,%02u:%02u:%02u.%06u,%s,0x%" PRIx64 ",%" PRIu64 ",0x%" PRIx64 "\n",
		      (unsigned)(t / 3600000000), (unsigned)(t / 60000000 % 60),
		      (unsigned)(t / 1000000 % 60), (unsigned)(t % 1000000),
		      ev->op == FRAG_OP_ALLOC ? "allocate" : "free", b->number << 8, b->size,
		      stream);
	frag_outfile_used(s->out, p);
	return frag_outfile_status(s->out, err);
}

static int rmm_end(struct frag_sink *s, struct frag_error *err)
{
	return frag_outfile_status(s->out, err);
}

static int minimalloc_begin(struct frag_sink *s, const struct frag_trace_info *info,
			    struct frag_error *err)
{
	return csv_begin(s, info, "id,lower,upper,size\n", err);
}

static int csv_put_buffer(struct frag_sink *s, const struct block *b, uint64_t end,
			  struct frag_error *err)
{
	const uint64_t numbers[] = { b->number, b->begin, end, b->size };
	char *p = frag_outfile_room(s->out, 128);

	for (size_t i = 0; p && i < 4; i++) {
		p = frag_put_u64(p, numbers[i]);
		*p++ = i < 3 ? ',' : '\n';
	}
	if (p)
		frag_outfile_used(s->out, p);
	return frag_outfile_status(s->out, err);
}

/* Times are steps, so that no two things happen at once. */
static int minimalloc_event(struct frag_sink *s, const struct frag_record *rec,
			    const struct frag_event *ev, struct frag_error *err)
{
	struct csv *c = s->state;
	struct block *b;
	int rc;

	c->step = ev->step + 1;
	lose(s, rec, false, false);
	if (ev->op != FRAG_OP_ALLOC && ev->op != FRAG_OP_FREE)
		return 0;
	b = csv_block_of(c, ev);
	if (!b)
		return frag_fail_nomem(err);
	if (ev->op == FRAG_OP_ALLOC)
		return 0;
	rc = csv_put_buffer(s, b, ev->step, err);
	b->begin = UINT64_MAX;
	return rc;
}

/* What is still live lives to the end. */
static int minimalloc_end(struct frag_sink *s, struct frag_error *err)
{
	struct csv *c = s->state;
	int rc = 0;

	for (uint32_t i = 0; i < c->count && !rc; i++)
		if (c->blocks[i].begin != UINT64_MAX)
			rc = csv_put_buffer(s, &c->blocks[i], c->step, err);
	return rc ? rc : frag_outfile_status(s->out, err);
}

const struct frag_sink_ops frag_sink_rmm = {
	.name = "rmm",
	.summary = "CSV log of RMM",
	.begin = rmm_begin,
	.event = rmm_event,
	.end = rmm_end,
	.fini = csv_fini,
};

const struct frag_sink_ops frag_sink_minimalloc = {
	.name = "minimalloc",
	.summary = "CSV of google/minimalloc",
	.begin = minimalloc_begin,
	.event = minimalloc_event,
	.end = minimalloc_end,
	.fini = csv_fini,
};
