/*
 * plan_file.c - a plan out of a file, JSON or CSV, and the other columns of a CSV. A placement
 * is checked before it is believed.
 */
#include "plan/plan_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/atomic_file.h"
#include "base/parse.h"
#include "events/id_map.h"
#include "input/json_scan.h"
#include "input/input.h"

static const char *name_of(const struct frag_plan_file *f)
{
	return f->path ? f->path : "plan";
}

/* -FRAG_ETRACE with the line and the column of a byte of the text. */
static int plan_file_bad(const struct frag_plan_file *f, const char *at, struct frag_error *err,
			 const char *what)
{
	const char *line = f->text;
	uint64_t number = 1;

	for (const char *p = f->text; p < at; p++)
		if (*p == '\n') {
			number++;
			line = p + 1;
		}
	return frag_fail(err, FRAG_ETRACE, "%s:%" PRIu64 ":%" PRIu64 ": %s", name_of(f), number,
			 (uint64_t)(at - line) + 1, what);
}

static struct frag_plan_row *add_row(struct frag_plan_file *f)
{
	if (!FRAG_GROW(f->rows, f->capacity, f->count))
		return NULL;
	f->rows[f->count] = (struct frag_plan_row){ .step = 0 };
	return &f->rows[f->count++];
}

static bool take_number(const struct frag_value *value, uint64_t limit, uint64_t *out)
{
	return frag_value_u64(value, out) && *out < limit;
}

/* A number or a text. */
static bool take_name(const struct frag_value *value, struct frag_handle *out)
{
	*out = (struct frag_handle){ .text = NULL };
	if (!frag_is(value, FRAG_STRING))
		return take_number(value, FRAG_SIZE_LIMIT, &out->number);
	*out = (struct frag_handle){ .text = value->as.text, .number = value->length };
	return true;
}

/* Reads a buffer of a JSON plan, and refuses the first member that is wrong. */
static int take_json_row(struct frag_plan_file *f, const struct frag_value *buffer,
			 struct frag_layouts *layouts, struct frag_error *err)
{
	struct frag_plan_row *row = add_row(f);
	const struct frag_value *members[FRAG_MEMBERS_MAX], *carried;
	uint64_t device = 0, *const numbers[] = {
		&row->step, &row->end, &row->size, &row->offset, &device,
	};
	const char *wrong = NULL, *must = "an integer from 0 to 2^53-1";

	if (!row)
		return frag_fail_nomem(err);
	frag_dict_members(&f->values, buffer, layouts, members);
	for (uint32_t i = 0; i < 5 && !wrong; i++)
		if (!take_number(members[i], FRAG_SIZE_LIMIT, numbers[i]))
			wrong = layouts->names[i];
	for (uint32_t i = 5; i < 7 && !wrong; i++)
		if (!take_name(members[i], i == 5 ? &row->id : &row->pool)) {
			wrong = layouts->names[i];
			must = "a string, or an integer from 0 to 2^53-1";
		}
	carried = members[7];
	row->carried = frag_is(carried, FRAG_TRUTH) && carried->as.magnitude;
	row->device = (uint32_t)device;
	if (!wrong && device > INT32_MAX) {
		wrong = "device";
		must = "at most 2^31-1";
	} else if (!wrong && (!row->size || row->end <= row->step)) {
		wrong = row->size ? "end" : "size";
		must = row->size ? "larger than step" : "at least 1";
	} else if (!wrong && row->offset + row->size >= FRAG_SIZE_LIMIT) {
		wrong = "offset";
		must = "less than 2^53 - size";
	}
	return wrong ? frag_fail(err, FRAG_ETRACE, "%s: buffers[%" PRIu32 "]: \"%s\" must be %s",
				 name_of(f), f->count - 1, wrong, must) : 0;
}

static int take_json_rows(struct frag_plan_file *f, const struct frag_value *buffers,
			  struct frag_error *err)
{
	static const char *const names[] = { "step", "end", "size", "offset", "device", "id", "pool",
					     "carried" };
	struct frag_layouts layouts = { .names = names, .count = 8 };
	int rc = 0;

	for (uint32_t i = 0; i < frag_list_count(buffers) && !rc; i++)
		rc = take_json_row(f, frag_list_at(&f->values, buffers, i), &layouts, err);
	return rc;
}

