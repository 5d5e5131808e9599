/*
 * fsb_stacks.c - reads and writes stack traces in the fsb format.
 *
 * A payload is columns of integers of 4 bytes, then the bytes of texts. Its numbers continue
 * those of the previous block, in the order of the table.
 */
#include "trace/fsb.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/format.h"
#include "base/word64.h"
#include "input/json_scan.h"

const double frag_fsb_tens[FRAG_FSB_DIGITS_MAX + 1] = {
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
};

uint32_t frag_fsb_checksum(const unsigned char *head, const unsigned char *bytes, size_t n)
{
	return (uint32_t)crc32(crc32(0, head, 16), bytes, (uInt)n);
}

bool frag_fsb_blocks_init(struct frag_fsb_blocks *b, struct frag_input *in)
{
	*b = (struct frag_fsb_blocks){ .in = *in };
	b->in.by_byte = true;
	b->zstd = ZSTD_createDCtx();
	return b->zstd != NULL;
}

void frag_fsb_blocks_fini(struct frag_fsb_blocks *b)
{
	frag_input_close(&b->in);
	ZSTD_freeDCtx(b->zstd);
	free(b->payload);
}

int frag_fsb_damaged(const struct frag_fsb_blocks *b, struct frag_error *err, const char *format,
		     ...)
{
	char text[200];
	va_list args;

	va_start(args, format);
	frag_vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return frag_fail(err, FRAG_ETRACE, "%s: block %u at byte %" PRIu64 ": %s", b->in.path,
			 b->block, b->block_at, text);
}

/* The next `n` bytes of the file, in the window; 0 at the end of the file. */
static int fsb_stacks_need(struct frag_fsb_blocks *b, size_t n, struct frag_error *err)
{
	while (b->in.end - b->at < n && !b->in.eof) {
		int rc = frag_input_fill(&b->in, b->at, err);

		b->at = 0;
		if (rc < 0)
			return rc;
	}
	if (b->in.end - b->at >= n)
		return 1;
	return 0;
}

static int fsb_block_make_room(struct frag_fsb_blocks *b, uint32_t bytes, struct frag_error *err)
{
	if (b->payload && b->payload_capacity >= bytes)
		return 0;
	free(b->payload);
	b->payload_capacity = 0;
	b->payload = calloc((size_t)bytes + FRAG_FSB_SLACK, 1);
	if (!b->payload)
		return frag_fail_nomem(err);
	b->payload_capacity = bytes;
	return 0;
}

static int fsb_stacks_unpack(struct frag_fsb_blocks *b, const unsigned char *packed,
			     uint32_t packed_bytes, uint32_t bytes, struct frag_error *err)
{
	size_t n;
	int rc = fsb_block_make_room(b, bytes, err);

	if (rc)
		return rc;
	n = ZSTD_decompressDCtx(b->zstd, b->payload, bytes, packed, packed_bytes);
	if (ZSTD_isError(n))
		return frag_fsb_damaged(b, err, "zstd: %s", ZSTD_getErrorName(n));
	if (n != bytes)
		return frag_fsb_damaged(b, err, "%zu bytes unpacked, %u announced", n, bytes);
	return 0;
}

static bool must_know(uint32_t kind)
{
	return !(kind & FRAG_FSB_OPTIONAL);
}

/*
 * Checks number and checksum before the kind: only a complete block of an unknown kind may be
 * skipped. Each need() may move the window, so the head is computed again.
 */
