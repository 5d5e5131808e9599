/* plan_file.c - a plan out of a file, JSON or CSV. It is checked before it is believed. */
#include "plan/plan_file.h"
#include "plan/address_space.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "base/parse.h"
#include "events/id_map.h"

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
	enum { STEP, END, SIZE, OFFSET, DEVICE, ID, POOL, CARRIED };
	struct frag_plan_row *row = add_row(f);
	const struct frag_value *members[FRAG_MEMBERS_MAX];
	struct frag_handle of[CARRIED];
	const char *wrong = NULL, *must = NULL;

	if (!row)
		return frag_fail_nomem(err);
	frag_dict_members(&f->values, buffer, layouts, members);
	for (uint32_t i = 0; i < CARRIED && !wrong; i++)
		if (!take_name(members[i], &of[i]) || (i < ID && of[i].text)) {
			wrong = layouts->names[i];
			must = i < ID ? "an integer from 0 to 2^53-1"
				      : "a string, or an integer from 0 to 2^53-1";
		}
	if (!wrong && of[DEVICE].number > INT32_MAX) {
		wrong = "device";
		must = "at most 2^31-1";
	} else if (!wrong && (!of[SIZE].number || of[END].number <= of[STEP].number)) {
		wrong = of[SIZE].number ? "end" : "size";
		must = of[SIZE].number ? "larger than step" : "at least 1";
	} else if (!wrong && of[OFFSET].number + of[SIZE].number >= FRAG_SIZE_LIMIT) {
		wrong = "offset";
		must = "less than 2^53 - size";
	}
	if (wrong)
		return frag_fail(err, FRAG_ETRACE, "%s: buffers[%" PRIu32 "]: \"%s\" must be %s",
				 f->path, f->count - 1, wrong, must);
	*row = (struct frag_plan_row){
		.id = of[ID], .pool = of[POOL], .step = of[STEP].number, .end = of[END].number,
		.size = of[SIZE].number, .offset = of[OFFSET].number,
		.device = (uint32_t)of[DEVICE].number,
		.carried = frag_is(members[CARRIED], FRAG_TRUTH) && members[CARRIED]->as.magnitude,
	};
	return 0;
}

/* The content of a trace is 16 digits, as a result has them. */
static int parse_json(struct frag_plan_file *f, size_t length, struct frag_error *err)
{
	static const char *const names[] = { "step", "end", "size", "offset", "device", "id", "pool",
					     "carried" };
	struct frag_layouts layouts = { .names = names, .count = 8 };
	struct frag_value root = { .kind = FRAG_NULL };
	const struct frag_value *buffers, *content, *height;
	const char *wrong = NULL;
	uint64_t number;
	int rc;

	frag_values_init(&f->values, length, UINT64_MAX);
	rc = frag_value_json_read(&f->values, &root, f->text, length, f->path, err);
	if (rc)
		return rc;
	buffers = frag_dict_get(&f->values, &root, "buffers");
	content = frag_dict_get(&f->values, &root, "content");
	height = frag_dict_get(&f->values, &root, "height");
	if (!frag_text_is(frag_dict_get(&f->values, &root, "format"), "fragsim-plan"))
		wrong = "a plan is required, \"format\":\"fragsim-plan\", or minimalloc's CSV";
	else if (!take_number(frag_dict_get(&f->values, &root, "version"), 2, &number) || !number)
		wrong = "this version is not supported";
	else if (!frag_is(buffers, FRAG_LIST))
		wrong = "an array of buffers is required";
	else if (height && !take_number(height, FRAG_SIZE_LIMIT, &number))
		wrong = "a height from 0 to 2^53-1 is required";
	else if (content && (!frag_is(content, FRAG_STRING) || content->length != 16
			     || strspn(content->as.text, "0123456789abcdef") < 16))
		wrong = "the content of a trace is required, 16 digits";
	if (wrong)
		return frag_fail(err, FRAG_ETRACE, "%s: %s", f->path, wrong);
	for (uint32_t i = 0; i < frag_list_count(buffers) && !rc; i++)
		rc = take_json_row(f, frag_list_at(&f->values, buffers, i), &layouts, err);
	return rc;
}

/* The rows of minimalloc's CSV as the reader of traces has them: by time, and there as in the file. */
static int parse_csv(struct frag_plan_file *f, size_t length, struct frag_error *err)
{
	struct frag_input in = {
		.path = strdup(f->path), .buf = f->text, .end = length, .eof = true,
	};
	struct frag_reading reading = { .ops = NULL };
	const struct frag_log no_log = { .warn = NULL };
	int rc;

	f->csv = true;
	f->text = NULL;
	if (!in.path) {
		frag_input_close(&in);
		return frag_fail_nomem(err);
	}
	rc = frag_reader_minimalloc.open(&reading, &in, &no_log, err);
	f->buffered = reading.state;
	for (uint32_t i = 0; !rc && i < f->buffered->constraints.count; i++) {
		const struct frag_constraint *c = &f->buffered->constraints.of[i];
		const struct frag_row *from = &f->buffered->rows[c->step];
		struct frag_plan_row *row = add_row(f);

		if (!row)
			return frag_fail_nomem(err);
		*row = (struct frag_plan_row){
			.step = (uint64_t)from->t, .size = from->size, .offset = c->offset,
			.placed = c->fixed, .id = { .number = from->id },
		};
		if (from->members & FRAG_ROW_TEXT_ID)
			row->id = *frag_handle_at(&f->buffered->texts, (uint32_t)from->id);
	}
	return rc;
}

