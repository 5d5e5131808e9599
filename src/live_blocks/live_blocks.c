/* live_blocks.c - groups live blocks by tag, stack and size, and names tags and stacks. */
#include "live_blocks/live_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/array_grow.h"

bool frag_block_groups_init(struct frag_block_groups *g)
{
	*g = (struct frag_block_groups){ .count = 0 };
	return frag_map_init(&g->at, frag_hash_seed());
}

void frag_block_groups_fini(struct frag_block_groups *g)
{
	frag_map_fini(&g->at);
	free(g->of);
}

static bool is_group(const struct frag_block_group *group, uint32_t tag, uint32_t stack,
		     uint64_t size)
{
	return group->tag == tag && group->stack == stack && group->size == size;
}

static uint64_t group_key(uint32_t tag, uint32_t stack, uint64_t size)
{
	return ((uint64_t)tag << 32 | stack) ^ size * UINT64_C(0x9e3779b97f4a7c15);
}

/* Most blocks have the group of the block before: that group is compared first. */
uint32_t frag_block_groups_get(struct frag_block_groups *g, uint32_t tag, uint32_t stack,
			       uint64_t size)
{
	const uint64_t key = group_key(tag, stack, size);
	uint32_t at, i;

	if (g->recent < g->count && is_group(&g->of[g->recent], tag, stack, size))
		return g->recent;
	at = frag_map_home(&g->at, key);
	do
		i = frag_map_next(&g->at, key, &at);
	while (i != FRAG_MAP_NONE && !is_group(&g->of[i], tag, stack, size));
	if (i != FRAG_MAP_NONE)
		g->recent = i;
	return i;
}

uint32_t frag_block_groups_find(struct frag_block_groups *g, uint32_t tag, uint32_t stack,
				uint64_t size)
{
	const uint32_t i = frag_block_groups_get(g, tag, stack, size);

	if (i != FRAG_MAP_NONE)
		return i;
	if (!FRAG_GROW(g->of, g->capacity, g->count)
	    || !frag_map_add(&g->at, group_key(tag, stack, size), g->count)) {
		g->failed = true;
		return FRAG_MAP_NONE;
	}
	g->of[g->count] = (struct frag_block_group){
		.oldest = UINT64_MAX, .size = size, .tag = tag, .stack = stack,
	};
	g->recent = g->count;
	return g->count++;
}

void frag_block_groups_add(struct frag_block_groups *g, uint32_t tag, uint32_t stack,
			   uint64_t size, uint64_t bytes, uint64_t birth)
{
	const uint32_t i = g->failed ? FRAG_MAP_NONE : frag_block_groups_find(g, tag, stack, size);
	struct frag_block_group *group = &g->of[i];

	if (i == FRAG_MAP_NONE)
		return;
	group->bytes += bytes;
	group->blocks++;
	if (birth < group->oldest)
		group->oldest = birth;
}

static int live_blocks_by_tag(const void *a, const void *b)
{
	const struct frag_block_group *x = a, *y = b;

	return frag_order_two(x->tag, y->tag, x->stack, y->stack);
}

void frag_block_groups_sort(struct frag_block_groups *g)
{
	if (g->count)
		qsort(g->of, g->count, sizeof(*g->of), live_blocks_by_tag);
}

static int live_blocks_by_bytes(const void *a, const void *b)
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

/* Text as between the quotes of JSON: at most 6 bytes for each byte, and 2. */
static char *put_part(char *p, const char *text, size_t length)
{
	char *end = frag_put_json(p, text, length);

	memmove(p, p + 1, (size_t)(end - p) - 2);
	return end - 2;
}