/* The content of a trace is 16 digits, as a result has them. */
static int parse_json(struct frag_plan_file *f, size_t length, struct frag_error *err)
{
	struct frag_value root = { .kind = FRAG_NULL };
	const struct frag_value *buffers, *content, *height;
	const char *wrong = NULL;
	char digits[17] = "";
	uint64_t version;
	int rc;

	frag_values_init(&f->values, length, UINT64_MAX);
	rc = frag_value_json_read(&f->values, &root, f->text, length, name_of(f), err);
	if (rc)
		return rc;
	buffers = frag_dict_get(&f->values, &root, "buffers");
	content = frag_dict_get(&f->values, &root, "content");
	height = frag_dict_get(&f->values, &root, "height");
	if (!frag_text_is(frag_dict_get(&f->values, &root, "format"), "fragsim-plan"))
		wrong = "a plan is required, \"format\":\"fragsim-plan\", or minimalloc's CSV";
	else if (!take_number(frag_dict_get(&f->values, &root, "version"), 2, &version) || !version)
		wrong = "this version is not supported";
	else if (!frag_is(buffers, FRAG_LIST))
		wrong = "an array of buffers is required";
	else if (height && !take_number(height, FRAG_SIZE_LIMIT, &f->height))
		wrong = "a height from 0 to 2^53-1 is required";
	else if (content && (!frag_is(content, FRAG_STRING) || content->length != 16
			     || strspn(content->as.text, "0123456789abcdef") < 16))
		wrong = "the content of a trace is required, 16 digits";
	if (wrong)
		return frag_fail(err, FRAG_ETRACE, "%s: %s", name_of(f), wrong);
	if (content) {
		memcpy(digits, content->as.text, 16);
		f->content = strtoull(digits, NULL, 16);
	}
	return take_json_rows(f, buffers, err);
}

enum { CSV_ID, CSV_LOWER, CSV_UPPER, CSV_SIZE, CSV_OFFSET, CSV_ALIGN, CSV_HINT, CSV_GAPS, CSV_OTHER,
       CSV_COLUMNS };
#define FIELDS_MAX 16

static const struct {
	const char *name;
	int column;
} columns[] = {
	{ "id", CSV_ID }, { "buffer", CSV_ID }, { "buffer_id", CSV_ID },
	{ "lower", CSV_LOWER }, { "begin", CSV_LOWER }, { "start", CSV_LOWER },
	{ "upper", CSV_UPPER }, { "end", CSV_UPPER },
	{ "size", CSV_SIZE }, { "offset", CSV_OFFSET }, { "alignment", CSV_ALIGN },
	{ "hint", CSV_HINT }, { "gaps", CSV_GAPS },
};

static bool plan_file_is(struct frag_text field, const char *word)
{
	return strlen(word) == field.length && memcmp(field.text, word, field.length) == 0;
}

