/* snapshot_pickle.c - the words, stacks and lists of a snapshot that is being written. */
#include "answers/as_snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"

#define BATCH 1000              /* items: as many as Python writes at once */
#define FIRST_STACK 64          /* memo number; the words are below */
#define STACKS_MAX 4096         /* that have a number at the same time */
#define STACK_MAX 8192          /* bytes: a longer one is written each time */
#define FRAME_ROOM (4 * FRAG_SNAP_WORD_ROOM + 2 * FRAG_PICKLE_ROOM + 16)
#define BETWEEN " < "

static const struct {
	const char *text;
	uint32_t length;
} words[] = {
#define X(name, text) { text, sizeof(text) - 1 },
	FRAG_SNAP_WORDS(X)
#undef X
};

_Static_assert(FRAG_SNAP_WORD_COUNT <= FIRST_STACK, "a bit and a number for each word");

void frag_snap_op(struct frag_outfile *out, enum frag_pickle_opcode opcode)
{
	char *p = frag_outfile_room(out, 1);

	if (p)
		frag_outfile_used(out, frag_pickle_op(p, opcode));
}

int frag_snap_part_open(struct frag_snap_part *part, const struct frag_symbols *symbols,
			struct frag_outfile *out, const struct frag_outfile *beside,
			struct frag_error *err)
{
	part->symbols = symbols;
	if (!frag_map_init(&part->map, frag_hash_seed()))
		return frag_fail_nomem(err);
	if (!out) {
		int rc = frag_outfile_spool(&part->spool, beside, err);

		if (rc)
			return rc;
	}
	part->out = out ? out : &part->spool;
	frag_snap_op(part->out, FRAG_PICKLE_LIST);
	return frag_outfile_status(part->out, err);
}

int frag_snap_part_end(struct frag_snap_part *part, struct frag_outfile *out,
		       struct frag_error *err)
{
	char *p = frag_outfile_room(part->out, 2);

	if (p)
		frag_outfile_used(part->out, frag_snap_list_end(&part->list, p));
	return part->out == out ? frag_outfile_status(out, err)
				: frag_outfile_append(out, &part->spool, err);
}

void frag_snap_part_fini(struct frag_snap_part *part)
{
	for (uint32_t i = 0; i < part->stack_count; i++)
		free(part->stacks[i].text);
	free(part->stacks);
	frag_map_fini(&part->map);
	frag_outfile_abandon(&part->spool);
}

char *frag_snap_item(struct frag_snap_list *list, char *p)
{
	if (list->open == BATCH)
		p = frag_snap_list_end(list, p);
	return list->open++ ? p : frag_pickle_op(p, FRAG_PICKLE_MARK);
}

char *frag_snap_list_end(struct frag_snap_list *list, char *p)
{
	bool any = list->open != 0;

	list->open = 0;
	return any ? frag_pickle_op(p, FRAG_PICKLE_APPENDS) : p;
}

char *frag_snap_word(struct frag_snap_part *part, char *p, enum frag_snap_word word)
{
	const uint64_t bit = UINT64_C(1) << word;

	if (part->known & bit)
		return frag_pickle_get(p, word);
	part->known |= bit;
	p = frag_pickle_text(p, words[word].text, words[word].length);
	return frag_pickle_put(p, word);
}

char *frag_snap_number(struct frag_snap_part *part, char *p, enum frag_snap_word key,
		       uint64_t value)
{
	return frag_pickle_u64(frag_snap_word(part, p, key), value);
}

char *frag_snap_words(struct frag_snap_part *part, char *p, enum frag_snap_word key,
		      enum frag_snap_word value)
{
	return frag_snap_word(part, frag_snap_word(part, p, key), value);
}

char *frag_snap_pool(struct frag_snap_part *part, char *p, enum frag_snap_word key, uint32_t pool)
{
	p = frag_snap_number(part, p, key, 0);
	return frag_pickle_op(frag_pickle_u64(p, pool), FRAG_PICKLE_TUPLE2);
}

/* The frame that ends at `end`, and where the next one begins; NULL: it was the last. */
static const char *snapshot_pickle_find_end(const char *text, const char *end,
					    const char **frame_end)
{
	const size_t n = sizeof(BETWEEN) - 1;

	for (const char *p = text; (size_t)(end - p) >= n; p++) {
		if (memcmp(p, BETWEEN, n) != 0)
			continue;
		*frame_end = p;
		return p + n;
	}
	*frame_end = end;
	return NULL;
}

/* The length of FILE where the frame is "FILE:LINE NAME", and its line; else 0. */
static size_t find_file(const char *text, size_t length, uint64_t *line)
{
	const char *space = memchr(text, ' ', length);
	size_t at = space ? (size_t)(space - text) : 0, digits = 0;
	uint64_t scale = 1;

	*line = 0;
	while (digits < at && digits < 9 && text[at - 1 - digits] >= '0'
	       && text[at - 1 - digits] <= '9') {
		*line += (uint64_t)(text[at - 1 - digits++] - '0') * scale;
		scale *= 10;
	}
	if (!digits || !*line || at < digits + 2 || text[at - digits - 1] != ':')
		return 0;
	return at - digits - 1;
}

/* file NULL: the word for what is no file. */
static char *snapshot_pickle_put_frame(struct frag_snap_part *part, char *p,
				       const struct frag_frame *f)
{
	p = frag_pickle_op(frag_pickle_op(p, FRAG_PICKLE_DICT), FRAG_PICKLE_MARK);
	p = frag_snap_word(part, p, FRAG_SNAP_FILE);
	if (f->file.text)
		p = frag_pickle_text(p, f->file.text, f->file.length);
	else
		p = frag_snap_word(part, p, FRAG_SNAP_TAG);
	p = frag_snap_number(part, p, FRAG_SNAP_LINE, f->line);
	p = frag_snap_word(part, p, FRAG_SNAP_NAME);
	p = frag_pickle_text(p, f->name.text, f->name.length);
	return frag_pickle_op(p, FRAG_PICKLE_SETITEMS);
}