/* "/home/me/model.py:42 forward", or of native code "name (library.so)". */
static char *put_frame(char *p, const struct frag_frame *f)
{
	const char *file = f->file.text;
	size_t length = f->file.length;

	if (f->line) {
		p = put_part(p, file, length);
		*p++ = ':';
		p = frag_put_u64(p, f->line);
		*p++ = ' ';
	}
	p = put_part(p, f->name.text, f->name.length);
	if (f->line || !length || *file == '?')
		return p;
	for (const char *slash; (slash = memchr(file, '/', length)) != NULL; file = slash + 1)
		length -= (size_t)(slash + 1 - file);
	*p++ = ' ';
	*p++ = '(';
	p = put_part(p, file, length);
	*p++ = ')';
	return p;
}

char *frag_frames_json(const struct frag_symbols *symbols, uint64_t at)
{
	uint32_t used = 0, capacity = 0, count = 0;
	struct frag_frame frame;
	char *text = NULL, *p;

	while (count++ < FRAG_FRAMES_MAX && frag_symbols_frame(symbols, &at, &frame)) {
		const uint64_t max = 6 * ((uint64_t)frame.file.length + frame.name.length);

		if (!frag_grow(&text, &capacity, used + max + FRAG_NUMBER_ROOM + 16, 1)) {
			free(text);
			return NULL;
		}
		p = put_frame(text + used, &frame);
		*p++ = '\n';
		*p = '\0';
		used = (uint32_t)(p - text);
	}
	return text;
}

/* Sets the largest stacks of a tag. */
static bool name_stacks(struct frag_tag_usage *holder, struct frag_block_group *stacks,
			uint32_t count, const struct frag_symbols *symbols)
{
	qsort(stacks, count, sizeof(*stacks), live_blocks_by_bytes);
	for (uint32_t i = 0; i < count; i++) {
		struct frag_holder_stack *to = &holder->stacks[holder->stack_count];

		holder->all_stacks += stacks[i].stack != 0;
		if (!stacks[i].stack || holder->stack_count == FRAG_HOLDER_STACKS_MAX)
			continue;
		*to = (struct frag_holder_stack){
			.frames = frag_frames_json(symbols, stacks[i].stack),
			.bytes = stacks[i].bytes,
			.blocks = stacks[i].blocks,
			.oldest = stacks[i].oldest,
		};
		if (!to->frames)
			return false;
		holder->stack_count++;
	}
	return true;
}

bool frag_tag_json(const struct frag_symbols *symbols, uint32_t tag, char **out)
{
	const struct frag_text text = frag_symbols_tag(symbols, tag);

	*out = NULL;
	if (!text.text)
		return true;
	*out = malloc((size_t)text.length * 6 + 3);
	if (!*out)
		return false;
	*frag_put_json(*out, text.text, text.length) = '\0';
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
	if (tag_count)
		qsort(tags, tag_count, sizeof(*tags), live_blocks_by_bytes);
	for (uint32_t i = 0; i < tag_count && i < FRAG_HOLDERS_MAX && !rc; i++) {
		rc = name_tag(&to[i], &tags[i], g->of, g->count, symbols);
		*count = i + 1;
	}
	free(tags);
	return rc;
}

struct top_tags {
	struct frag_block_groups groups;
	const struct frag_block_range *range;   /* NULL: all blocks */
};

static void add_live(void *ctx, const struct frag_live *live)
{
	struct top_tags *top = ctx;
	const struct frag_block_range *r = top->range;
	const struct frag_block_view *b = &live->block;

	if (!r || (b->segment == r->segment && b->offset >= r->offset
		   && b->offset - r->offset < r->bytes))
		frag_block_groups_add(&top->groups, live->tag, live->stack, 0, b->bytes,
				      live->birth);
}

int frag_top_tags_find(const struct frag_sim *sim, uint32_t device,
		       const struct frag_block_range *range, struct frag_tag_usage *tags,
		       uint32_t *count)
{
	struct top_tags top = { .range = range };
	int rc = -FRAG_ENOMEM;

	if (frag_block_groups_init(&top.groups)) {
		frag_sim_walk(sim, device, &top, add_live);
		if (!top.groups.failed)
			rc = name_tags(&top.groups, frag_sim_symbols(sim), tags, count);
	}
	frag_block_groups_fini(&top.groups);
	return rc;
}