int frag_fsb_next(struct frag_fsb_blocks *b, uint32_t *kind, uint32_t *bytes,
		  struct frag_error *err)
{
	FRAG_ASSERT(b->zstd && b->at <= b->in.end);
	for (;;) {
		const unsigned char *head;
		uint32_t packed;
		int rc = fsb_stacks_need(b, FRAG_FSB_HEAD_LENGTH, err);

		b->block_at = b->in.before + b->at;
		b->block = b->count++;
		if (rc <= 0)
			return rc < 0 ? rc
				      : frag_fsb_damaged(b, err, "truncated: the file ends here");
		head = (const unsigned char *)b->in.buf + b->at;
		*kind = frag_load32(head);
		*bytes = frag_load32(head + 8);
		packed = frag_load32(head + 12);
		if (frag_load32(head + 4) != b->block)
			return frag_fsb_damaged(b, err, "it is numbered %u",
						frag_load32(head + 4));
		if (*bytes > FRAG_FSB_BLOCK_MAX || packed > FRAG_FSB_BLOCK_MAX)
			return frag_fsb_damaged(b, err, "%u bytes, packed %u: more than a block"
						" may have", *bytes, packed);
		rc = fsb_stacks_need(b, FRAG_FSB_HEAD_LENGTH + (size_t)packed, err);
		if (rc <= 0)
			return rc < 0 ? rc
				      : frag_fsb_damaged(b, err,
							 "truncated: the file ends inside it");
		head = (const unsigned char *)b->in.buf + b->at;
		b->at += FRAG_FSB_HEAD_LENGTH + (size_t)packed;
		if (frag_load32(head + 16)
		    != frag_fsb_checksum(head, head + FRAG_FSB_HEAD_LENGTH, packed))
			return frag_fsb_damaged(b, err, "its checksum does not agree");
		if (*kind != FRAG_FSB_HEADER && *kind != FRAG_FSB_EVENTS && *kind != FRAG_FSB_END
		    && *kind != FRAG_FSB_STACKS && !(b->snapshot && *kind == FRAG_FSB_SNAPSHOT)) {
			if (must_know(*kind))
				return frag_fsb_damaged(b, err, "of a kind, %#x, that this"
							" version does not know", *kind);
			continue;
		}
		return fsb_stacks_unpack(b, head + FRAG_FSB_HEAD_LENGTH, packed, *bytes, err);
	}
}

/* Appends a payload to the bytes of the snapshot. */
static int fsb_snapshot_add(char **text, uint64_t *capacity, uint64_t *length,
			    const struct frag_fsb_blocks *b, uint32_t bytes, struct frag_error *err)
{
	const uint64_t all = *length + bytes;
	char *more = *text;
	int rc = frag_input_afford(&b->in, all, err);

	if (rc)
		return rc;
	if (!more || all > *capacity) {
		*capacity = 2 * all;
		more = realloc(*text, (size_t)*capacity + FRAG_WINDOW_SLACK);
	}
	if (!more)
		return frag_fail_nomem(err);
	*text = more;
	memcpy(more + *length, b->payload, bytes);
	*length = all;
	return 0;
}

/* Reads the blocks of the snapshot up to the header, and makes them the window. */
static int fsb_snapshot_read(struct frag_fsb_blocks *b, struct frag_error *err)
{
	uint64_t capacity = 0, length = 0;
	uint32_t kind = FRAG_FSB_SNAPSHOT, bytes;
	char *text = NULL;
	int rc = frag_fsb_begin(b, err);

	while (!rc && kind == FRAG_FSB_SNAPSHOT) {
		rc = frag_fsb_next(b, &kind, &bytes, err);
		if (!rc && kind == FRAG_FSB_SNAPSHOT)
			rc = fsb_snapshot_add(&text, &capacity, &length, b, bytes, err);
	}
	if (!rc && !length)
		rc = frag_fsb_damaged(b, err, "a snapshot of no bytes");
	if (rc) {
		free(text);
		return rc;
	}
	memset(text + length, 0, FRAG_WINDOW_SLACK);
	free(b->in.buf);
	b->in.buf = text;
	b->in.end = (size_t)length;
	b->in.capacity = (size_t)capacity;
	b->in.before = b->in.lines_before = b->in.line_start = b->in.lines = b->in.start = 0;
	b->in.counted = 0;
	b->in.eof = true;
	b->in.rewindable = false;
	return 1;
}

