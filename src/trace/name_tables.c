/*
 * name_tables.c - what a trace calls things, as dense indexes: streams, pools, tags; and stacks,
 * each frame and each common end once.
 */
#include "trace/name_tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/word64.h"

bool frag_handles_init(struct frag_handles *h, uint64_t seed)
{
	const struct frag_handle zero = { .number = 0 };

	*h = (struct frag_handles){ .last_number = UINT64_MAX };
	return frag_map_init(&h->numbers, seed) && frag_map_init(&h->texts, seed)
	       && frag_handles_intern(h, &zero) == 0;
}

void frag_handles_fini(struct frag_handles *h)
{
	for (uint32_t i = 0; i < h->count; i++)
		free((void *)(uintptr_t)frag_handle_at(h, i)->text);
	frag_chunks_fini(&h->handles);
	frag_map_fini(&h->numbers);
	frag_map_fini(&h->texts);
}

static uint64_t key_of(const struct frag_handles *h, const struct frag_handle *handle)
{
	return handle->text ? frag_hash_text(handle->text, (size_t)handle->number, h->texts.seed)
			    : handle->number;
}

uint32_t frag_handles_find(const struct frag_handles *h, const struct frag_handle *handle)
{
	const uint64_t key = key_of(h, handle);
	uint32_t at, i;

	if (!handle->text)
		return frag_map_get(&h->numbers, key);
	at = frag_map_home(&h->texts, key);
	while ((i = frag_map_next(&h->texts, key, &at)) != FRAG_MAP_NONE)
		if (frag_handle_at(h, i)->number == handle->number
		    && memcmp(frag_handle_at(h, i)->text, handle->text,
			      (size_t)handle->number) == 0)
			return i;
	return FRAG_MAP_NONE;
}

/*
 * Numbers and texts have a map each, as a text's hash may equal a number. The last
 * number is remembered: most events use the same stream.
 */
uint32_t frag_handles_intern(struct frag_handles *h, const struct frag_handle *handle)
{
	uint32_t i = frag_handles_find(h, handle);
	char *text = NULL;

	if (i == FRAG_MAP_NONE) {
		if (handle->text)
			text = malloc((size_t)handle->number + 1);
		if ((handle->text && !text)
		    || !frag_chunks_grow(&h->handles, (uint64_t)h->count + 1,
					 sizeof(struct frag_handle))
		    || !frag_map_add(text ? &h->texts : &h->numbers, key_of(h, handle), h->count)) {
			free(text);
			return UINT32_MAX;
		}
		if (text) {
			memcpy(text, handle->text, (size_t)handle->number);
			text[handle->number] = '\0';
		}
		i = h->count++;
		*frag_handle_at(h, i) =
			(struct frag_handle){ .text = text, .number = handle->number };
	}
	if (!handle->text) {
		h->last_number = handle->number;
		h->last_index = i;
	}
	return i;
}

uint32_t frag_handles_intern_text(struct frag_handles *h, struct frag_text text)
{
	const struct frag_handle handle = { .text = text.text, .number = text.length };

	return frag_handles_intern(h, &handle);
}

bool frag_tags_init(struct frag_tags *t, uint64_t seed)
{
	*t = (struct frag_tags){ .seed = seed, .count = 1 };
	return frag_map_init(&t->map, seed)
	       && frag_chunks_grow(&t->tags, 1, sizeof(struct frag_tag));
}

void frag_tags_fini(struct frag_tags *t)
{
	for (uint32_t i = 1; i < t->count; i++)
		free(frag_tag_at(t, i)->text);
	frag_chunks_fini(&t->tags);
	frag_map_fini(&t->map);
}

/* Reuses numbers without users first; they are linked through their user counts. */
static uint32_t add_tag(struct frag_tags *t, struct frag_text text, uint64_t hash)
{
	char *copy = malloc((size_t)text.length + 1);
	uint32_t i = t->unused;

	if (!copy
	    || !frag_chunks_grow(&t->tags, (uint64_t)t->count + 1, sizeof(struct frag_tag))
	    || !frag_map_add(&t->map, hash, i ? i : t->count)) {
		free(copy);
		return 0;
	}
	if (i)
		t->unused = frag_tag_at(t, i)->users;
	else
		i = t->count++;
	memcpy(copy, text.text, text.length);
	*frag_tag_at(t, i) = (struct frag_tag){
		.text = copy, .length = text.length, .users = 1, .hash = hash,
		.content = frag_hash_content(text.text, text.length, 0),
	};
	return i;
}

