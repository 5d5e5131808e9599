/* fsb_stacks.h - whole stacks in the binary form: the blocks that precede events. */
#ifndef TRACE_FSB_STACKS_H
#define TRACE_FSB_STACKS_H

#include "trace/fsb_block.h"
#include "trace/stacks.h"

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
 * The file is read a second time, for what became of an id. The table stays, as somebody may
 * still look at the stacks of earlier events; blocks are checked only from here on.
 */
void frag_fsb_stacks_rewind(struct frag_fsb_stacks *s);

/*
 * A payload of FRAG_FSB_STACKS. What the table has stays; `of` is new: of zeros where
 * stacks are not needed. -FRAG_ETRACE; that something is there twice is seen only in
 * the table.
 */
int frag_fsb_stacks_read(struct frag_fsb_stacks *s, const struct frag_fsb_blocks *b,
			 const unsigned char *payload, uint32_t bytes, struct frag_error *err);

/*
 * Notes an alloc for the block to come; stack 0: it has none. *bytes grows by what
 * is new in the table. False: memory is short.
 */
bool frag_fsb_stacks_note(struct frag_fsb_stacks *s, const struct frag_symbols *symbols,
			  uint32_t stack, uint64_t *bytes);

/* Writes the payload: how long it is; and where there is room for it, the bytes. */
size_t frag_fsb_stacks_size(const struct frag_fsb_stacks *s);
void frag_fsb_stacks_put(struct frag_fsb_stacks *s, char *p);

#endif
