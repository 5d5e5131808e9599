/* holders.c - who holds memory at a moment of a run. */
#include "explain/holders.h"

#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/grow.h"

/* What the blocks of one tag hold, or of one stack of a tag. */
struct share {
	uint64_t bytes, blocks, oldest;
	uint32_t tag, stack;
};

static int by_tag(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static int by_bytes(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->oldest < y->oldest ? -1 : x->oldest > y->oldest;
}

struct gathering {
	struct frag_scene *scene;
	bool failed;            /* host memory was short */
};

static void keep_live(void *ctx, const struct frag_live *live)
{
	struct gathering *g = ctx;
	struct frag_scene *scene = g->scene;

	if (g->failed || !frag_grow(&scene->live, &scene->capacity,
				    (uint64_t)scene->count + 1, sizeof(*scene->live)))
		g->failed = true;
	else
		scene->live[scene->count++] = *live;
}

int frag_scene_init(struct frag_scene *scene, const struct frag_sim *sim, uint32_t device)
{
	struct gathering g = { .scene = scene };

	*scene = (struct frag_scene){ .symbols = frag_sim_symbols(sim) };
	frag_sim_walk(sim, device, &g, keep_live);
	return g.failed ? -FRAG_ENOMEM : 0;
}

void frag_scene_fini(struct frag_scene *scene)
{
	free(scene->live);
	scene->live = NULL;
}

static bool is_within(const struct frag_block_view *block, const struct frag_window *w)
{
	return block->segment == w->segment && block->offset >= w->offset
	       && block->offset - w->offset < w->bytes;
}

/* One share for each of the live blocks, or for each of those in the window. */
static uint32_t list_shares(struct share *shares, const struct frag_scene *scene,
			    const struct frag_window *window)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < scene->count; i++) {
		const struct frag_live *live = &scene->live[i];

		if (!window || is_within(&live->block, window))
			shares[n++] = (struct share){
				.bytes = live->block.bytes, .blocks = 1, .oldest = live->birth,
				.tag = live->tag, .stack = live->stack,
			};
	}
	return n;
}

/* Sums the sorted shares of one tag, or of one stack, into `to`, which may be `from`. */
static uint32_t sum(const struct share *from, uint32_t count, struct share *to, bool whole_tags)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct share *last = n ? &to[n - 1] : NULL;

		if (!last || last->tag != from[i].tag
		    || (!whole_tags && last->stack != from[i].stack)) {
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

/* As between the quotes of JSON. Room: 6 for each byte, and 2. */
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

/* The frames of a stack, a line each; NULL where memory is short. */
static char *put_frames(const struct frag_symbols *symbols, uint64_t at)
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

/* The largest of the stacks that have the holder's tag, which are side by side. */
static bool name_stacks(struct frag_holder *holder, struct share *stacks, uint32_t count,
			const struct frag_symbols *symbols)
{
	qsort(stacks, count, sizeof(*stacks), by_bytes);
	for (uint32_t i = 0; i < count; i++) {
		struct frag_holder_stack *to = &holder->stacks[holder->stack_count];

		holder->all_stacks += stacks[i].stack != 0;
		if (!stacks[i].stack || holder->stack_count == FRAG_HOLDER_STACKS_MAX)
			continue;
		*to = (struct frag_holder_stack){
			.frames = put_frames(symbols, stacks[i].stack), .bytes = stacks[i].bytes,
			.blocks = stacks[i].blocks, .oldest = stacks[i].oldest,
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

/* The share of a tag, and its stacks among these, which are sorted by tag. */
static int name_holder(struct frag_holder *holder, const struct share *share,
		       struct share *stacks, uint32_t count, const struct frag_symbols *symbols)
{
	uint32_t first = 0, end;

	*holder = (struct frag_holder){
		.bytes = share->bytes, .blocks = share->blocks, .oldest = share->oldest,
	};
	while (stacks[first].tag != share->tag)
		first++;
	for (end = first; end < count && stacks[end].tag == share->tag;)
		end++;
	if (!name_stacks(holder, stacks + first, end - first, symbols))
		return -FRAG_ENOMEM;
	return frag_tag_json(symbols, share->tag, &holder->tag) ? 0 : -FRAG_ENOMEM;
}

/* By tag, and within a tag by stack. */
int frag_scene_holders(const struct frag_scene *scene, const struct frag_window *window,
		       struct frag_holder *holders, uint32_t *count)
{
	struct share *stacks = malloc(2 * ((size_t)scene->count + 1) * sizeof(*stacks));
	struct share *tags;
	uint32_t stack_count, tag_count;
	int rc = 0;

	if (!stacks)
		return -FRAG_ENOMEM;
	tags = stacks + scene->count + 1;
	stack_count = list_shares(stacks, scene, window);
	if (stack_count)
		qsort(stacks, stack_count, sizeof(*stacks), by_tag);
	stack_count = sum(stacks, stack_count, stacks, false);
	tag_count = sum(stacks, stack_count, tags, true);
	if (tag_count)
		qsort(tags, tag_count, sizeof(*tags), by_bytes);
	for (uint32_t i = 0; i < tag_count && i < FRAG_HOLDERS_MAX && !rc; i++) {
		rc = name_holder(&holders[i], &tags[i], stacks, stack_count, scene->symbols);
		*count = i + 1;
	}
	free(stacks);
	return rc;
}