int frag_fsb_take_snapshot(struct frag_input *in, struct frag_error *err)
{
	const size_t head = FRAG_FSB_MAGIC_LENGTH + sizeof(uint32_t);
	struct frag_fsb_blocks b;
	int rc = 1;

	while (in->end < head && rc == 1)
		rc = frag_input_fill(in, 0, err);
	if (rc < 0 || in->end < head || memcmp(in->buf, FRAG_FSB_MAGIC, FRAG_FSB_MAGIC_LENGTH) != 0
	    || frag_load32(in->buf + FRAG_FSB_MAGIC_LENGTH) != FRAG_FSB_SNAPSHOT)
		return rc < 0 ? rc : 0;
	rc = frag_fsb_blocks_init(&b, in) ? 0 : frag_fail_nomem(err);
	b.snapshot = true;
	rc = rc ? rc : fsb_snapshot_read(&b, err);
	/* the caller owns the input again; all else is freed */
	*in = b.in;
	in->by_byte = false;
	b.in = (struct frag_input){ .path = NULL };
	ZSTD_freeDCtx(b.zstd);
	free(b.payload);
	return rc;
}

int frag_fsb_begin(struct frag_fsb_blocks *b, struct frag_error *err)
{
	int rc;

	b->at = 0;
	b->count = 0;
	rc = fsb_stacks_need(b, FRAG_FSB_MAGIC_LENGTH, err);
	if (rc < 0)
		return rc;
	if (rc == 0 || memcmp(b->in.buf, FRAG_FSB_MAGIC, FRAG_FSB_MAGIC_LENGTH) != 0)
		return frag_fail(err, FRAG_ETRACE,
				 "%s: byte 0: not the first bytes of a binary trace", b->in.path);
	b->at = FRAG_FSB_MAGIC_LENGTH;
	return 0;
}

int frag_fsb_finish(struct frag_fsb_blocks *b, struct frag_error *err)
{
	int rc = fsb_stacks_need(b, 1, err);

	if (rc <= 0)
		return rc;
	return frag_fail(err, FRAG_ETRACE, "%s: byte %" PRIu64 ": bytes after the last block",
			 b->in.path, b->in.before + b->at);
}

#define CELL 4                          /* bytes */
#define NEW_MAX (UINT32_C(1) << 20)     /* texts, frames or stacks of one block */

enum count { TEXTS, FRAMES, STACKS, ALLOCS, COUNTS };

void frag_fsb_stacks_fini(struct frag_fsb_stacks *s)
{
	if (s->begun)
		frag_stacks_fini(&s->table);
	frag_map_fini(&s->known);
	free(s->of);
	*s = (struct frag_fsb_stacks){ .wanted = s->wanted };
}

void frag_fsb_stacks_rewind(struct frag_fsb_stacks *s)
{
	s->texts_in = s->frames_in = s->stacks_in = 0;
	s->at = s->count = 0;
	s->wanted = false;
}

static bool fsb_stacks_begin(struct frag_fsb_stacks *s)
{
	if (s->begun)
		return true;
	s->begun = true;
	s->texts_out = s->frames_out = s->stacks_out = 1;
	return frag_stacks_init(&s->table, frag_hash_seed())
	       && frag_map_init(&s->known, frag_hash_seed());
}

/* Reading. A column is read cell by cell; that it is there has been seen before. */
static uint32_t fsb_stacks_take(const unsigned char **p)
{
	*p += CELL;
	return frag_load32(*p - CELL);
}

/* Are the columns, and the texts after them, just as long as the payload? */
static bool fits(const unsigned char *p, uint64_t left, const uint32_t n[COUNTS])
{
	uint64_t cells = (uint64_t)n[TEXTS] + 3 * (uint64_t)n[FRAMES] + 2 * (uint64_t)n[STACKS]
			 + n[ALLOCS];

	if (n[TEXTS] > NEW_MAX || n[FRAMES] > NEW_MAX || n[STACKS] > NEW_MAX
	    || n[ALLOCS] > FRAG_FSB_EVENTS_MAX || cells * CELL > left)
		return false;
	left -= cells * CELL;
	for (uint32_t i = 0; i < n[TEXTS]; i++) {
		uint32_t length = fsb_stacks_take(&p);

		if (length > left)
			return false;
		left -= length;
	}
	return left == 0;
}

