/*
 * page_stacks.h - the whole stacks of a page, each once: who allocated and freed a block, and what failed.
 *
 * A line of text is a stack: the innermost frame first, a tab behind each, those of the program behind a star, and paths
 * as others may see them.
 */
#pragma once

#include "answers/page_pack.h"
#include "base/array_grow.h"
#include "base/hash.h"
#include "fragsim/trace.h"

struct frag_snapshot;

/* The most stacks, and bytes of their lines; others have the number 0. Packed, stacks of native frames are 1/36 and less. */
#define FRAG_PAGE_STACKS 8192
#define FRAG_PAGE_STACKS_BYTES (UINT32_C(16) << 20)

struct frag_page_stacks {
	const struct frag_symbols *symbols;
	const struct frag_snapshot *snapshot;   /* NULL: none */
	struct frag_map known;                  /* what asks for a stack -> its number */
	struct frag_map texts;                  /* hash of a line -> its number */
	struct frag_page_pack lines;
	uint32_t *start;                        /* of a line by its number, and the end of the last */
	uint32_t count, capacity;               /* the numbers begin with 1 */
	bool failed;                            /* out of memory */
};

/* Release it also after a failure. */
FRAG_OR_NOMEM frag_page_stacks_init(struct frag_page_stacks *stacks, const struct frag_symbols *symbols,
				    const struct frag_snapshot *snapshot);
void frag_page_stacks_fini(struct frag_page_stacks *stacks);

/* The number of a whole stack of the tape; 0: it has none. */
uint32_t frag_page_stack_whole(struct frag_page_stacks *stacks, uint32_t whole);
/* The same of a list of frames of the snapshot. */
uint32_t frag_page_stack_frames(struct frag_page_stacks *stacks, uint32_t frames);

/* Adds the lines to a section as `stacks`, where there are any. */
void frag_page_stacks_pack(struct frag_page_stacks *stacks, struct frag_page_pack *pack, struct frag_node_ref in);

/* Adds a stack as such a line; an empty one for 0. */
void frag_page_put_stack(struct frag_page_pack *lines, const struct frag_symbols *symbols, uint32_t stack);
