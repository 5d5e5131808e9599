/* plan_file.c - a plan out of a file: JSON or CSV. */
#include "plan/plan_file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/output_path.h"
#include "base/parse.h"
#include "base/c_locale.h"
#include "input/json_scan.h"
#include "input/input.h"

/* -FRAG_ETRACE with the line and the column of a byte of the text. */
__attribute__((format(printf, 4, 5))) static int plan_file_bad(const struct frag_plan_file *f,
							       const char *at,
							       struct frag_error *err,
							       const char *format, ...)
{
	const char *line = f->text;
	uint64_t number = 1;
	char what[400];
	va_list args;

	for (const char *p = f->text; p < at; p++)
		if (*p == '\n') {
			number++;
			line = p + 1;
		}
	va_start(args, format);
	frag_vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	if (f->path)
		return frag_fail(err, FRAG_ETRACE, "%s:%" PRIu64 ":%" PRIu64 ": %s", f->path,
				 number, (uint64_t)(at - line) + 1, what);
	return frag_fail(err, FRAG_ETRACE, "line %" PRIu64 ", column %" PRIu64 ": %s", number,
			 (uint64_t)(at - line) + 1, what);
}

static struct frag_plan_row *add(struct frag_plan_file *f)
{
	if (!FRAG_GROW(f->rows, f->capacity, f->count))
		return NULL;
	f->rows[f->count] = (struct frag_plan_row){ .step = 0 };
	return &f->rows[f->count++];
}

/* While JSON is read. The first failure is noted, and ends everything. */
struct json {
	struct frag_plan_file *f;
	struct frag_scan scan;
	struct frag_error *err;
	int rc;
};

static const char *fail(struct json *j, const char *at, const char *what)
{
	if (!j->rc)
		j->rc = plan_file_bad(j->f, at, j->err, "%s", what);
	return NULL;
}

/* What the scanner found, where it found anything. */
static const char *checked(struct json *j, const char *p)
{
	if (p)
		return p;
	if (j->scan.fail == FRAG_SCAN_MORE)
		return fail(j, j->scan.end, "truncated: the input ends here");
	return fail(j, j->scan.fail_at, j->scan.fail_text);
}

static bool is(struct frag_text name, const char *word)
{
	return strlen(word) == name.length && memcmp(name.text, word, name.length) == 0;
}

static const char *plan_file_take_number(struct json *j, const char *p, uint64_t *out)
{
	const char *after = frag_scan_integer(p, out);

	return after ? after : fail(j, p, "an integer from 0 to 2^53-1 is required");
}

static const char *take_name(struct json *j, const char *p, struct frag_handle *out)
{
	struct frag_text text;

	if (*p != '"') {
		*out = (struct frag_handle){ .text = NULL };
		return plan_file_take_number(j, p, &out->number);
	}
	p = checked(j, frag_scan_string(&j->scan, p + 1, &text));
	if (p)
		*out = (struct frag_handle){ .text = text.text, .number = text.length };
	return p;
}

static const char *plan_file_take_text(struct json *j, const char *p, const char *word,
				       const char *wrong)
{
	struct frag_handle text = { .text = NULL };
	const char *after = *p == '"' ? take_name(j, p, &text) : NULL;

	if (j->rc)
		return NULL;
	if (!after || !is((struct frag_text){ text.text, (uint32_t)text.number }, word))
		return fail(j, p, wrong);
	return after;
}

enum {
	ROW_ID = 1, ROW_STEP = 2, ROW_END = 4, ROW_SIZE = 8, ROW_OFFSET = 16, ROW_POOL = 32,
	ROW_DEVICE = 64, ROW_ALL = 127,
};

static const char *take_member(struct json *j, const char *p, struct frag_text name,
			       struct frag_plan_row *row, uint32_t *seen)
{
	const struct {
		const char *name;
		uint32_t bit;
		uint64_t *number;
	} numbers[] = {
		{ "step", ROW_STEP, &row->step }, { "end", ROW_END, &row->end },
		{ "size", ROW_SIZE, &row->size }, { "offset", ROW_OFFSET, &row->offset },
	};
	uint64_t device;
	const char *after;