static int column_of(struct frag_text field)
{
	for (uint32_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (plan_file_is(field, columns[i].name))
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

/*
 * Gaps are "3-5 8-9", half open as lifetimes. One with a window, "3-5@0:64", in which the buffer
 * keeps a part of its bytes, is omitted: the buffer then keeps all.
 */
static int csv_gaps(struct frag_plan_file *f, struct frag_text field, struct frag_error *err)
{
	const char *p = field.text, *end = p + field.length;

	while (p < end) {
		const size_t length = strcspn(p, " ,\r\n"), low = strcspn(p, "-"), high = strcspn(p, "@ ,\r\n");
		struct frag_plan_gap gap = { .buffer = f->count - 1 };

		if (length && (low >= high
			       || !frag_parse_count(p, low, &gap.from)
			       || !frag_parse_count(p + low + 1, high - low - 1, &gap.to)
			       || gap.to + f->inclusive < gap.from))
			return plan_file_bad(f, p, err, "gaps such as \"3-5 8-9\" are required");
		gap.to += f->inclusive;
		if (length == high && gap.from < gap.to) {
			if (!frag_grow(&f->gaps, &f->gap_capacity, (uint64_t)f->gap_count + 1,
				       sizeof(*f->gaps)))
				return frag_fail_nomem(err);
			f->gaps[f->gap_count++] = gap;
		}
		p += length + 1;
	}
	return 0;
}

/* Reads a line of minimalloc's CSV; columns that are missing have no text. */
static int csv_row(struct frag_plan_file *f, struct frag_text line, const int *column,
		   uint32_t fields, struct frag_error *err)
{
	struct frag_text field[FIELDS_MAX], by[CSV_COLUMNS] = { { .text = NULL } };
	struct frag_plan_row *row = add_row(f);
	uint64_t numbers[CSV_COLUMNS] = { 0 };

	if (!row)
		return frag_fail_nomem(err);
	if (frag_text_split(line, field, FIELDS_MAX) != fields)
		return plan_file_bad(f, line.text, err, "as many fields as in the first line are required");
	for (uint32_t i = 0; i < fields; i++)
		by[column[i]] = field[i];
	for (int c = CSV_LOWER; c <= CSV_HINT; c++)
		if ((c <= CSV_SIZE || by[c].length)
		    && !frag_parse_count(by[c].text, by[c].length, &numbers[c]))
			return plan_file_bad(f, by[c].text, err,
					     "an integer from 0 to 2^53-1 is required");
	*row = (struct frag_plan_row){
		.id = { .text = by[CSV_ID].text, .number = by[CSV_ID].length },
		.step = numbers[CSV_LOWER], .end = numbers[CSV_UPPER] + f->inclusive,
		.size = numbers[CSV_SIZE], .offset = numbers[CSV_OFFSET],
		.placed = by[CSV_OFFSET].length, .align = numbers[CSV_ALIGN],
		.hint = numbers[CSV_HINT], .hinted = by[CSV_HINT].length,
	};
	if (frag_parse_count(by[CSV_ID].text, by[CSV_ID].length, &numbers[CSV_ID])
	    && (by[CSV_ID].length == 1 || *by[CSV_ID].text != '0'))
		row->id = (struct frag_handle){ .number = numbers[CSV_ID] };
	if (row->offset + row->size >= FRAG_SIZE_LIMIT)
		return plan_file_bad(f, row->placed ? by[CSV_OFFSET].text : by[CSV_SIZE].text, err,
				     "offset and size of a buffer total 2^53 or more");
	return csv_gaps(f, by[CSV_GAPS], err);
}

/* `end` is the last time of a buffer, and `upper` the one after it. */
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
		return plan_file_bad(f, f->text, err, "more than 16 columns");
	for (uint32_t i = 0; i < fields; i++) {
		column[i] = column_of(field[i]);
		if (column[i] != CSV_OTHER && seen & 1U << column[i])
			return plan_file_bad(f, field[i].text, err,
					     "a column is specified more than once");
		seen |= 1U << column[i];
		f->inclusive = f->inclusive || plan_file_is(field[i], "end");
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
	free(f->rows);
	free(f->gaps);
	frag_values_fini(&f->values);
	*f = (struct frag_plan_file){ .count = 0 };
}

/* While rows are compared with buffers. */
struct taker {
	struct frag_plan *plan;
	const struct frag_plan_file *file;
	struct frag_map by_id;          /* hash of an id -> a buffer; several of one id */
	bool *taken;                    /* by buffer */
	uint32_t *row_buffer;           /* by row: its buffer, or the count of them */
	uint32_t gap;                   /* of the file: the first one of the next row */
	struct frag_error *err;
};

#define ID_ROOM 120

/* For messages. */
static const char *id_text(char buf[ID_ROOM], const struct frag_handle *id)
{
	if (id->text)
		frag_format_printable(buf, ID_ROOM, "\"%.*s\"",
				      (int)(id->number < 60 ? id->number : 60), id->text);
	else
		frag_format_printable(buf, ID_ROOM, "%" PRIu64, id->number);
	return buf;
}

static uint64_t hash_of(const struct taker *t, const struct frag_handle *id)
{
	return id->text ? frag_hash_text(id->text, (size_t)id->number, t->by_id.seed)
			: frag_hash_mix(id->number + 1);
}

static bool plan_take_same(const struct frag_handle *a, const struct frag_handle *b)
{
	if (!a->text != !b->text || a->number != b->number)
		return false;
	return !a->text || memcmp(a->text, b->text, (size_t)a->number) == 0;
}

/*
 * The buffer of a row: of that id and that allocation step. A CSV may have other times: then an id
 * that only one buffer has is enough. The count: there is none.
 */
static uint32_t plan_take_buffer_of(const struct taker *t, const struct frag_plan_row *row)
{
	const uint64_t key = hash_of(t, &row->id);
	uint32_t at = frag_map_home(&t->by_id, key), i, only = t->plan->count, met = 0;

	while ((i = frag_map_next(&t->by_id, key, &at)) != FRAG_MAP_NONE) {
		if (!plan_take_same(&t->plan->buffers[i].id, &row->id))
			continue;
		if (t->plan->buffers[i].birth == row->step)
			return i;
		only = i;
		met++;
	}
	return t->file->csv && met == 1 ? only : t->plan->count;
}

static int refuse(struct taker *t, const char *what, const struct frag_handle *id, uint64_t step)
{
	char buf[ID_ROOM];

	return frag_fail(t->err, FRAG_ETRACE, "%s: buffer %s, from %s %" PRIu64 ", %s",
			 t->file->path, id_text(buf, id), t->file->csv ? "time" : "step", step,
			 what);
}

static int plan_take_take_row(struct taker *t, const struct frag_plan_row *row)
{
	const uint32_t i = plan_take_buffer_of(t, row);
	struct frag_buffer *b = &t->plan->buffers[i];

	/* a row of 0 bytes takes nothing, whatever its id is */
	if (!row->size)
		return 0;
	if (i == t->plan->count)
		return refuse(t, "is not one of the trace", &row->id, row->step);
	if (t->file->csv && !row->placed)
		return refuse(t, "has no offset", &row->id, row->step);
	if (t->taken[i])
		return refuse(t, "is specified more than once", &row->id, row->step);
	if (row->size < b->requested)
		return refuse(t, "is smaller than what the trace requests", &row->id, row->step);
	if (!t->file->csv && row->end != b->end)
		return refuse(t, "ends at another step of the trace", &row->id, row->step);
	if (!t->file->csv && row->device != t->plan->spaces[b->space].device)
		return refuse(t, "is on another device of the trace", &row->id, row->step);
	if (b->fixed && b->offset != row->offset)
		return refuse(t, "is not at its fixed offset", &row->id, row->step);
	if (b->align > 1 && row->offset % b->align)
		return refuse(t, "is not at a multiple of its alignment", &row->id, row->step);
	t->taken[i] = true;
	b->size = row->size;
	b->offset = row->offset;
	return 0;
}

/* Copies the offset, the alignment and the hint of a row to its buffer. */
static int plan_take_constraint(struct taker *t, const struct frag_plan_row *row)
{
	const uint32_t number = (uint32_t)(row - t->file->rows);
	const uint32_t i = plan_take_buffer_of(t, row);
	struct frag_buffer *b = &t->plan->buffers[i];
	bool gapped = false;

	for (; t->gap < t->file->gap_count && t->file->gaps[t->gap].buffer == number; t->gap++)
		gapped = true;
	t->row_buffer[number] = row->size ? i : t->plan->count;
	if (!row->size || (!row->placed && !row->hinted && !gapped && row->align <= 1))
		return 0;
	if (i == t->plan->count || t->taken[i])
		return refuse(t, "cannot be told from another one of its id", &row->id, row->step);
	if (row->placed && row->align > 1 && row->offset % row->align)
		return refuse(t, "has an offset that is no multiple of its alignment", &row->id,
			      row->step);
	FRAG_ASSERT(i < t->plan->count && !b->fixed);
	t->taken[i] = true;
	b->fixed = row->placed;
	b->offset = row->offset;
	b->align = row->align;
	b->hint = row->hint;
	b->hinted = row->hinted;
	t->plan->fixed += row->placed;
	t->plan->aligned += row->align > 1;
	t->plan->hinted += row->hinted;
	return 0;
}

/* A time of the CSV, and the step at which it begins. */
struct csv_time {
	uint64_t time;                  /* times 2, and 1 where it is not a free */
	uint64_t step;
};

static int plan_file_by_time(const void *one, const void *other)
{
	const struct csv_time *a = one, *b = other;

	return a->time < b->time ? -1 : a->time > b->time;
}

static int plan_file_by_buffer(const void *one, const void *other)
{
	const struct frag_plan_gap *a = one, *b = other;

	if (a->buffer != b->buffer)
		return a->buffer < b->buffer ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

/*
 * The place of a time among the steps: after all frees at that time and before the next other
 * step, and there in the order of the times of gaps, scale - 1 in number.
 */
static uint64_t part_of(const struct frag_plan *plan, const struct csv_time *steps, uint32_t count,
			const struct csv_time *times, uint32_t rank_count, uint64_t time)
{
	uint32_t low = 0, high = count, rank = 0, end = rank_count;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (steps[middle].time < 2 * time + 1)
			low = middle + 1;
		else
			high = middle;
	}
	while (rank < end) {
		const uint32_t middle = rank + (end - rank) / 2;

		if (times[middle].time < time)
			rank = middle + 1;
		else
			end = middle;
	}
	FRAG_ASSERT(rank < rank_count && times[rank].time == time);
	return ((low < count ? steps[low].step : plan->to) - 1) * plan->scale + rank + 1;
}

/* Puts the gaps of the rows in order, in parts of steps. False: out of memory. */
static bool take_gaps(struct taker *t)
{
	const struct frag_plan_file *f = t->file;
	struct frag_plan *plan = t->plan;
	struct csv_time *steps = malloc((2 * (size_t)f->count + 1) * sizeof(*steps));
	struct csv_time *times = malloc((2 * (size_t)f->gap_count + 1) * sizeof(*times));
	uint32_t count = 0, time_count = 0;

	plan->gaps = malloc(f->gap_count * sizeof(*plan->gaps));
	if (steps && times && plan->gaps) {
		for (uint32_t i = 0; i < f->count; i++) {
			const struct frag_plan_row *row = &f->rows[i];
			const struct frag_buffer *b = &plan->buffers[t->row_buffer[i]];

			if (t->row_buffer[i] == plan->count)
				continue;
			steps[count++] = (struct csv_time){ 2 * row->step + 1, b->birth };
			steps[count++] = (struct csv_time){ 2 * row->end + (row->end == row->step), b->end };
		}
		for (uint32_t i = 0; i < 2 * f->gap_count; i++)
			times[i] = (struct csv_time){ i % 2 ? f->gaps[i / 2].to : f->gaps[i / 2].from, 0 };
		qsort(steps, count, sizeof(*steps), plan_file_by_time);
		qsort(times, 2 * (size_t)f->gap_count, sizeof(*times), plan_file_by_time);
		for (uint32_t i = 0; i < 2 * f->gap_count; i++)
			if (!i || times[i].time != times[time_count - 1].time)
				times[time_count++] = times[i];
		plan->scale = (uint64_t)time_count + 1;
		for (uint32_t i = 0; i < f->gap_count; i++) {
			const struct frag_plan_gap *gap = &f->gaps[i];
			const struct frag_plan_row *row = &f->rows[gap->buffer];
			const struct frag_buffer *b = &plan->buffers[t->row_buffer[gap->buffer]];
			struct frag_plan_gap *g = &plan->gaps[plan->gap_count];

			if (t->row_buffer[gap->buffer] == plan->count || gap->to <= row->step
			    || gap->from >= row->end)
				continue;
			*g = (struct frag_plan_gap){
				.buffer = t->row_buffer[gap->buffer],
				.from = gap->from <= row->step ? b->birth * plan->scale
				: part_of(plan, steps, count, times, time_count, gap->from),
				.to = gap->to >= row->end ? b->end * plan->scale
				: part_of(plan, steps, count, times, time_count, gap->to),
			};
			plan->gap_count += g->from < g->to;
		}
		FRAG_ASSERT(plan->gap_count <= f->gap_count);
		qsort(plan->gaps, plan->gap_count, sizeof(*plan->gaps), plan_file_by_buffer);
	}
	free(steps);
	free(times);
	return plan->gaps && time_count;
}

/* Refuses a buffer that is never in use. */
static int check_gaps(struct taker *t)
{
	const struct frag_plan *plan = t->plan;

	for (uint32_t i = 0; i < plan->gap_count;) {
		const struct frag_buffer *b = &plan->buffers[plan->gaps[i].buffer];
		uint64_t used = b->birth * plan->scale;

		for (; i < plan->gap_count && &plan->buffers[plan->gaps[i].buffer] == b; i++)
			if (plan->gaps[i].from <= used && plan->gaps[i].to > used)
				used = plan->gaps[i].to;
		if (used >= b->end * plan->scale)
			return refuse(t, "has gaps that leave nothing of its lifetime", &b->id, b->birth);
	}
	return 0;
}

/* Calls `take` for each row, which finds its buffer by id. */
static int plan_take_each(struct taker *t,
			  int (*take)(struct taker *t, const struct frag_plan_row *row))
{
	const struct frag_plan *plan = t->plan;
	int rc = 0;

	FRAG_ASSERT(plan->scale);
	for (uint32_t i = 0; i < plan->count; i++)
		if (!frag_map_add(&t->by_id, hash_of(t, &plan->buffers[i].id), i))
			return frag_fail_nomem(t->err);
	for (uint32_t i = 0; i < t->file->count && !rc; i++)
		rc = take(t, &t->file->rows[i]);
	return rc;
}

/* Every buffer has its row. */
static int plan_take_check_all(struct taker *t)
{
	const struct frag_plan *plan = t->plan;
	char buf[ID_ROOM];
	int rc = 0;

	for (uint32_t i = 0; i < plan->count && !rc; i++)
		if (!t->taken[i])
			rc = frag_fail(t->err, FRAG_ETRACE,
				       "%s: buffer %s of the trace, from step %" PRIu64
				       ", is missing",
				       t->file->path, id_text(buf, &plan->buffers[i].id),
				       plan->buffers[i].birth);
	return rc;
}

static int plan_take_sweep(struct taker *t, bool fixed)
{
	struct frag_plan *plan = t->plan;
	const struct frag_buffer *a, *b;
	char one_id[ID_ROOM], other_id[ID_ROOM];
	uint32_t one, other;
	int rc = frag_plan_sweep(plan, fixed, &one, &other, t->err);

	if (rc || one == plan->count)
		return rc;
	a = &plan->buffers[other];
	b = &plan->buffers[one];
	return frag_fail(t->err, FRAG_ETRACE,
			 "%s: buffers %s, at %" PRIu64 " to %" PRIu64 ", and %s,"
			 " at %" PRIu64 " to %" PRIu64 ", overlap at step %" PRIu64,
			 t->file->path, id_text(one_id, &a->id), a->offset, a->offset + a->size,
			 id_text(other_id, &b->id), b->offset, b->offset + b->size, b->birth);
}

/* Begins to compare the rows of a file with the buffers, by `take`. */
static int plan_take_begin(struct taker *t, struct frag_plan *plan, const struct frag_plan_file *f,
			   int (*take)(struct taker *t, const struct frag_plan_row *row),
			   struct frag_error *err)
{
	*t = (struct taker){
		.plan = plan, .file = f, .err = err,
		.taken = calloc((size_t)plan->count + 1, sizeof(bool)),
		.row_buffer = calloc((size_t)f->count + 1, sizeof(uint32_t)),
	};
	return t->taken && t->row_buffer && frag_map_init(&t->by_id, frag_hash_seed())
	       ? plan_take_each(t, take) : frag_fail_nomem(err);
}

static void plan_take_end(struct taker *t)
{
	frag_map_fini(&t->by_id);
	free(t->taken);
	free(t->row_buffer);
}

int frag_plan_take(struct frag_plan *plan, const struct frag_plan_file *f, struct frag_error *err)
{
	struct taker t;
	int rc = plan_take_begin(&t, plan, f, plan_take_take_row, err);

	rc = rc ? rc : plan_take_check_all(&t);
	rc = rc ? rc : frag_plan_bound(plan, err);
	rc = rc ? rc : plan_take_sweep(&t, false);
	plan_take_end(&t);
	for (uint32_t i = 0; i < plan->space_count; i++)
		plan->spaces[i].found_by = f->path;
	return rc;
}

int frag_plan_constrain(struct frag_plan *plan, const struct frag_plan_file *f,
			struct frag_error *err)
{
	struct taker t;
	int rc = plan_take_begin(&t, plan, f, plan_take_constraint, err);

	if (!rc && f->gap_count)
		rc = take_gaps(&t) ? check_gaps(&t) : frag_fail_nomem(err);
	rc = rc ? rc : plan_take_sweep(&t, true);
	plan_take_end(&t);
	return rc;
}
