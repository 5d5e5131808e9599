/*
 * marked_tags.h - tags that end with the name of a mark, as recorders write them.
 *
 * "linear | step 3 fwd", of a block that is allocated after the mark "step 3 fwd", counts as the
 * same tag as "linear | step 4 fwd": the first of them stands for both, and is printed as
 * "linear | step # fwd".
 */
#pragma once

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

/* False on out of memory; release it also then. symbols is borrowed. */
bool frag_marked_tags_init(struct frag_marked_tags *tags, const struct frag_symbols *symbols);
void frag_marked_tags_fini(struct frag_marked_tags *tags);

/* The events from here on follow this mark; its text is borrowed. */
void frag_marked_tags_mark(struct frag_marked_tags *tags, struct frag_text mark);
/* Stores the tag that stands for all tags of its kind; 0: no tag. False: out of memory. */
bool frag_marked_tags_find(struct frag_marked_tags *tags, uint32_t tag, uint32_t *owner);
/* The text of such a tag as JSON, owned by the caller; NULL: none. False: out of memory. */
bool frag_marked_tags_json(const struct frag_marked_tags *tags, uint32_t owner, char **out);
