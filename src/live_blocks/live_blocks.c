/* live_blocks.c - groups live blocks by tag, stack and size, and names tags and stacks. */
#include "live_blocks/live_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/array_grow.h"
#include "snapshot/snapshot.h"

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

static int by_tag(const void *a, const void *b)
{
	const struct frag_block_group *x = a, *y = b;

	return frag_order_two(x->tag, y->tag, x->stack, y->stack);
}

void frag_block_groups_sort(struct frag_block_groups *g)
{
	FRAG_SORT(g->of, g->count, by_tag);
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

/* Which frames, and how. */
enum frames_kind { FRAMES_ALL, FRAMES_OWN, FRAMES_MARKED };

/* False: out of memory. */
static bool frames_json(frag_next_frame *next, void *of, enum frames_kind kind, char **out)
{
	uint32_t used = 0, capacity = 0, count = 0;
	struct frag_frame frame;
	char *text = NULL, *p;

	*out = NULL;
	while (count++ < FRAG_FRAMES_MAX && next(of, &frame)) {
		const uint64_t max = 6 * ((uint64_t)frame.file.length + frame.name.length);
		const bool own = kind != FRAMES_ALL
				 && frag_frame_origin(frame.file, frame.line) == FRAG_ORIGIN_PROGRAM;

		if (kind == FRAMES_OWN && !own)
			continue;
		if (!frag_grow(&text, &capacity, used + max + FRAG_NUMBER_ROOM + 16, 1)) {
			free(text);
			return false;
		}
		p = text + used;
		if (kind == FRAMES_MARKED && own)
			*p++ = '*';
		p = put_frame(p, &frame);
		*p++ = '\n';
		*p = '\0';
		used = (uint32_t)(p - text);
	}
	*out = text;
	return true;
}

struct symbols_walk {
	const struct frag_symbols *symbols;
	uint64_t at;
};

static bool symbols_next(void *of, struct frag_frame *frame)
{
	struct symbols_walk *w = of;

	return frag_symbols_frame(w->symbols, &w->at, frame);
}

bool frag_frames_json(const struct frag_symbols *symbols, uint64_t at, char **out)
{
	return frames_json(symbols_next, &(struct symbols_walk){ symbols, at }, FRAMES_ALL, out);
}

bool frag_own_frames_json(const struct frag_symbols *symbols, uint64_t at, char **out)
{
	return frames_json(symbols_next, &(struct symbols_walk){ symbols, at }, FRAMES_OWN, out);
}

bool frag_marked_frames_json(frag_next_frame *next, void *of, char **out)
{
	return frames_json(next, of, FRAMES_MARKED, out);
}

bool frag_tag_json(const struct frag_symbols *symbols, uint32_t tag, char **out)
{
	const struct frag_text text = frag_symbols_tag(symbols, tag);

	*out = text.text ? frag_new_json(text.text, text.length) : NULL;
	return *out || !text.text;
}
