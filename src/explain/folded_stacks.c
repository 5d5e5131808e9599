/* folded_stacks.c - the live blocks of a moment by stack, as rows of folded stacks. */
#include "explain/folded_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "events/recording_info.h"
#include "live_blocks/live_blocks.h"

static int by_folded(const void *a, const void *b)
{
	const struct frag_folded *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return frag_order_two(x->tag, y->tag, x->stack, y->stack);
}

/* One frame in front of those that it called; false: out of memory. */
static bool put_before(char **line, const struct frag_text *frame)
{
	const size_t rest = *line ? strlen(*line) + 1 : 0;
	char *text = malloc(frame->length + rest + 1);

	if (!text)
		return false;
	/* a line of folded stacks has separators and line ends itself */
	for (size_t i = 0; i < frame->length; i++)
		text[i] = frame->text[i] == ';' ? ':'
			  : (unsigned char)frame->text[i] < ' ' ? ' ' : frame->text[i];
	if (rest) {
		text[frame->length] = ';';
		memcpy(text + frame->length + 1, *line, rest - 1);
	}
	text[frame->length + rest] = '\0';
	free(*line);
	*line = text;
	return true;
}

static bool name_folded(const struct frag_symbols *symbols, struct frag_folded *row)
{
	static const struct frag_text none = { .text = "(no tag)", .length = 8 };
	struct frag_text tag = frag_symbols_tag(symbols, row->tag);
	uint64_t at = row->stack;
	struct frag_frame frame;
	uint32_t count = 0;

	while (at && count++ < FRAG_FRAMES_MAX && frag_symbols_frame(symbols, &at, &frame))
		if (frame.name.length && !put_before(&row->line, &frame.name))
			return false;
	return row->line || put_before(&row->line, tag.text ? &tag : &none);
}

/* A row for each stack, whatever the tags of its blocks are; without a stack for each tag. */
static bool add_folded(struct frag_explained *m, const struct frag_memory_state *memory,
		       struct frag_block_groups *rows)
{
	uint32_t capacity = 0;

	for (uint32_t k = 0; k < memory->block_count; k++) {
		const struct frag_state_block *b = &memory->blocks[k];
		uint32_t i;

		if (!frag_is_live(b) || b->slot == FRAG_NO_SLOT)
			continue;
		i = frag_block_groups_find(rows, b->stack ? 0 : b->tag, b->stack, 0);
		if (i == FRAG_MAP_NONE
		    || !frag_grow(&m->folded, &capacity, rows->count, sizeof(*m->folded)))
			return false;
		if (i == m->folded_count)
			m->folded[m->folded_count++] = (struct frag_folded){
				.tag = b->tag, .stack = b->stack,
			};
		m->folded[i].bytes += b->bytes;
	}
	return true;
}

bool frag_fold_stacks(struct frag_explained *m, const struct frag_memory_state *memory,
		      const struct frag_symbols *symbols)
{
	struct frag_block_groups rows;
	bool good = frag_block_groups_init(&rows) && add_folded(m, memory, &rows);

	frag_block_groups_fini(&rows);
	FRAG_SORT(m->folded, m->folded_count, by_folded);
	for (uint32_t i = 0; i < m->folded_count && good; i++)
		good = name_folded(symbols, &m->folded[i]);
	return good;
}
