/*
 * snapshot_tag.c - what a stack says of a block, in one line and in whole.
 *
 * A frame is the framework's own where it is native code, which has no line of a
 * Python file, and where its file lies in a folder of PyTorch. The rule stands in
 * fragsim-formats(5).
 */
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "snapshot/snapshot.h"

#define FRAME_MOST 240          /* bytes of one frame's text */
#define STACK_MEMORY 64         /* bytes that one frame of a table may take */

struct frame {
	const struct frag_value *file, *name;
	uint64_t line;
};

static struct frame frame_at(const struct frag_snapshot *s, const struct frag_value *list,
			     uint32_t i)
{
	const struct frag_value *dict = frag_list_at(&s->values, list, i);
	struct frame f = {
		.file = frag_dict_get(&s->values, dict, "filename"),
		.name = frag_dict_get(&s->values, dict, "name"),
	};

	if (!frag_value_u64(frag_dict_get(&s->values, dict, "line"), &f.line))
		f.line = 0;
	if (!frag_is(f.file, FRAG_STRING))
		f.file = NULL;
	if (!frag_is(f.name, FRAG_STRING))
		f.name = NULL;
	return f;
}

static bool begins(const struct frag_value *text, const char *with)
{
	size_t n = strlen(with);

	return text->length >= n && memcmp(text->as.text, with, n) == 0;
}

static bool is_python(const struct frame *f)
{
	const struct frag_value *file = f->file;

	if (!file || f->line == 0)
		return false;
	return (file->length > 3 && memcmp(file->as.text + file->length - 3, ".py", 3) == 0)
	       || (begins(file, "<") && !begins(file, "<frozen") && !begins(file, "<eval_with_key"));
}

