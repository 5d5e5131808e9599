/* page_stacks.c - the whole stacks of a page, each once. */
#include "answers/page_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "live_blocks/live_blocks.h"
#include "snapshot/snapshot.h"

/* A path as others may see it: of a package from its name on, of a home from there on. Returns what of it stays. */
static const char *cut_path(const char *path, const char **instead)
{
	static const char *const packages[] = { "site-packages/", "dist-packages/" };
	static const char *const homes[] = { "/home/", "/Users/" };
	const char *at;

	*instead = "";
	for (int k = 0; k < 2; k++)
		if ((at = strstr(path, packages[k])) != NULL)
			return at + strlen(packages[k]);
	*instead = "~";
	if (strncmp(path, "/root/", 6) == 0)
		return path + 5;
	for (int k = 0; k < 2; k++)
		if (strncmp(path, homes[k], strlen(homes[k])) == 0 && (at = strchr(path + strlen(homes[k]), '/')) != NULL)
			return at;
	*instead = "";
	return path;
}

/* frames: as frag_marked_frames_json() has them. */
static void put_line(struct frag_page_pack *lines, char *frames)
{
	for (char *next; *frames; frames = next) {
		const size_t length = strcspn(frames, "\n"), star = *frames == '*';
		const char *instead, *from;

		next = frames + length + 1;
		frames[length] = '\0';
		from = cut_path(frames + star, &instead);
		frag_pack_take(lines, "*", star);
		frag_pack_take(lines, instead, strlen(instead));
		frag_pack_take(lines, from, strlen(from));
		frag_pack_take(lines, "\t", 1);
	}
	frag_pack_take(lines, "\n", 1);
}

struct symbols_walk {
	const struct frag_symbols *symbols;
	uint64_t at;
};

static bool next_of_stack(void *of, struct frag_frame *frame)
{
	struct symbols_walk *w = of;

	return frag_symbols_frame(w->symbols, &w->at, frame);
}

static bool next_of_whole(void *of, struct frag_frame *frame)
{
	struct symbols_walk *w = of;

	return frag_symbols_whole(w->symbols, &w->at, frame);
}

void frag_page_put_stack(struct frag_page_pack *lines, const struct frag_symbols *symbols, uint32_t stack)
{
	char *frames = NULL, none[1] = "";

	if (stack && !frag_marked_frames_json(next_of_stack, &(struct symbols_walk){ symbols, stack }, &frames))
		lines->failed = true;
	put_line(lines, frames ? frames : none);
	free(frames);
}

bool frag_page_stacks_init(struct frag_page_stacks *t, const struct frag_symbols *symbols,
			   const struct frag_snapshot *snapshot)
{
	*t = (struct frag_page_stacks){ .symbols = symbols, .snapshot = snapshot };
	if (!frag_map_init(&t->known, frag_hash_seed()) || !frag_map_init(&t->texts, frag_hash_seed())
	    || !FRAG_GROW(t->start, t->capacity, 0))
		return false;
	t->start[0] = 0;
	return true;
}

void frag_page_stacks_fini(struct frag_page_stacks *t)
{
	frag_map_fini(&t->known);
	frag_map_fini(&t->texts);
	free(t->lines.bytes);
	free(t->start);
}

/* The line behind the others becomes one of them, or goes where it is one. */
static uint32_t keep_line(struct frag_page_stacks *t)
{
	const uint32_t from = t->start[t->count], length = t->lines.used - from;
	const char *line = (const char *)t->lines.bytes + from;
	const uint64_t hash = frag_hash_text(line, length, t->texts.seed);
	uint32_t at = frag_map_home(&t->texts, hash), i;

	while ((i = frag_map_next(&t->texts, hash, &at)) != FRAG_MAP_NONE)
		if (t->start[i] - t->start[i - 1] == length && memcmp(t->lines.bytes + t->start[i - 1], line, length) == 0) {
			t->lines.used = from;
			return i;
		}
	if (t->count == FRAG_PAGE_STACKS) {
		t->lines.used = from;
		return 0;
	}
	if (!FRAG_GROW(t->start, t->capacity, t->count + 1) || !frag_map_add(&t->texts, hash, t->count + 1)) {
		t->failed = true;
		return 0;
	}
	t->start[++t->count] = t->lines.used;
	return t->count;
}

/* key: what asks for it. */
static uint32_t stack_number(struct frag_page_stacks *t, uint64_t key, frag_next_frame *next, void *of)
{
	uint32_t number = frag_map_get(&t->known, key);
	char *frames;

	if (number != FRAG_MAP_NONE)
		return number;
	if (t->lines.used >= FRAG_PAGE_STACKS_BYTES)
		return 0;
	if (!frag_marked_frames_json(next, of, &frames)) {
		t->failed = true;
		return 0;
	}
	number = 0;
	if (frames) {
		put_line(&t->lines, frames);
		number = t->lines.failed ? 0 : keep_line(t);
	}
	free(frames);
	t->failed |= t->lines.failed || !frag_map_add(&t->known, key, number);
	return number;
}

uint32_t frag_page_stack_whole(struct frag_page_stacks *t, uint32_t whole)
{
	return whole ? stack_number(t, whole, next_of_whole, &(struct symbols_walk){ t->symbols, whole }) : 0;
}

struct list_walk {
	const struct frag_snapshot *snapshot;
	uint32_t frames, at;
};

static bool next_of_list(void *of, struct frag_frame *frame)
{
	struct list_walk *w = of;

	return frag_snapshot_frame(w->snapshot, w->frames, w->at++, frame);
}

uint32_t frag_page_stack_frames(struct frag_page_stacks *t, uint32_t frames)
{
	return frames ? stack_number(t, UINT64_C(1) << 32 | frames, next_of_list,
				     &(struct list_walk){ t->snapshot, frames, 0 }) : 0;
}

void frag_page_stacks_pack(struct frag_page_stacks *t, struct frag_page_pack *pack, struct frag_node_ref in)
{
	pack->failed |= t->failed;
	if (t->count)
		frag_pack_bytes(pack, in, "stacks", t->lines.bytes, t->lines.used);
}
