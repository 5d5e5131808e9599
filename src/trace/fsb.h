/*
 * fsb.h - the fsb format (fragsim-binary(5)), read and written.
 *
 * Little-endian blocks, each with its checksum, compressed with zstd. Within a block of events
 * each member is a separate column. A shape has all members that events share: all except id,
 * size, time and texts. The file has each shape and text once, in the first block that uses it.
 */
#pragma once

#include <zlib.h>

#include "trace/name_tables.h"
#include "trace/reader.h"
#include "trace/trace_formats.h"

#define FRAG_FSB_MAGIC "\x8f" "fsb\r\n\x1a\n"
#define FRAG_FSB_MAGIC_LENGTH 8
#define FRAG_FSB_VERSION 3       /* 2: without a beginning; read too */
#define FRAG_FSB_OLDEST 2

/* A block's head: kind, number, bytes, compressed bytes, CRC-32 of these and of the payload. */
#define FRAG_FSB_HEAD_LENGTH 20
#define FRAG_FSB_BLOCK_MAX (UINT32_C(48) << 20)
#define FRAG_FSB_EVENTS_MAX 32768
#define FRAG_FSB_KIND(a, b, c, d) \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

enum frag_fsb_kind {
	FRAG_FSB_HEADER = FRAG_FSB_KIND('H', 'E', 'A', 'D'),
	FRAG_FSB_EVENTS = FRAG_FSB_KIND('E', 'V', 'T', 'S'),
	FRAG_FSB_STACKS = FRAG_FSB_KIND('s', 't', 'k', 's'),   /* of the events after it */
	FRAG_FSB_SNAPSHOT = FRAG_FSB_KIND('s', 'n', 'a', 'p'), /* before the header: see below */
	FRAG_FSB_END = FRAG_FSB_KIND('D', 'O', 'N', 'E'),
};
/* A reader may pass over a kind that it does not know where its first letter is lower-case. */
#define FRAG_FSB_OPTIONAL UINT32_C(0x20)

enum frag_fsb_column { FRAG_FSB_SHAPES, FRAG_FSB_IDS, FRAG_FSB_SIZES, FRAG_FSB_TIMES,
		       FRAG_FSB_TEXTS, FRAG_FSB_DOUBLES, FRAG_FSB_COLUMNS };

/* How a time is written. */
enum frag_fsb_time {
	FRAG_FSB_NO_TIME,
	FRAG_FSB_DECIMAL,       /* a difference of integers, in units of the block */
	FRAG_FSB_DOUBLE,        /* a double */
	FRAG_FSB_TEXT,          /* a double and its text */
};
#define FRAG_FSB_DIGITS_MAX 15

/* Which members of a shape are texts. */
enum frag_fsb_text {
	FRAG_FSB_TEXT_ID = 1 << 0,
	FRAG_FSB_TEXT_STREAM = 1 << 1,
	FRAG_FSB_TEXT_POOL = 1 << 2,
	FRAG_FSB_TEXT_VALUE = 1 << 3,   /* value of configure, name of mark: there is one */
};

/* Bytes of the snapshot in a block of it. */
#define FRAG_FSB_SNAPSHOT_MAX (UINT32_C(16) << 20)

/*
 * A complete file has before its header the snapshot that it was converted from: its bytes, in
 * one block or more. Where the window begins such a file, it becomes these bytes, at their end,
 * and 1 is returned; else 0, and the window has the same bytes or more. The input stays the caller's.
 * -FRAG_ETRACE, -FRAG_ENOMEM
 */
int frag_fsb_take_snapshot(struct frag_input *in, struct frag_error *err);

extern const struct frag_reader frag_reader_fsb;
extern const struct frag_sink_ops frag_sink_fsb;

static inline uint64_t frag_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ -(uint64_t)(value < 0);
}

static inline int64_t frag_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

/* CRC-32 of the first 16 bytes of the head, then of the packed bytes. */
static inline uint32_t frag_fsb_checksum(const unsigned char *head, const unsigned char *bytes,
					 size_t n)
{
	return (uint32_t)crc32(crc32(0, head, 16), bytes, (uInt)n);
}

/* Powers of ten up to 10^15. */
extern const double frag_fsb_tens[FRAG_FSB_DIGITS_MAX + 1];

#define FRAG_FSB_CELL 4         /* bytes of an integer in a payload of FRAG_FSB_STACKS */

/* The stacks of a file that is read. */
struct frag_fsb_stacks {
	bool wanted;            /* the table is filled; else blocks are checked only */
	struct frag_stack_table table;  /* count 0: there is none yet */
	uint64_t texts_in, frames_in, stacks_in;        /* those of the file so far */
	uint32_t *of;           /* of each alloc of a block of events, in order; 0: none */
	uint32_t count, capacity;
	uint32_t at;            /* the next alloc */
};

/*
 * Reads a payload of FRAG_FSB_STACKS. The table keeps its entries; `of` is replaced, by zeros
 * where stacks are not needed. -FRAG_ETRACE and why; only the table reveals a repeated entry.
 */
int frag_fsb_stacks_read(struct frag_fsb_stacks *s, const unsigned char *payload, uint32_t bytes,
			 const char **why);