/* The text is the file's own from here on. */
static int plan_file_parse(struct frag_plan_file *f, size_t length, struct frag_error *err)
{
	const size_t blank = strspn(f->text, " \t\r\n");

	if (!length)
		return frag_fail(err, FRAG_ETRACE, "%s:1:1: the file is empty", f->path);
	if (f->text[blank] >= 'a' && f->text[blank] <= 'z')
		return parse_csv(f, length, err);
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

/* Reads what may be packed; path is borrowed. */
static int plan_file_read(struct frag_plan_file *f, const char *path, struct frag_error *err)
{
	struct frag_input in;
	struct frag_whole whole;
	int rc = frag_input_open(&in, path, err);

	*f = (struct frag_plan_file){ .path = frag_input_name(path) };
	if (rc)
		return rc;
	rc = frag_input_fill(&in, 0, err);
	if (rc < 0)
		frag_input_close(&in);
	else
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
	frag_buffered_del(f->buffered);
	frag_values_fini(&f->values);
	*f = (struct frag_plan_file){ .count = 0 };
}

/* While rows are compared with buffers. */
struct taker {
	struct frag_plan *plan;
	const struct frag_plan_file *file;
	struct frag_map by_id;          /* hash of an id -> a buffer; several of one id */
	bool *taken;                    /* by buffer */
	struct frag_error *err;
};

static uint64_t hash_of(const struct taker *t, const struct frag_handle *id)
{
	return id->text ? frag_hash_text(id->text, (size_t)id->number, t->by_id.seed)
			: frag_hash_mix(id->number + 1);
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
		if (!frag_same_handle(&t->plan->buffers[i].id, &row->id))
			continue;
		if (t->plan->buffers[i].birth == row->step)
			return i;
		only = i;
		met++;
	}
	return t->file->csv && met == 1 ? only : t->plan->count;
}

static int refuse(const struct taker *t, const char *what, const struct frag_plan_row *row)
{
	char text[FRAG_ID_ROOM];

	return frag_fail(t->err, FRAG_ETRACE, "%s: buffer %s, from %" PRIu64 ", %s", t->file->path,
			 frag_show_id(&row->id, text), row->step, what);
}

static int plan_take_take_row(struct taker *t, const struct frag_plan_row *row)
{
	const uint32_t i = plan_take_buffer_of(t, row);
	struct frag_buffer *b = &t->plan->buffers[i];

	/* a row of 0 bytes takes nothing, whatever its id is */
	if (!row->size)
		return 0;
	if (i == t->plan->count)
		return refuse(t, "is not one of the trace", row);
	if (t->file->csv && !row->placed)
		return refuse(t, "has no offset", row);
	if (t->taken[i])
		return refuse(t, "is specified more than once", row);
	if (row->size < b->requested)
		return refuse(t, "is smaller than what the trace requests", row);
	if (!t->file->csv && row->end != b->end)
		return refuse(t, "ends at another event of the trace", row);
	if (!t->file->csv && row->device != t->plan->spaces[b->space].device)
		return refuse(t, "is on another device of the trace", row);
	if (b->fixed && b->offset != row->offset)
		return refuse(t, "is not at its fixed offset", row);
	if (b->align > 1 && row->offset % b->align)
		return refuse(t, "is not at a multiple of its alignment", row);
	t->taken[i] = true;
	b->size = row->size;
	b->offset = row->offset;
	return 0;
}

/* Sets the bounds of the spaces, and checks each for overlap. */
static int check_spaces(const struct taker *t)
{
	struct frag_plan *plan = t->plan;
	int rc = 0;

	for (uint32_t i = 0; i < plan->space_count && !rc; i++) {
		struct frag_space s;

		rc = frag_space_init(&s, plan, i, t->err);
		for (uint32_t k = 0; k < s.count && !rc; k++)
			s.offset[k] = plan->buffers[s.buffer[k]].offset;
		rc = rc ? rc : frag_space_check(&s, plan, s.offset, t->file->path, t->err);
		plan->spaces[i].bound = s.bound;
		plan->spaces[i].lower = s.lower;
		plan->spaces[i].peak_step = s.peak_step;
		plan->spaces[i].found_by = t->file->path;
		frag_space_fini(&s);
	}
	return rc;
}

static int plan_take(struct frag_plan *plan, const struct frag_plan_file *f, struct frag_error *err)
{
	struct taker t = {
		.plan = plan, .file = f, .err = err,
		.taken = calloc((size_t)plan->count + 1, sizeof(bool)),
	};
	int rc = 0;

	if (!t.taken || !frag_map_init(&t.by_id, frag_hash_seed()))
		rc = frag_fail_nomem(err);
	for (uint32_t i = 0; i < plan->count && !rc; i++)
		if (!frag_map_add(&t.by_id, hash_of(&t, &plan->buffers[i].id), i))
			rc = frag_fail_nomem(err);
	for (uint32_t i = 0; i < f->count && !rc; i++)
		rc = plan_take_take_row(&t, &f->rows[i]);
	for (uint32_t i = 0; i < plan->count && !rc; i++)
		if (!t.taken[i])
			rc = refuse(&t, "of the trace is missing", &(struct frag_plan_row){
				.id = plan->buffers[i].id, .step = plan->buffers[i].birth,
			});
	rc = rc ? rc : check_spaces(&t);
	if (!rc)
		frag_plan_measure(plan);
	frag_map_fini(&t.by_id);
	free(t.taken);
	return rc;
}

int frag_plan_take(struct frag_plan *plan, const char *path, struct frag_error *err)
{
	struct frag_plan_file f;
	int rc = plan_file_read(&f, path, err);

	rc = rc ? rc : plan_take(plan, &f, err);
	frag_plan_file_fini(&f);
	return rc;
}
