/* top_tags.c - the tags and stacks that have most live bytes on a device in the middle of a run. */
#include "explain/top_tags.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "live_blocks/live_blocks.h"

static int tags_by_bytes(const void *a, const void *b)
{
	const struct frag_block_group *x = a, *y = b;

	return frag_order_two(y->bytes, x->bytes, x->oldest, y->oldest);
}

/* Sums up the groups, which are sorted by tag, to one for each tag. */
static uint32_t sum_tags(const struct frag_block_group *from, uint32_t count,
			 struct frag_block_group *to)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct frag_block_group *last = n ? &to[n - 1] : NULL;

		if (!last || last->tag != from[i].tag) {
			to[n++] = from[i];
			continue;
		}
		last->bytes += from[i].bytes;
		last->blocks += from[i].blocks;
		if (from[i].oldest < last->oldest)
			last->oldest = from[i].oldest;
	}
	return n;
}

/* Sets the largest stacks of a tag. */
static bool name_stacks(struct frag_tag_usage *holder, struct frag_block_group *stacks,
			uint32_t count, const struct frag_symbols *symbols)
{
	FRAG_SORT(stacks, count, tags_by_bytes);
	for (uint32_t i = 0; i < count; i++) {
		struct frag_holder_stack *to = &holder->stacks[holder->stack_count];

		holder->all_stacks += stacks[i].stack != 0;
		if (!stacks[i].stack || holder->stack_count == FRAG_HOLDER_STACKS_MAX)
			continue;
		*to = (struct frag_holder_stack){
			.bytes = stacks[i].bytes,
			.blocks = stacks[i].blocks,
			.oldest = stacks[i].oldest,
		};
		if (!frag_frames_json(symbols, stacks[i].stack, &to->frames))
			return false;
		holder->stack_count++;
	}
	return true;
}

/* Sets one tag, whose groups are among these, which are sorted by tag. */
static int name_tag(struct frag_tag_usage *to, const struct frag_block_group *tag,
		    struct frag_block_group *stacks, uint32_t count,
		    const struct frag_symbols *symbols)
{
	uint32_t first = 0, end;

	*to = (struct frag_tag_usage){
		.bytes = tag->bytes, .blocks = tag->blocks, .oldest = tag->oldest,
	};
	while (stacks[first].tag != tag->tag)
		first++;
	for (end = first; end < count && stacks[end].tag == tag->tag;)
		end++;
	if (!name_stacks(to, stacks + first, end - first, symbols))
		return -FRAG_ENOMEM;
	return frag_tag_json(symbols, tag->tag, &to->tag) ? 0 : -FRAG_ENOMEM;
}

static int name_tags(struct frag_block_groups *g, const struct frag_symbols *symbols,
		     struct frag_tag_usage *to, uint32_t *count)
{
	struct frag_block_group *tags = malloc(((size_t)g->count + 1) * sizeof(*tags));
	uint32_t tag_count;
	int rc = 0;

	if (!tags)
		return -FRAG_ENOMEM;
	frag_block_groups_sort(g);
	tag_count = sum_tags(g->of, g->count, tags);
	FRAG_SORT(tags, tag_count, tags_by_bytes);
	for (uint32_t i = 0; i < tag_count && i < FRAG_HOLDERS_MAX && !rc; i++) {
		rc = name_tag(&to[i], &tags[i], g->of, g->count, symbols);
		*count = i + 1;
	}
	free(tags);
	return rc;
}

struct top_tags {
	struct frag_block_groups groups;
	const struct frag_block_window *within; /* NULL: all blocks */
};

static void add_live(void *ctx, const struct frag_live *live)
{
	struct top_tags *top = ctx;
	const struct frag_block_window *w = top->within;
	const struct frag_block_view *b = &live->block;

	if (!w || (b->segment == w->segment && b->offset >= w->offset
		   && b->offset - w->offset < w->bytes))
		frag_block_groups_add(&top->groups, live->tag, live->stack, 0, b->bytes,
				      live->birth);
}

int frag_top_tags_find(const struct frag_sim *sim, uint32_t device,
		       const struct frag_block_window *within, struct frag_tag_usage *tags,
		       uint32_t *count)
{
	struct top_tags top = { .within = within };
	int rc = -FRAG_ENOMEM;

	*count = 0;
	if (frag_block_groups_init(&top.groups)) {
		frag_sim_walk(sim, device, &top, add_live);
		if (!top.groups.failed)
			rc = name_tags(&top.groups, frag_sim_symbols(sim), tags, count);
	}
	frag_block_groups_fini(&top.groups);
	return rc;
}