static bool sound_texts(const unsigned char *lengths, const unsigned char *text, uint32_t n)
{
	for (; n; n--) {
		const uint32_t length = fsb_stacks_take(&lengths);

		if (!length || !frag_utf8_is(text, length))
			return false;
		text += length;
	}
	return true;
}

/* A column of numbers, each from `min` to `max`. */
static bool fsb_stacks_within(const unsigned char *p, uint32_t n, uint32_t min, uint64_t max)
{
	for (; n; n--) {
		const uint32_t number = fsb_stacks_take(&p);

		if (number < min || number > max)
			return false;
	}
	return true;
}

/* Each has its parent before it. */
static bool sound_distances(const unsigned char *p, uint32_t n, uint64_t before)
{
	for (; n; n--)
		if (fsb_stacks_take(&p) > before++)
			return false;
	return true;
}

/* Does each number name an entry? If so, the table grows by them. */
static bool is_sound(struct frag_fsb_stacks *s, const unsigned char *const column[],
		     const uint32_t n[COUNTS])
{
	const size_t frames = (size_t)n[FRAMES] * CELL, stacks = (size_t)n[STACKS] * CELL;
	const uint64_t before = s->stacks_in;

	s->texts_in += n[TEXTS];
	s->frames_in += n[FRAMES];
	s->stacks_in += n[STACKS];
	return sound_texts(column[TEXTS], column[COUNTS], n[TEXTS])
	       && fsb_stacks_within(column[FRAMES], n[FRAMES], 0, s->texts_in)
	       && fsb_stacks_within(column[FRAMES] + 2 * frames, n[FRAMES], 0, s->texts_in)
	       && fsb_stacks_within(column[STACKS], n[STACKS], 1, s->frames_in)
	       && sound_distances(column[STACKS] + stacks, n[STACKS], before)
	       && fsb_stacks_within(column[ALLOCS], n[ALLOCS], 0, s->stacks_in);
}

/* New entries only: an entry cannot be in the table under two numbers. */
static int fsb_stacks_read_texts(struct frag_fsb_stacks *s, const unsigned char *lengths,
				 const unsigned char *text, uint32_t n)
{
	for (; n; n--) {
		const uint32_t length = fsb_stacks_take(&lengths), number = s->table.texts.count;
		const uint32_t got = frag_handles_intern_text(
			&s->table.texts, (struct frag_text){ (const char *)text, length });

		if (got != number)
			return got == UINT32_MAX ? -FRAG_ENOMEM : -FRAG_ETRACE;
		text += length;
	}
	return 0;
}

/* Files, lines and names, a column each. */
static int read_frames(struct frag_fsb_stacks *s, const unsigned char *files, uint32_t n)
{
	const unsigned char *lines = files + (size_t)n * CELL, *names = lines + (size_t)n * CELL;

	for (; n; n--) {
		const struct frag_frame frame = {
			.file = frag_handle_text(&s->table.texts, fsb_stacks_take(&files)),
			.line = fsb_stacks_take(&lines),
			.name = frag_handle_text(&s->table.texts, fsb_stacks_take(&names)),
		};
		const uint32_t number = s->table.frame_count;
		const uint32_t got = frag_stacks_frame(&s->table, &frame);

		if (got != number)
			return got ? -FRAG_ETRACE : -FRAG_ENOMEM;
	}
	return 0;
}

/* Innermost frames, and how far before a stack its parent is. */
static int fsb_stacks_read_stacks(struct frag_fsb_stacks *s, const unsigned char *frames,
				  uint32_t n)
{
	const unsigned char *distances = frames + (size_t)n * CELL;

	for (; n; n--) {
		const uint32_t frame = fsb_stacks_take(&frames),
			       distance = fsb_stacks_take(&distances);
		const uint32_t number = s->table.count;
		const uint32_t got = frag_stacks_push(&s->table, frame,
						      distance ? number - distance : 0);

		if (got != number)
			return got ? -FRAG_ETRACE : -FRAG_ENOMEM;
	}
	return 0;
}