static bool is_tag(const struct frag_tag *tag, struct frag_text text)
{
	return tag->length == text.length && memcmp(tag->text, text.text, text.length) == 0;
}

static uint32_t use(struct frag_tags *t, uint32_t i)
{
	struct frag_tag *tag = frag_tag_at(t, i);

	t->idle -= tag->users == 0;
	tag->users++;
	return i;
}

static uint32_t find_tag(struct frag_tags *t, struct frag_text text)
{
	uint64_t hash = frag_hash_text(text.text, text.length, t->seed);
	uint32_t at = frag_map_home(&t->map, hash), i;

	while ((i = frag_map_next(&t->map, hash, &at)) != FRAG_MAP_NONE)
		if (is_tag(frag_tag_at(t, i), text))
			return use(t, i);
	return add_tag(t, text, hash);
}

/*
 * The same tags repeat, so the tag that had the same short signature last time is compared
 * first. An author can predict signatures and make each miss; then the seeded hash table
 * decides as usual.
 */
bool frag_tags_acquire(struct frag_tags *t, struct frag_text text, uint32_t *tag)
{
	uint64_t look;
	uint32_t *recent;

	FRAG_ASSERT(text.text);
	if (text.length < 8)
		return (*tag = find_tag(t, text)) != 0;
	look = (frag_word_at(text.text) ^ text.length) * UINT64_C(0x9e3779b97f4a7c15)
	       + frag_word_at(text.text + text.length - 8);
	recent = &t->recent[look * UINT64_C(0xd6e8feb86659fd93) >> 56];
	/* one that was swept away has no text and no length */
	if (*recent && is_tag(frag_tag_at(t, *recent), text))
		*tag = use(t, *recent);
	else
		*tag = *recent = find_tag(t, text);
	return *tag != 0;
}

void frag_tags_release(struct frag_tags *t, uint32_t tag)
{
	FRAG_ASSERT(!tag || (tag < t->count && frag_tag_at(t, tag)->users));
	if (tag && --frag_tag_at(t, tag)->users == 0)
		t->idle++;
}

void frag_tags_sweep(struct frag_tags *t)
{
	if (t->idle < 4096 || t->idle < t->count / 2)
		return;
	for (uint32_t i = 1; i < t->count; i++) {
		struct frag_tag *tag = frag_tag_at(t, i);

		if (!tag->text || tag->users)
			continue;
		frag_map_remove(&t->map, tag->hash, i);
		free(tag->text);
		*tag = (struct frag_tag){ .text = NULL, .users = t->unused };
		t->unused = i;
	}
	t->idle = 0;
}

bool frag_stacks_init(struct frag_stack_table *s, uint64_t seed)
{
	*s = (struct frag_stack_table){ .frame_count = 1, .count = 1, .seed = seed };
	return frag_handles_init(&s->texts, seed)
	       && frag_chunks_grow(&s->frames, 1, sizeof(struct frag_stack_frame))
	       && frag_chunks_grow(&s->stacks, 1, sizeof(struct frag_stack));
}

void frag_stacks_fini(struct frag_stack_table *s)
{
	frag_handles_fini(&s->texts);
	free(s->frame_numbers.at);
	free(s->numbers.at);
	frag_chunks_fini(&s->frames);
	frag_chunks_fini(&s->stacks);
}

/* UINT32_MAX where the host is out of memory. */
static uint32_t stacks_text_number(struct frag_stack_table *s, struct frag_text text)
{
	return text.text && text.length ? frag_handles_intern_text(&s->texts, text) : 0;
}

/* The next slot that is empty or has this hash. */
static struct frag_stack_slot *slot_at(const struct frag_stack_numbers *n, uint32_t hash, uint32_t at)
{
	while (n->at[at & n->mask].number && n->at[at & n->mask].hash != hash)
		at++;
	return &n->at[at & n->mask];
}

