/* live_by_tag.c - who holds memory at a moment of a run. */
#include "explain/live_by_tag.h"

#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/array_grow.h"
#include "base/hash.h"

/* What the blocks of one tag hold, or of one stack of a tag. */
struct share {
	uint64_t bytes, blocks, oldest;
	uint32_t tag, stack;
};

static int live_by_tag_by_tag(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static int live_by_tag_by_bytes(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->oldest < y->oldest ? -1 : x->oldest > y->oldest;
}

/* Live blocks, added up as they come. */
struct sums {
	struct share *shares;   /* one for each tag and stack */
	struct frag_map at;     /* both -> which of them */
	uint32_t count, capacity;
	uint32_t recent;        /* often the next block's too */
	const struct frag_block_window *window;       /* NULL: all blocks */
	bool failed;            /* host memory was short */
};

static bool is_within(const struct frag_block_view *block, const struct frag_block_window *w)
{
	return block->segment == w->segment && block->offset >= w->offset
	       && block->offset - w->offset < w->bytes;
}

static struct share *live_by_tag_new_share(struct sums *s, const struct frag_live *live,
					   uint64_t key)
{
	if (!frag_grow(&s->shares, &s->capacity, (uint64_t)s->count + 1, sizeof(*s->shares))
	    || !frag_map_add(&s->at, key, s->count)) {
		s->failed = true;
		return NULL;
	}
	s->recent = s->count;
	s->shares[s->count] = (struct share){
		.oldest = live->birth, .tag = live->tag, .stack = live->stack,
	};
	return &s->shares[s->count++];
}

static struct share *live_by_tag_share_of(struct sums *s, const struct frag_live *live)
{
	const uint64_t key = (uint64_t)live->tag << 32 | live->stack;
	uint32_t at;

	if (s->recent < s->count && s->shares[s->recent].tag == live->tag
	    && s->shares[s->recent].stack == live->stack)
		return &s->shares[s->recent];
	at = frag_map_get(&s->at, key);
	if (at == FRAG_MAP_NONE)
		return live_by_tag_new_share(s, live, key);
	s->recent = at;
	return &s->shares[at];
}

static void live_by_tag_add_live(void *ctx, const struct frag_live *live)
{
	struct sums *s = ctx;
	struct share *share;

	if (s->failed || (s->window && !is_within(&live->block, s->window)))
		return;
	share = live_by_tag_share_of(s, live);
	if (!share)
		return;
	share->bytes += live->block.bytes;
	share->blocks++;
	if (live->birth < share->oldest)
		share->oldest = live->birth;
}

/* The shares, sorted by tag, as one for each tag. */
static uint32_t sum_tags(const struct share *from, uint32_t count, struct share *to)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct share *last = n ? &to[n - 1] : NULL;

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

/* As between the quotes of JSON. Room: 6 for each byte, and 2. */
static char *put_part(char *p, const char *text, size_t length)
{
	char *end = frag_put_json(p, text, length);

	memmove(p, p + 1, (size_t)(end - p) - 2);
	return end - 2;
}

/* "/home/me/model.py:42 forward", or of native code "name (library.so)". */
static char *live_by_tag_put_frame(char *p, const struct frag_frame *f)
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
		p = live_by_tag_put_frame(text + used, &frame);
		*p++ = '\n';
		*p = '\0';
		used = (uint32_t)(p - text);
	}
	return text;
}

/* The largest of the stacks that have the holder's tag, which are side by side. */
static bool name_stacks(struct frag_tag_usage *holder, struct share *stacks, uint32_t count,
			const struct frag_symbols *symbols)
{
	qsort(stacks, count, sizeof(*stacks), live_by_tag_by_bytes);
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

/* The share of a tag, and its stacks among these, which are sorted by tag. */
static int name_holder(struct frag_tag_usage *holder, const struct share *share,
		       struct share *stacks, uint32_t count, const struct frag_symbols *symbols)
{
	uint32_t first = 0, end;

	*holder = (struct frag_tag_usage){
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
static int name_holders(const struct sums *s, const struct frag_symbols *symbols,
			struct frag_tag_usage *holders, uint32_t *count)
{
	struct share *tags = malloc(((size_t)s->count + 1) * sizeof(*tags));
	uint32_t tag_count;
	int rc = 0;

	if (!tags)
		return -FRAG_ENOMEM;
	if (s->count)
		qsort(s->shares, s->count, sizeof(*s->shares), live_by_tag_by_tag);
	tag_count = sum_tags(s->shares, s->count, tags);
	if (tag_count)
		qsort(tags, tag_count, sizeof(*tags), live_by_tag_by_bytes);
	for (uint32_t i = 0; i < tag_count && i < FRAG_HOLDERS_MAX && !rc; i++) {
		rc = name_holder(&holders[i], &tags[i], s->shares, s->count, symbols);
		*count = i + 1;
	}
	free(tags);
	return rc;
}

int frag_holders_find(const struct frag_sim *sim, uint32_t device,
		      const struct frag_block_window *window, struct frag_tag_usage *holders,
		      uint32_t *count)
{
	struct sums s = { .window = window };
	int rc = -FRAG_ENOMEM;

	if (frag_map_init(&s.at, frag_hash_seed())) {
		frag_sim_walk(sim, device, &s, live_by_tag_add_live);
		if (!s.failed)
			rc = name_holders(&s, frag_sim_symbols(sim), holders, count);
	}
	frag_map_fini(&s.at);
	free(s.shares);
	return rc;
}