static int read_allocs(struct frag_fsb_stacks *s, const unsigned char *p, uint32_t n)
{
	s->at = s->count = 0;
	if (!FRAG_GROW(s->of, s->capacity, n))
		return -FRAG_ENOMEM;
	for (; s->count < n; s->count++) {
		const uint32_t stack = fsb_stacks_take(&p);

		s->of[s->count] = s->wanted ? stack : 0;
	}
	return 0;
}

static int fill_table(struct frag_fsb_stacks *s, const unsigned char *const column[],
		      const uint32_t n[COUNTS])
{
	int rc = fsb_stacks_begin(s) ? 0 : -FRAG_ENOMEM;

	rc = rc ? rc : fsb_stacks_read_texts(s, column[TEXTS], column[COUNTS], n[TEXTS]);
	rc = rc ? rc : read_frames(s, column[FRAMES], n[FRAMES]);
	return rc ? rc : fsb_stacks_read_stacks(s, column[STACKS], n[STACKS]);
}

/*
 * Lengths first, so that no cell must be checked for being there. Then texts,
 * frames, stacks, allocs: each refers only to what precedes it.
 */
int frag_fsb_stacks_read(struct frag_fsb_stacks *s, const struct frag_fsb_blocks *b,
			 const unsigned char *payload, uint32_t bytes, struct frag_error *err)
{
	const unsigned char *p = payload, *column[COUNTS + 1];
	uint32_t n[COUNTS];
	int rc;

	if (bytes < COUNTS * CELL)
		return frag_fsb_damaged(b, err, "stacks that are not well-formed");
	for (int i = 0; i < COUNTS; i++)
		n[i] = fsb_stacks_take(&p);
	if (!fits(p, bytes - COUNTS * CELL, n))
		return frag_fsb_damaged(b, err, "stacks that are not as long as the block");
	column[TEXTS] = p;
	column[FRAMES] = column[TEXTS] + (size_t)n[TEXTS] * CELL;
	column[STACKS] = column[FRAMES] + (size_t)n[FRAMES] * 3 * CELL;
	column[ALLOCS] = column[STACKS] + (size_t)n[STACKS] * 2 * CELL;
	column[COUNTS] = column[ALLOCS] + (size_t)n[ALLOCS] * CELL;
	rc = is_sound(s, column, n) ? 0 : -FRAG_ETRACE;
	if (!rc && s->wanted)
		rc = fill_table(s, column, n);
	rc = rc ? rc : read_allocs(s, column[ALLOCS], n[ALLOCS]);
	if (rc == -FRAG_ENOMEM)
		return frag_fail_nomem(err);
	return rc ? frag_fsb_damaged(b, err, "stacks that are not well-formed") : 0;
}

/* Writing. */

/* Stores the source's stack, from the outermost frame, in this table. */
static uint32_t copy_stack(struct frag_fsb_stacks *s, const struct frag_symbols *symbols,
			   uint64_t at)
{
	uint32_t frames[FRAG_FRAMES_MAX], count = 0, stack = 0;
	struct frag_frame frame;

	while (count < FRAG_FRAMES_MAX && frag_symbols_frame(symbols, &at, &frame)) {
		/* larger than the last line of any file */
		frame.line = frame.line > UINT32_MAX ? UINT32_MAX : frame.line;
		frames[count] = frag_stacks_frame(&s->table, &frame);
		if (!frames[count++])
			return 0;
	}
	while (count) {
		stack = frag_stacks_push(&s->table, frames[--count], stack);
		if (!stack)
			return 0;
	}
	return stack;
}