	for (uint32_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!is(name, numbers[i].name))
			continue;
		*seen |= numbers[i].bit;
		return plan_file_take_number(j, p, numbers[i].number);
	}
	if (is(name, "id") || is(name, "pool")) {
		*seen |= is(name, "id") ? ROW_ID : ROW_POOL;
		return take_name(j, p, is(name, "id") ? &row->id : &row->pool);
	}
	if (is(name, "device")) {
		after = plan_file_take_number(j, p, &device);
		row->device = (uint32_t)device;
		*seen |= ROW_DEVICE;
		return after && device > INT32_MAX ? fail(j, p, "no such device") : after;
	}
	row->carried = row->carried || (is(name, "carried") && *p == 't');
	return checked(j, frag_scan_skip(&j->scan, p, 3));
}

static const char *plan_file_take_row(struct json *j, const char *p)
{
	struct frag_plan_row *row = add(j->f);
	const char *begin = p;
	uint32_t seen = 0;
	bool end = false;

	if (!row) {
		j->rc = frag_fail_nomem(j->err);
		return NULL;
	}
	if (*p != '{')
		return fail(j, p, "a buffer is required, an object");
	p = checked(j, frag_scan_space(&j->scan, p + 1));
	while (p && !end) {
		struct frag_text name;

		p = checked(j, frag_scan_name(&j->scan, p, &name));
		p = p ? take_member(j, p, name, row, &seen) : NULL;
		p = p ? checked(j, frag_scan_next(&j->scan, p, '}', &end)) : NULL;
	}
	if (!p)
		return NULL;
	if (seen != ROW_ALL)
		return fail(j, begin, "a buffer requires id, step, end, size, offset, pool and"
			    " device");
	if (!row->size || row->end <= row->step)
		return fail(j, begin, "a buffer has at least one byte and one step");
	if (row->offset + row->size >= FRAG_SIZE_LIMIT)
		return fail(j, begin, "offset and size of a buffer total 2^53 or more");
	return p;
}

static const char *plan_file_take_rows(struct json *j, const char *p)
{
	bool end;

	if (*p != '[')
		return fail(j, p, "an array of buffers is required");
	p = checked(j, frag_scan_space(&j->scan, p + 1));
	if (p && *p == ']')
		return p + 1;
	for (end = false; p && !end;) {
		p = plan_file_take_row(j, p);
		p = p ? checked(j, frag_scan_next(&j->scan, p, ']', &end)) : NULL;
	}
	return p;
}

/* 16 digits, as a result has them. */
static const char *take_content(struct json *j, const char *p)
{
	struct frag_handle text = { .text = NULL };
	const char *after = take_name(j, p, &text);
	char digits[17] = "";

	if (!after)
		return NULL;
	if (!text.text || text.number != 16 || strspn(text.text, "0123456789abcdef") < 16)
		return fail(j, p, "the content of a trace is required, 16 digits");
	memcpy(digits, text.text, 16);
	j->f->content = strtoull(digits, NULL, 16);
	return after;
}

enum { HEAD_FORMAT = 1, HEAD_VERSION = 2, HEAD_BUFFERS = 4, HEAD_ALL = 7 };

static const char *take_head(struct json *j, const char *p, struct frag_text name, uint32_t *seen)
{
	uint64_t version;
	const char *after;

	if (is(name, "format")) {
		*seen |= HEAD_FORMAT;
		return plan_file_take_text(j, p, "fragsim-plan",
					   "a plan is required: \"fragsim-plan\"");
	}
	if (is(name, "version")) {
		*seen |= HEAD_VERSION;
		after = plan_file_take_number(j, p, &version);
		return after && version != 1 ? fail(j, p, "this version is not supported") : after;
	}
	if (is(name, "buffers")) {
		if (*seen & HEAD_BUFFERS)
			return fail(j, p, "buffers are specified more than once");
		*seen |= HEAD_BUFFERS;
		return plan_file_take_rows(j, p);
	}
	if (is(name, "content"))
		return take_content(j, p);
	if (is(name, "height"))
		return plan_file_take_number(j, p, &j->f->height);
	return checked(j, frag_scan_skip(&j->scan, p, 2));
}

