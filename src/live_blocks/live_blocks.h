/*
 * live_blocks.h - groups live blocks by tag, stack and size, and names tags and stacks.
 *
 * A group has the blocks of one tag, one stack and one size. The caller passes 0 for each of the
 * three that must not separate groups.
 */
#pragma once

#include "base/array_grow.h"
#include "base/hash.h"
#include "fragsim/engine.h"

struct frag_block_group {
	uint64_t bytes, blocks;
	uint64_t oldest;        /* step */
	uint64_t size;
	uint32_t tag, stack;
};

struct frag_block_groups {
	struct frag_block_group *of;    /* in the order in which they came */
	struct frag_map at;             /* hash -> group */
	uint32_t count, capacity;
	uint32_t recent;                /* the group that was found last */
	bool failed;                    /* out of memory (host) */
};

/* False on out of memory; release it also then. A zeroed one can be released. */
bool frag_block_groups_init(struct frag_block_groups *groups);
void frag_block_groups_fini(struct frag_block_groups *groups);

/* The group with these; FRAG_MAP_NONE: there is none. */
uint32_t frag_block_groups_get(struct frag_block_groups *groups, uint32_t tag, uint32_t stack,
			       uint64_t size);
/* The same, and adds the group where it is new; FRAG_MAP_NONE on out of memory. */
uint32_t frag_block_groups_find(struct frag_block_groups *groups, uint32_t tag, uint32_t stack,
				uint64_t size);
/* Adds one block to its group, which is found likewise. */
void frag_block_groups_add(struct frag_block_groups *groups, uint32_t tag, uint32_t stack,
			   uint64_t size, uint64_t bytes, uint64_t birth);
/* By tag, then by stack; after that none can be found or added. */
void frag_block_groups_sort(struct frag_block_groups *groups);

/* A tag as JSON text with its quotes. */
FRAG_OR_NOMEM frag_tag_json(const struct frag_symbols *symbols, uint32_t tag, char **out);

/*
 * The frames of a stack as JSON texts without their quotes, each with a newline after it, the
 * innermost first.
 */
FRAG_OR_NOMEM frag_frames_json(const struct frag_symbols *symbols, uint64_t at, char **out);
/* The same of the program's own frames. */
FRAG_OR_NOMEM frag_own_frames_json(const struct frag_symbols *symbols, uint64_t at, char **out);

/* The next frame of a stack, the innermost first; false: there is none. */
typedef bool frag_next_frame(void *of, struct frag_frame *frame);
/* All frames, those of the program behind a star. */
FRAG_OR_NOMEM frag_marked_frames_json(frag_next_frame *next, void *of, char **out);
