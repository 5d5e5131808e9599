/*
 * marked_tags.h - tags that end with the name of a mark, as recorders write them.
 *
 * "linear | step 3 fwd", of a block that is born after the mark "step 3 fwd", is the same owner
 * as "linear | step 4 fwd": it is known by the first of these tags, and called
 * "linear | step # fwd".
 */
#ifndef ITERATIONS_MARKED_TAGS_H
#define ITERATIONS_MARKED_TAGS_H

#include "base/hash.h"
#include "fragsim/trace.h"

struct frag_marked_tags {
	const struct frag_symbols *symbols;     /* of a tape: texts stay where they are */
	struct frag_text mark;          /* the last one */
	struct frag_map of_text;        /* hash -> the first of these tags */
	struct frag_marked_tag {
		uint32_t tag;           /* by which it is known; 0: not seen so far */
		uint32_t end;           /* bytes of the tag that are a mark's name */
	} *of;                          /* by tag */
	uint32_t count, capacity;
};

/* False: out of memory; fini is due either way. */
bool frag_marked_tags_init(struct frag_marked_tags *tags, const struct frag_symbols *symbols);
void frag_marked_tags_fini(struct frag_marked_tags *tags);        /* one that is zeroed is fine */

void frag_marked_tags_mark(struct frag_marked_tags *tags, struct frag_text mark);
/* One that has not been seen, which *owner is then; false: out of memory. */
bool frag_marked_tags_new(struct frag_marked_tags *tags, uint32_t tag, uint32_t *owner);
/* The tag by which the owner is known; false: out of memory. 0, no tag, is nobody. */
static inline bool frag_marked_tags_find(struct frag_marked_tags *tags, uint32_t tag,
					 uint32_t *owner)
{
	*owner = tag < tags->count ? tags->of[tag].tag : 0;
	return !tag || *owner || frag_marked_tags_new(tags, tag, owner);
}
/* What it is called, as JSON; NULL where it is 0. False: out of memory. */
bool frag_marked_tags_json(const struct frag_marked_tags *tags, uint32_t owner, char **out);

#endif