static int parse_json(struct frag_plan_file *f, size_t length, struct frag_error *err)
{
	struct json j = { .f = f, .err = err };
	const char *p = f->text;
	uint32_t seen = 0;
	bool end = false;

	f->scratch = malloc(length + 1);
	if (!f->scratch)
		return frag_fail_nomem(err);
	j.scan = (struct frag_scan){ .end = f->text + length, .scratch = f->scratch };
	p = checked(&j, frag_scan_space(&j.scan, p));
	if (p && *p != '{')
		return plan_file_bad(f, p, err,
				     "a plan is required: fragsim's JSON, or minimalloc's CSV");
	p = p ? checked(&j, frag_scan_space(&j.scan, p + 1)) : NULL;
	while (p && !end) {
		struct frag_text name;

		p = checked(&j, frag_scan_name(&j.scan, p, &name));
		p = p ? take_head(&j, p, name, &seen) : NULL;
		p = p ? checked(&j, frag_scan_next(&j.scan, p, '}', &end)) : NULL;
	}
	if (!p)
		return j.rc;
	if (seen != HEAD_ALL)
		return plan_file_bad(f, f->text, err,
				     "a plan requires format, version and buffers");
	p += strspn(p, " \t\r\n");
	return p == j.scan.end ? 0
			       : plan_file_bad(f, p, err, "bytes after the end of the document");
}

enum { CSV_ID, CSV_LOWER, CSV_UPPER, CSV_SIZE, CSV_OFFSET, CSV_ALIGN, CSV_OTHER, CSV_COLUMNS };
#define FIELDS_MAX 16

static const struct {
	const char *name;
	int column;
} columns[] = {
	{ "id", CSV_ID }, { "buffer", CSV_ID }, { "buffer_id", CSV_ID },
	{ "lower", CSV_LOWER }, { "begin", CSV_LOWER }, { "start", CSV_LOWER },
	{ "upper", CSV_UPPER }, { "end", CSV_UPPER },
	{ "size", CSV_SIZE }, { "offset", CSV_OFFSET }, { "alignment", CSV_ALIGN },
};

