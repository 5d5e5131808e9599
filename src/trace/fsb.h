/*
 * fsb.h - the fsb format (fragsim-binary(5)), read and written.
 *
 * Little-endian blocks, each with its checksum, compressed with zstd. Within a block of events
 * each member is a separate column. A shape has all members that events share: all except id,
 * size, time and texts. The file has each shape and text once, in the first block that uses it.
 */
#ifndef TRACE_FSB_H
#define TRACE_FSB_H

#include "trace/reader.h"
#include "trace/trace_formats.h"

#define FRAG_FSB_MAGIC "\x8f" "fsb\r\n\x1a\n"
#define FRAG_FSB_MAGIC_LENGTH 8
#define FRAG_FSB_VERSION 2

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
uint32_t frag_fsb_checksum(const unsigned char *head, const unsigned char *bytes, size_t n);

/* Powers of ten up to 10^15. */
extern const double frag_fsb_tens[FRAG_FSB_DIGITS_MAX + 1];

#endif
