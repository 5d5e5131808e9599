/* page_tags.c - the tags of a report, and the share of each tag and stack. */
#include "html_report/page_tags.h"

#include "base/array_grow.h"

/* The tag of a trace's number, by its text; UINT32_MAX: out of memory. */
static uint32_t page_tag_of(struct frag_page_tags *t, uint32_t number)
{
	const struct frag_text text = frag_symbols_tag(t->symbols, number);
	uint32_t tag;

	if (!FRAG_EXTEND(t->by_number, t->number_capacity, t->number_count, number))
		return UINT32_MAX;
	if (!text.text)
		return FRAG_TAG_NONE;
	if (!frag_tags_acquire(&t->texts, text, &tag))
		return UINT32_MAX;
	if (++tag < t->count || tag >= FRAG_TAGS_MAX)
		frag_tags_release(&t->texts, tag - 1);  /* of those that stay one user is counted */
	if (tag >= FRAG_TAGS_MAX) {
		frag_tags_sweep(&t->texts);
		tag = FRAG_TAG_OTHERS;
	}
	if (!FRAG_EXTEND(t->of, t->capacity, t->count, tag))
		return UINT32_MAX;
	t->by_number[number] = tag + 1;
	t->of[tag].number = number;
	return tag;
}

/* The share of a tag and a stack; UINT32_MAX: out of memory. */
static uint32_t page_share_of(struct frag_page_tags *t, uint32_t tag, uint32_t stack)
{
	uint32_t share = stack ? frag_block_groups_get(&t->shares, tag, stack, 0) : FRAG_MAP_NONE;

	if (share != FRAG_MAP_NONE)
		return share;
	if (stack && t->shares.count < FRAG_SHARES_MAX)
		return frag_block_groups_find(&t->shares, tag, stack, 0);
	if (!t->of[tag].plain)
		t->of[tag].plain = frag_block_groups_find(&t->shares, tag, 0, 0) + 1;
	return t->of[tag].plain - 1;
}

uint32_t frag_page_look_up_share(struct frag_page_tags *t, uint32_t number, uint32_t stack)
{
	const uint32_t known = number < t->number_count ? t->by_number[number] : 0;
	uint32_t tag = FRAG_TAG_NONE, share;

	if (frag_page_tag_is_live(t, known, number))
		tag = known - 1;
	else if (number)
		tag = page_tag_of(t, number);
	share = tag == UINT32_MAX ? tag : page_share_of(t, tag, stack);
	if (share != UINT32_MAX)
		t->of[tag].live++;
	return share;
}