/* Makes sure that one number more fits. */
static FRAG_OR_NOMEM numbers_widen(struct frag_stack_numbers *n)
{
	const uint64_t had = n->at ? (uint64_t)n->mask + 1 : 0;
	struct frag_stack_numbers wide = { .mask = had ? (uint32_t)(2 * had - 1) : 63,
					   .count = n->count };

	if (n->count < had / 4 * 3)
		return true;
	wide.at = calloc((size_t)wide.mask + 1, sizeof(*wide.at));
	if (!wide.at)
		return false;
	for (uint64_t i = 0; i < had; i++) {
		uint32_t at = n->at[i].hash;

		while (n->at[i].number && wide.at[at & wide.mask].number)
			at++;
		if (n->at[i].number)
			wide.at[at & wide.mask] = n->at[i];
	}
	free(n->at);
	*n = wide;
	return true;
}

/* Texts become numbers first, so two frames are equal where three integers are. */
bool frag_stacks_frame(struct frag_stack_table *s, const struct frag_frame *frame,
		       uint32_t *number)
{
	const struct frag_stack_frame f = {
		.file = stacks_text_number(s, frame->file),
		.name = stacks_text_number(s, frame->name),
		.line = frame->line,
	};
	const uint32_t hash = (uint32_t)frag_hash_key(
		frag_hash_key((uint64_t)f.file << 32 | f.name, s->seed) + f.line, s->seed);
	struct frag_stack_numbers *n = &s->frame_numbers;
	struct frag_stack_slot *slot;

	if (f.file == UINT32_MAX || f.name == UINT32_MAX || !numbers_widen(n))
		return false;
	slot = slot_at(n, hash, hash);
	while (slot->number) {
		const struct frag_stack_frame *known = frag_stacks_frame_at(s, slot->number);

		*number = slot->number;
		if (known->file == f.file && known->name == f.name && known->line == f.line)
			return true;
		slot = slot_at(n, hash, (uint32_t)(slot - n->at) + 1);
	}
	if (!frag_chunks_grow(&s->frames, (uint64_t)s->frame_count + 1, sizeof(f)))
		return false;
	*frag_stacks_frame_at(s, s->frame_count) = f;
	*slot = (struct frag_stack_slot){ hash, s->frame_count };
	n->count++;
	*number = s->frame_count++;
	return true;
}

bool frag_stacks_push(struct frag_stack_table *s, uint32_t frame, uint32_t below, uint32_t *stack)
{
	const struct frag_stack of = { .frame = frame, .below = below };
	const uint32_t hash = (uint32_t)frag_hash_key((uint64_t)frame << 32 | below, s->seed);
	struct frag_stack_numbers *n = &s->numbers;
	struct frag_stack_slot *slot;

	FRAG_ASSERT(frame && frame < s->frame_count && below < s->count);
	if (!numbers_widen(n))
		return false;
	slot = slot_at(n, hash, hash);
	while (slot->number) {
		const struct frag_stack *known = frag_stacks_stack_at(s, slot->number);

		*stack = slot->number;
		if (known->frame == frame && known->below == below)
			return true;
		slot = slot_at(n, hash, (uint32_t)(slot - n->at) + 1);
	}
	if (!frag_chunks_grow(&s->stacks, (uint64_t)s->count + 1, sizeof(of)))
		return false;
	*frag_stacks_stack_at(s, s->count) = of;
	*slot = (struct frag_stack_slot){ hash, s->count };
	n->count++;
	*stack = s->count++;
	return true;
}

/* Nothing here is written after the stack has its number, and nothing else is read. */
void frag_stacks_at(const struct frag_stack_table *s, uint64_t *at, struct frag_frame *frame)
{
	const struct frag_stack *stack = frag_stacks_stack_at(s, (uint32_t)*at);
	const struct frag_stack_frame *f = frag_stacks_frame_at(s, stack->frame);

	FRAG_ASSERT(*at);
	*frame = (struct frag_frame){
		.file = frag_handle_text(&s->texts, f->file),
		.name = frag_handle_text(&s->texts, f->name),
		.line = f->line,
	};
	*at = stack->below;
}