static bool is_framework_folder(const char *folder, size_t length)
{
	static const char *const folders[] = { "torch", "functorch", "torchgen", "triton" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (strlen(folders[i]) == length && memcmp(folders[i], folder, length) == 0)
			return true;
	return false;
}

static bool is_framework(const struct frame *f)
{
	const char *p, *end, *slash;

	if (!is_python(f))
		return true;
	p = f->file->as.text;
	end = p + f->file->length;
	while ((slash = memchr(p, '/', (size_t)(end - p))) != NULL) {
		if (is_framework_folder(p, (size_t)(slash - p)))
			return true;
		p = slash + 1;
	}
	return false;
}

/* "model.py:42 forward", cut to FRAME_MOST. */
static size_t put_frame(char *to, const struct frame *f)
{
	const char *name = f->name ? f->name->as.text : "";
	size_t name_length = f->name ? f->name->length : 0, length, used = 0;
	const char *file = f->file ? f->file->as.text : "";
	size_t file_length = f->file ? f->file->length : 0;

	while ((length = file_length) > 0) {
		const char *slash = memchr(file, '/', length);

		if (!slash || slash + 1 == file + length)
			break;
		file_length -= (size_t)(slash + 1 - file);
		file = slash + 1;
	}
	length = file_length < FRAME_MOST / 2 ? file_length : FRAME_MOST / 2;
	if (f->line) {
		memcpy(to, file, length);
		used = length;
		to[used++] = ':';
		used = (size_t)(frag_put_u64(to + used, f->line) - to);
		to[used++] = ' ';
	}
	length = FRAME_MOST - used < name_length ? FRAME_MOST - used : name_length;
	/* not in the middle of a character */
	while (length < name_length && length && ((unsigned char)name[length] & 0xc0) == 0x80)
		length--;
	memcpy(to + used, name, length);
	return used + length;
}

static struct frag_text keep(struct frag_snapshot *s, const char *text, size_t length)
{
	char *copy = length ? frag_values_text(&s->values, (uint32_t)length) : NULL;

	if (!copy)
		return (struct frag_text){ .text = NULL };
	memcpy(copy, text, length);
	return (struct frag_text){ .text = copy, .length = (uint32_t)length };
}

/* The innermost frame of the program; of Python; or the innermost at all. */
static struct frame find_top(const struct frag_snapshot *s, const struct frag_value *list,
			     uint32_t count)
{
	struct frame python = { .file = NULL };

	for (uint32_t i = 0; i < count; i++) {
		struct frame f = frame_at(s, list, i);

		if (!is_framework(&f))
			return f;
		if (!python.file && is_python(&f))
			python = f;
	}
	return python.file ? python : frame_at(s, list, 0);
}

static struct frag_text top_of(struct frag_snapshot *s, const struct frag_value *list,
			       uint32_t count)
{
	char text[FRAME_MOST + 64];
	struct frame top = find_top(s, list, count);

	return keep(s, text, put_frame(text, &top));
}

static struct frag_text with_note(struct frag_snapshot *s, struct frag_text tag, uint32_t note)
{
	const struct frag_text *n = &s->notes[note - 1];
	size_t length = n->length < FRAME_MOST ? n->length : FRAME_MOST, used = tag.length;
	char *text;

	if (!tag.text)
		return keep(s, n->text, length);
	text = frag_values_text(&s->values, (uint32_t)(used + length + 3));
	if (!text)
		return tag;
	memcpy(text, tag.text, used);
	memcpy(text + used, " {", 2);
	memcpy(text + used + 2, n->text, length);
	text[used + 2 + length] = '}';
	return (struct frag_text){ .text = text, .length = (uint32_t)(used + length + 3) };
}

struct frag_text frag_snapshot_tag(struct frag_snapshot *s, uint32_t frames, uint32_t note)
{
	struct frag_text tag = { .text = NULL };

	if (s->stacks == FRAG_STACKS_NONE)
		return tag;
	if (!s->tags)
		s->tags = calloc((size_t)s->values.count + 1, sizeof(*s->tags));
	if (frames && s->tags) {
		const struct frag_value *list = &s->values.table[frames - 1];
		uint32_t count = frag_list_count(list);

		if (!s->tags[frames].text)
			s->tags[frames] = top_of(s, list, count);
		tag = s->tags[frames];
	}
	return note ? with_note(s, tag, note) : tag;
}

static struct frag_text text_of(const struct frag_value *text)
{
	return text ? (struct frag_text){ .text = text->as.text, .length = text->length }
		    : (struct frag_text){ .text = NULL };
}

/* The number of item i of the list, a frame, in the table. */
static uint32_t frame_number(struct frag_snapshot *s, const struct frag_value *list, uint32_t i)
{
	const struct frag_value *dict = frag_list_at(&s->values, list, i);
	uint32_t *number = &s->frame_of[frag_value_number(&s->values, dict)];
	const struct frame f = frame_at(s, list, i);
	const struct frag_frame frame = {
		.file = text_of(f.file), .name = text_of(f.name), .line = f.line,
	};

	if (!*number)
		*number = frag_stacks_frame(&s->table, &frame);
	return *number;
}

static bool begin_table(struct frag_snapshot *s)
{
	const size_t count = (size_t)s->values.count + 1;

	if (s->stack_of)
		return true;
	if (!s->frame_of && !frag_stacks_init(&s->table, frag_hash_seed()))
		return false;
	s->frame_of = calloc(count, sizeof(*s->frame_of));
	s->stack_of = s->frame_of ? calloc(count, sizeof(*s->stack_of)) : NULL;
	return s->stack_of != NULL;
}

/*
 * From the outermost frame on, so that stacks that end alike share it. What is new
 * in the table is booked: a small file of lists that share their items could fill
 * the memory.
 */
uint32_t frag_snapshot_stack(struct frag_snapshot *s, uint32_t frames)
{
	const struct frag_value *list = frames ? &s->values.table[frames - 1] : NULL;
	uint32_t count = frag_list_count(list), stack = 0;

	if (s->stacks != FRAG_STACKS_ALL || !count)
		return 0;
	if (!begin_table(s))
		return UINT32_MAX;
	if (s->stack_of[frames])
		return s->stack_of[frames];
	for (uint32_t i = count < FRAG_FRAMES_MOST ? count : FRAG_FRAMES_MOST; i; i--) {
		const uint32_t before = s->table.count, frame = frame_number(s, list, i - 1);

		stack = frame ? frag_stacks_push(&s->table, frame, stack) : 0;
		if (!stack)
			return UINT32_MAX;
		if (s->table.count > before && !frag_values_take(&s->values, STACK_MEMORY))
			return 0;
	}
	return s->stack_of[frames] = stack;
}