static struct frag_frame frame_of(const char *text, size_t length)
{
	struct frag_frame f = { .name = { .text = text, .length = (uint32_t)length } };
	const size_t file = find_file(text, length, &f.line);

	if (!file) {
		f.line = 0;
		return f;
	}
	f.file = (struct frag_text){ .text = text, .length = (uint32_t)file };
	f.name.text = (const char *)memchr(text, ' ', length) + 1;
	f.name.length = (uint32_t)(text + length - f.name.text);
	return f;
}

static char *put_tag(struct frag_snap_part *part, char *p, struct frag_text tag)
{
	const char *next = tag.text, *end = tag.text + tag.length;
	struct frag_snap_list list = { 0 };

	p = frag_pickle_op(p, FRAG_PICKLE_LIST);
	while (next) {
		const char *frame = next, *frame_end;
		struct frag_frame f;

		next = snapshot_pickle_find_end(frame, end, &frame_end);
		f = frame_of(frame, (size_t)(frame_end - frame));
		p = snapshot_pickle_put_frame(part, frag_snap_item(&list, p), &f);
	}
	return frag_snap_list_end(&list, p);
}

static char *put_stack(struct frag_snap_part *part, char *p, uint64_t at)
{
	struct frag_snap_list list = { 0 };
	struct frag_frame f;

	p = frag_pickle_op(p, FRAG_PICKLE_LIST);
	for (uint32_t i = 0; i < FRAG_FRAMES_MAX && frag_symbols_frame(part->symbols, &at, &f);
	     i++) {
		f.file.text = f.file.text ? f.file.text : "";
		f.name.text = f.name.text ? f.name.text : "";
		p = snapshot_pickle_put_frame(part, frag_snap_item(&list, p), &f);
	}
	return frag_snap_list_end(&list, p);
}

static uint32_t find_stack(const struct frag_snap_part *part,
			   const struct frag_snap_requester *requester, uint64_t hash)
{
	uint32_t at = frag_map_home(&part->map, hash), i;

	while ((i = frag_map_next(&part->map, hash, &at)) != FRAG_MAP_NONE) {
		const struct frag_snap_stack *s = &part->stacks[i];

		if (s->number != requester->stack)
			continue;
		if (s->number || (s->length == requester->tag.length
				  && memcmp(s->text, requester->tag.text, s->length) == 0))
			return i;
	}
	return FRAG_MAP_NONE;
}

/* A number for the frames, from the oldest where all are given; none where a tag is long. */
static uint32_t number_stack(struct frag_snap_part *part,
			     const struct frag_snap_requester *requester, uint64_t hash)
{
	const bool full = part->stack_count == STACKS_MAX;
	const uint32_t length = requester->stack ? 0 : requester->tag.length;
	uint32_t i = full ? part->oldest : part->stack_count;
	struct frag_snap_stack *s;
	char *copy;

	if (length > STACK_MAX)
		return FRAG_MAP_NONE;
	copy = malloc((size_t)length + 1);
	if (!copy || !FRAG_GROW(part->stacks, part->stack_capacity, i)
	    || !frag_map_add(&part->map, hash, i)) {
		free(copy);
		part->out->failed = ENOMEM;
		return FRAG_MAP_NONE;
	}
	s = &part->stacks[i];
	if (full) {
		frag_map_remove(&part->map, s->hash, i);
		free(s->text);
		part->oldest = (i + 1) % STACKS_MAX;
	} else {
		part->stack_count++;
	}
	if (length)
		memcpy(copy, requester->tag.text, length);
	*s = (struct frag_snap_stack){ .text = copy, .hash = hash, .length = length,
				       .number = requester->stack };
	return i;
}

char *frag_snap_frames(struct frag_snap_part *part, char *p,
		       const struct frag_snap_requester *requester)
{
	const struct frag_text tag = requester->tag;
	uint64_t hash;
	uint32_t i;

	p = frag_snap_word(part, p, FRAG_SNAP_FRAMES);
	if (!requester->stack && (!tag.text || !tag.length))
		return frag_pickle_op(p, FRAG_PICKLE_LIST);
	hash = requester->stack ? frag_hash_mix(requester->stack)
	       : frag_hash_text(tag.text, tag.length, part->map.seed);
	i = find_stack(part, requester, hash);
	if (i != FRAG_MAP_NONE)
		return frag_pickle_get(p, FIRST_STACK + i);
	p = requester->stack ? put_stack(part, p, requester->stack) : put_tag(part, p, tag);
	i = number_stack(part, requester, hash);
	return i == FRAG_MAP_NONE ? p : frag_pickle_put(p, FIRST_STACK + i);
}

size_t frag_snap_frames_room(const struct frag_snap_part *part,
			     const struct frag_snap_requester *requester)
{
	const char *next = requester->tag.text, *frame_end;
	size_t frames = 0, bytes = requester->tag.length;
	uint64_t at = requester->stack;
	struct frag_frame f;

	while (next) {
		next = snapshot_pickle_find_end(next, requester->tag.text + requester->tag.length,
						&frame_end);
		frames++;
	}
	while (frames < FRAG_FRAMES_MAX && frag_symbols_frame(part->symbols, &at, &f)) {
		bytes += (size_t)f.file.length + f.name.length;
		frames++;
	}
	return frames * FRAME_ROOM + bytes * 3 + 64;
}
