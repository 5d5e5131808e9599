/* page_tags.h - the tags of a report, and the share of each tag and stack. */
#pragma once

#include "fragsim/trace.h"
#include "live_blocks/live_blocks.h"
#include "trace/name_tables.h"

/*
 * The report numbers tags itself, since a trace can give the number of a tag to another tag once no
 * block has it. A number is by 1 higher than that in `texts`. The first FRAG_TAGS_MAX tags have one
 * each, and their first FRAG_TAG_TEXT bytes are shown; all others share FRAG_TAG_OTHERS. A share is
 * a tag and a stack, on all devices; beyond FRAG_SHARES_MAX it is a tag alone.
 */
#define FRAG_TAGS_MAX 8192
#define FRAG_TAG_TEXT 240
#define FRAG_SHARES_MAX 32768
#define FRAG_TAG_NONE 0
#define FRAG_TAG_OTHERS 1

struct frag_page_tag {
	uint32_t live;          /* blocks */
	uint32_t number;        /* as the trace called it last */
	uint32_t plain;         /* its share without a stack, + 1; 0: none so far */
};

struct frag_page_tags {
	const struct frag_symbols *symbols;     /* borrowed */
	struct frag_tags texts;
	struct frag_page_tag *of;
	uint32_t count, capacity;
	uint32_t *by_number;            /* the trace's -> tag + 1, as last seen; 0: not yet */
	uint32_t number_count, number_capacity;
	struct frag_block_groups shares;        /* bytes and blocks of each are not counted here */
};

/* Does a live block of this tag prove that the trace's number still means it? */
static inline bool frag_page_tag_is_live(const struct frag_page_tags *t, uint32_t known, uint32_t number)
{
	return known > FRAG_TAG_OTHERS + 1 && t->of[known - 1].live
	       && t->of[known - 1].number == number;
}

/* frag_page_begin_share() where nothing proves the number of the tag. */
__attribute__((cold))
uint32_t frag_page_look_up_share(struct frag_page_tags *t, uint32_t number, uint32_t stack);

/*
 * The share of a new block; UINT32_MAX: out of memory. Most blocks have no stack, and a tag that
 * other live blocks have too: these prove the number of the tag.
 */
static inline uint32_t frag_page_begin_share(struct frag_page_tags *t, uint32_t number, uint32_t stack)
{
	const uint32_t known = number < t->number_count && !stack ? t->by_number[number] : 0;

	if (!frag_page_tag_is_live(t, known, number) || !t->of[known - 1].plain)
		return frag_page_look_up_share(t, number, stack);
	t->of[known - 1].live++;
	return t->of[known - 1].plain - 1;
}