/* What these numbers and all after them take in a file. */
static size_t bytes_from(const struct frag_stack_table *t, uint32_t text, uint32_t frame,
			 uint32_t stack)
{
	size_t bytes = (size_t)(t->frame_count - frame) * 3 * CELL
		       + (size_t)(t->count - stack) * 2 * CELL;

	for (; text < t->texts.count; text++)
		bytes += CELL + (size_t)frag_handle_at(&t->texts, text)->number;
	return bytes;
}

/*
 * A stack is copied at its first alloc and known by its number from then on. What
 * it will take in the file counts towards the size of the block.
 */
bool frag_fsb_stacks_note(struct frag_fsb_stacks *s, const struct frag_symbols *symbols,
			  uint32_t stack, uint64_t *bytes)
{
	uint32_t number = 0;

	if (!fsb_stacks_begin(s)
	    || !FRAG_GROW(s->of, s->capacity, s->count))
		return false;
	if (stack)
		number = frag_map_get(&s->known, stack);
	if (number == FRAG_MAP_NONE) {
		const struct frag_stack_table *t = &s->table;
		const uint32_t texts = t->texts.count, frames = t->frame_count, stacks = t->count;

		number = copy_stack(s, symbols, stack);
		if (!number || !frag_map_add(&s->known, stack, number))
			return false;
		*bytes += bytes_from(t, texts, frames, stacks);
	}
	s->any = s->any || number;
	s->of[s->count++] = number;
	return true;
}

size_t frag_fsb_stacks_size(const struct frag_fsb_stacks *s)
{
	FRAG_ASSERT(s->begun);
	return bytes_from(&s->table, s->texts_out, s->frames_out, s->stacks_out)
	       + (COUNTS + (size_t)s->count) * CELL;
}

static char *fsb_stacks_put(char *p, uint32_t value)
{
	return (char *)memcpy(p, &value, CELL) + CELL;
}

/*
 * The columns in the order of frag_fsb_stacks_read(), each with what is new since
 * the last block; allocs alone begin at 0 in every block.
 */
void frag_fsb_stacks_put(struct frag_fsb_stacks *s, char *p)
{
	const struct frag_stack_table *t = &s->table;
	const uint32_t texts = t->texts.count;

	FRAG_ASSERT(s->begun);
	p = fsb_stacks_put(p, texts - s->texts_out);
	p = fsb_stacks_put(p, t->frame_count - s->frames_out);
	p = fsb_stacks_put(p, t->count - s->stacks_out);
	p = fsb_stacks_put(p, s->count);
	for (uint32_t i = s->texts_out; i < texts; i++)
		p = fsb_stacks_put(p, (uint32_t)frag_handle_at(&t->texts, i)->number);
	for (uint32_t i = s->frames_out; i < t->frame_count; i++)
		p = fsb_stacks_put(p, frag_stacks_frame_at(t, i)->file);
	for (uint32_t i = s->frames_out; i < t->frame_count; i++)
		p = fsb_stacks_put(p, (uint32_t)frag_stacks_frame_at(t, i)->line);
	for (uint32_t i = s->frames_out; i < t->frame_count; i++)
		p = fsb_stacks_put(p, frag_stacks_frame_at(t, i)->name);
	for (uint32_t i = s->stacks_out; i < t->count; i++)
		p = fsb_stacks_put(p, frag_stacks_stack_at(t, i)->frame);
	for (uint32_t i = s->stacks_out; i < t->count; i++) {
		const uint32_t below = frag_stacks_stack_at(t, i)->below;

		p = fsb_stacks_put(p, below ? i - below : 0);
	}
	for (uint32_t i = 0; i < s->count; i++)
		p = fsb_stacks_put(p, s->of[i]);
	for (uint32_t i = s->texts_out; i < texts; i++) {
		const struct frag_handle *text = frag_handle_at(&t->texts, i);

		memcpy(p, text->text, (size_t)text->number);
		p += text->number;
	}
	s->texts_out = texts;
	s->frames_out = t->frame_count;
	s->stacks_out = t->count;
	s->count = 0;
	s->any = false;
}
