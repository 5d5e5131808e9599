/* fsb_block.h - the blocks of the binary form: found, checked and unpacked. */
#ifndef TRACE_FSB_BLOCK_H
#define TRACE_FSB_BLOCK_H

#include "trace/fsb.h"

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

/* A varint: seven bits a byte, the lowest first; at most ten bytes. */
uint64_t frag_fsb_take(struct frag_fsb_cursor *c);
/* Are there n bytes more, and are they text? */
bool frag_fsb_has_text(const struct frag_fsb_cursor *c, uint64_t n);

/* The first block; what is there of the header when it fails is the caller's all the same. */
int frag_fsb_read_header(struct frag_fsb_blocks *b, struct frag_header *h,
			 struct frag_error *err);

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

#endif
