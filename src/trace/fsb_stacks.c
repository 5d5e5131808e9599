/*
 * fsb_stacks.c - reads stack traces in the fsb format.
 *
 * A payload is columns of integers of 4 bytes, then the bytes of texts. Its numbers continue
 * those of the previous block, in the order of the table.
 */
#include <stdlib.h>

#include "base/array_grow.h"
#include "base/word64.h"
#include "input/json_scan.h"
#include "trace/fsb.h"

#define NEW_MAX (UINT32_C(1) << 20)     /* texts, frames or stacks of one block */

enum count { TEXTS, FRAMES, STACKS, ALLOCS, COUNTS };

/* A column is read cell by cell; that it is there has been seen before. */
static uint32_t fsb_stacks_take(const unsigned char **p)
{
	*p += FRAG_FSB_CELL;
	return frag_load32(*p - FRAG_FSB_CELL);
}

/* Are the columns, and the texts after them, just as long as the payload? */
static bool fits(const unsigned char *p, uint64_t left, const uint32_t n[COUNTS])
{
	uint64_t cells = (uint64_t)n[TEXTS] + 3 * (uint64_t)n[FRAMES] + 2 * (uint64_t)n[STACKS]
			 + n[ALLOCS];

	if (n[TEXTS] > NEW_MAX || n[FRAMES] > NEW_MAX || n[STACKS] > NEW_MAX
	    || n[ALLOCS] > FRAG_FSB_EVENTS_MAX || cells * FRAG_FSB_CELL > left)
		return false;
	left -= cells * FRAG_FSB_CELL;
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
	const size_t frames = (size_t)n[FRAMES] * FRAG_FSB_CELL;
	const size_t stacks = (size_t)n[STACKS] * FRAG_FSB_CELL;
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
	const unsigned char *lines = files + (size_t)n * FRAG_FSB_CELL;
	const unsigned char *names = lines + (size_t)n * FRAG_FSB_CELL;

	for (; n; n--) {
		const struct frag_frame frame = {
			.file = frag_handle_text(&s->table.texts, fsb_stacks_take(&files)),
			.line = fsb_stacks_take(&lines),
			.name = frag_handle_text(&s->table.texts, fsb_stacks_take(&names)),
		};
		const uint32_t number = s->table.frame_count;
		uint32_t got;

		if (!frag_stacks_frame(&s->table, &frame, &got))
			return -FRAG_ENOMEM;
		if (got != number)
			return -FRAG_ETRACE;
	}
	return 0;
}

/* Innermost frames, and how far before a stack its parent is. */
static int fsb_stacks_read_stacks(struct frag_fsb_stacks *s, const unsigned char *frames,
				  uint32_t n)
{
	const unsigned char *distances = frames + (size_t)n * FRAG_FSB_CELL;

	for (; n; n--) {
		const uint32_t frame = fsb_stacks_take(&frames),
			       distance = fsb_stacks_take(&distances);
		const uint32_t number = s->table.count;
		uint32_t got;

		if (!frag_stacks_push(&s->table, frame, distance ? number - distance : 0, &got))
			return -FRAG_ENOMEM;
		if (got != number)
			return -FRAG_ETRACE;
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
	int rc;

	if (!s->table.count && !frag_stacks_init(&s->table, frag_hash_seed()))
		return -FRAG_ENOMEM;
	rc = fsb_stacks_read_texts(s, column[TEXTS], column[COUNTS], n[TEXTS]);
	rc = rc ? rc : read_frames(s, column[FRAMES], n[FRAMES]);
	return rc ? rc : fsb_stacks_read_stacks(s, column[STACKS], n[STACKS]);
}

/*
 * Lengths first, so that no cell must be checked for being there. Then texts,
 * frames, stacks, allocs: each refers only to what precedes it.
 */
int frag_fsb_stacks_read(struct frag_fsb_stacks *s, const unsigned char *payload, uint32_t bytes,
			 const char **why)
{
	const unsigned char *p = payload, *column[COUNTS + 1];
	uint32_t n[COUNTS];
	int rc;

	*why = "stacks that are not well-formed";
	if (bytes < COUNTS * FRAG_FSB_CELL)
		return -FRAG_ETRACE;
	for (int i = 0; i < COUNTS; i++)
		n[i] = fsb_stacks_take(&p);
	if (!fits(p, bytes - COUNTS * FRAG_FSB_CELL, n)) {
		*why = "stacks that are not as long as the block";
		return -FRAG_ETRACE;
	}
	column[TEXTS] = p;
	column[FRAMES] = column[TEXTS] + (size_t)n[TEXTS] * FRAG_FSB_CELL;
	column[STACKS] = column[FRAMES] + (size_t)n[FRAMES] * 3 * FRAG_FSB_CELL;
	column[ALLOCS] = column[STACKS] + (size_t)n[STACKS] * 2 * FRAG_FSB_CELL;
	column[COUNTS] = column[ALLOCS] + (size_t)n[ALLOCS] * FRAG_FSB_CELL;
	rc = is_sound(s, column, n) ? 0 : -FRAG_ETRACE;
	if (!rc && s->wanted)
		rc = fill_table(s, column, n);
	return rc ? rc : read_allocs(s, column[ALLOCS], n[ALLOCS]);
}
