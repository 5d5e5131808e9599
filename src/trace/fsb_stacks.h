/* fsb_stacks.h - stack traces in the fsb format: the blocks that precede events. */
#ifndef TRACE_FSB_STACKS_H
#define TRACE_FSB_STACKS_H

#include "trace/fsb.h"
#include "trace/stacks.h"

/* Finds, checks and unpacks the blocks of the fsb format. */
/* After a payload: bytes that may be read, and mean nothing. */
#define FRAG_FSB_SLACK (24 * FRAG_FSB_EVENTS_MAX + 16)

struct frag_header;

struct frag_fsb_blocks {
	struct frag_input in;
	size_t at;              /* the window is used up to here */
	uint64_t block_at;      /* byte of the block that is being read */
	uint32_t block;         /* its number */
	uint32_t count;         /* read so far */
	unsigned char *payload;
	uint32_t payload_capacity;
	struct ZSTD_DCtx_s *zstd;
};

/* What is left of a payload; p is past end where more was read than there is. */
struct frag_fsb_cursor {
	const unsigned char *p, *end;
};

/* Takes the input over, also on failure, which is a lack of memory. */
bool frag_fsb_blocks_init(struct frag_fsb_blocks *b, struct frag_input *in);
void frag_fsb_blocks_fini(struct frag_fsb_blocks *b);

/* The first bytes of the file. -FRAG_ETRACE where they are not what they should be. */
int frag_fsb_begin(struct frag_fsb_blocks *b, struct frag_error *err);

/* The next block of a known kind; its payload stays until the next call. 0 or -FRAG_E... */
int frag_fsb_next(struct frag_fsb_blocks *b, uint32_t *kind, uint32_t *bytes,
		  struct frag_error *err);

/* Nothing may follow. */
int frag_fsb_finish(struct frag_fsb_blocks *b, struct frag_error *err);

/* -FRAG_ETRACE with the block's number and place. */
int frag_fsb_damaged(const struct frag_fsb_blocks *b, struct frag_error *err, const char *format,
		     ...) __attribute__((format(printf, 3, 4)));

struct frag_fsb_stacks {
	bool wanted;            /* read: the table is filled; else blocks are checked only */
	struct frag_stack_table table;
	bool begun;             /* the table is there */
	uint64_t texts_in, frames_in, stacks_in;        /* read: those of the file so far */
	uint32_t *of;           /* of each alloc of a block of events, in order; 0: none */
	uint32_t count, capacity;
	uint32_t at;            /* read: the next alloc */
	struct frag_map known;  /* written: the source's number -> ours */
	uint32_t texts_out, frames_out, stacks_out;     /* those before are in the file */
	bool any;               /* written: an alloc of this block has one */
};

void frag_fsb_stacks_fini(struct frag_fsb_stacks *s);

/*
 * The file is read a second time, to find the end of each id. The table is kept, because a
 * caller may still read the stacks of earlier events; from here on blocks are only checked.
 */
void frag_fsb_stacks_rewind(struct frag_fsb_stacks *s);

/*
 * Reads a payload of FRAG_FSB_STACKS. The table keeps its entries; `of` is replaced, by zeros
 * where stacks are not needed. -FRAG_ETRACE; only the table reveals a repeated entry.
 */
int frag_fsb_stacks_read(struct frag_fsb_stacks *s, const struct frag_fsb_blocks *b,
			 const unsigned char *payload, uint32_t bytes, struct frag_error *err);

/*
 * Notes an alloc for the block to come; stack 0: it has none. *bytes grows by what
 * is new in the table. False: out of memory.
 */
bool frag_fsb_stacks_note(struct frag_fsb_stacks *s, const struct frag_symbols *symbols,
			  uint32_t stack, uint64_t *bytes);

/* The length of the payload; put writes that many bytes at p. */
size_t frag_fsb_stacks_size(const struct frag_fsb_stacks *s);
void frag_fsb_stacks_put(struct frag_fsb_stacks *s, char *p);

#endif