static int column_of(struct frag_text field)
{
	for (uint32_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (is(field, columns[i].name))
			return columns[i].column;
	return CSV_OTHER;
}

/* The next line, without its end. False: there is none. */
static bool plan_file_next_line(const char **p, struct frag_text *line)
{
	const size_t length = strcspn(*p, "\n");

	if (!**p)
		return false;
	*line = (struct frag_text){ *p, (uint32_t)length };
	if (length && (*p)[length - 1] == '\r')
		line->length--;
	*p += length + ((*p)[length] == '\n');
	return true;
}

static int csv_row(struct frag_plan_file *f, struct frag_text line, const int *column,
		   uint32_t fields, struct frag_error *err)
{
	struct frag_text field[FIELDS_MAX], by[CSV_COLUMNS] = { { .text = NULL } };
	struct frag_plan_row *row = add(f);
	uint64_t numbers[CSV_COLUMNS] = { 0 };

	if (!row)
		return frag_fail_nomem(err);
	if (frag_text_split(line, field, FIELDS_MAX) != fields)
		return plan_file_bad(f, line.text, err,
				     "%" PRIu32 " fields, as in the first line, are"
				     " required",
				     fields);
	for (uint32_t i = 0; i < fields; i++)
		by[column[i]] = field[i];
	for (int c = CSV_LOWER; c <= CSV_ALIGN; c++)
		if ((c <= CSV_SIZE || by[c].length) && !frag_parse_count(by[c].text, by[c].length, &numbers[c]))
			return plan_file_bad(f, by[c].text, err,
					     "an integer from 0 to 2^53-1 is required");
	row->id = (struct frag_handle){ .text = by[CSV_ID].text, .number = by[CSV_ID].length };
	if (frag_parse_count(by[CSV_ID].text, by[CSV_ID].length, &numbers[CSV_ID])
	    && (by[CSV_ID].length == 1 || *by[CSV_ID].text != '0'))
		row->id = (struct frag_handle){ .number = numbers[CSV_ID] };
	row->step = numbers[CSV_LOWER];
	row->end = numbers[CSV_UPPER];
	row->size = numbers[CSV_SIZE];
	row->offset = numbers[CSV_OFFSET];
	row->placed = by[CSV_OFFSET].length;
	row->align = numbers[CSV_ALIGN];
	if (row->offset + row->size >= FRAG_SIZE_LIMIT)
		return plan_file_bad(f, row->placed ? by[CSV_OFFSET].text : by[CSV_SIZE].text, err,
				     "offset and size of a buffer total 2^53 or"
				     " more");
	return 0;
}

static int parse_csv(struct frag_plan_file *f, struct frag_error *err)
{
	struct frag_text field[FIELDS_MAX], line = { .text = f->text };
	int column[FIELDS_MAX], rc = 0;
	const char *p = f->text;
	uint32_t fields, seen = 0;

	f->csv = true;
	plan_file_next_line(&p, &line);
	fields = frag_text_split(line, field, FIELDS_MAX);
	if (fields > FIELDS_MAX)
		return plan_file_bad(f, f->text, err, "more than %d columns", FIELDS_MAX);
	for (uint32_t i = 0; i < fields; i++) {
		column[i] = column_of(field[i]);
		if (column[i] != CSV_OTHER && seen & 1U << column[i])
			return plan_file_bad(f, field[i].text, err, "a column is specified more than once");
		seen |= 1U << column[i];
	}
	if (~seen & ((1U << CSV_OFFSET) - 1))
		return plan_file_bad(f, f->text, err,
				     "the columns id, lower, upper and size are required");
	while (!rc && plan_file_next_line(&p, &line) && line.length)
		rc = csv_row(f, line, column, fields, err);
	return rc;
}

/* The text is the file's own from here on. */
static int plan_file_parse(struct frag_plan_file *f, size_t length, struct frag_error *err)
{
	const size_t blank = strspn(f->text, " \t\r\n");

	if (!length)
		return plan_file_bad(f, f->text, err, "the file is empty");
	if (f->text[blank] >= 'a' && f->text[blank] <= 'z')
		return parse_csv(f, err);
	return parse_json(f, length, err);
}

int frag_plan_file_parse(struct frag_plan_file *f, const char *path, const void *bytes,
			 size_t length, struct frag_error *err)
{
	*f = (struct frag_plan_file){
		.path = path, .text = calloc(length + FRAG_WINDOW_SLACK + 1, 1),
	};
	if (!f->text)
		return frag_fail_nomem(err);
	memcpy(f->text, bytes, length);
	return plan_file_parse(f, length, err);
}

int frag_plan_file_read(struct frag_plan_file *f, const char *path, struct frag_error *err)
{
	struct frag_input in;
	struct frag_whole whole;
	int rc = frag_input_open(&in, path, err);

	*f = (struct frag_plan_file){ .path = frag_input_name(path) };
	if (rc)
		return rc;
	rc = frag_input_fill(&in, 0, err);
	if (rc < 0) {
		frag_input_close(&in);
		return rc;
	}
	rc = frag_whole_read(&whole, &in, err);
	if (rc)
		return rc;
	f->text = whole.bytes;
	whole.bytes = NULL;
	rc = plan_file_parse(f, whole.length, err);
	frag_whole_fini(&whole);
	return rc;
}

void frag_plan_file_fini(struct frag_plan_file *f)
{
	free(f->text);
	free(f->scratch);
	free(f->rows);
	*f = (struct frag_plan_file){ .count = 0 };
}
