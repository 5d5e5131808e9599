/* marked_tags.c - tags that end with the name of a mark, as recorders write them. */
#include "iterations/marked_tags.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "base/parse.h"
#include "events/repeated_marks.h"

bool frag_marked_tags_init(struct frag_marked_tags *tags, const struct frag_symbols *symbols)
{
	*tags = (struct frag_marked_tags){ .symbols = symbols };
	return frag_map_init(&tags->of_text, frag_hash_seed());
}

void frag_marked_tags_fini(struct frag_marked_tags *tags)
{
	frag_map_fini(&tags->of_text);
	free(tags->of);
}

static bool is_word(char c)
{
	return frag_is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

/* A name without a letter is a number, and could belong to any tag. */
void frag_marked_tags_mark(struct frag_marked_tags *o, struct frag_text mark)
{
	bool letter = false;

	for (uint32_t i = 0; i < mark.length && !letter; i++)
		letter = frag_is_letter(mark.text[i]);
	o->mark = letter ? mark : (struct frag_text){ .text = NULL };
}

static bool ends_with_mark(const struct frag_marked_tags *o, const struct frag_text *tag)
{
	const uint32_t length = o->mark.length;

	if (!o->mark.text || tag->length < length
	    || memcmp(tag->text + tag->length - length, o->mark.text, length) != 0)
		return false;
	return tag->length == length || !is_word(tag->text[tag->length - length - 1]);
}

/* The tag with the mark's kind instead of its name; NULL: out of memory. */
static char *marked_tags_text_of(const struct frag_text *tag, uint32_t end)
{
	char *kind = frag_mark_kind(tag->text + tag->length - end, end);
	const size_t length = kind ? strlen(kind) : 0;
	char *text = kind ? malloc(tag->length - end + length + 1) : NULL;

	if (text) {
		memcpy(text, tag->text, tag->length - end);
		memcpy(text + tag->length - end, kind, length + 1);
	}
	free(kind);
	return text;
}

/* Tags may have a NUL, kinds have none. */
static size_t marked_tags_length_of(const struct frag_text *tag, uint32_t end, const char *text)
{
	return tag->length - end + strlen(text + tag->length - end);
}

/* The first tag of this text, except the numbers of the mark. */
static bool marked_tags_find_first(struct frag_marked_tags *o, const struct frag_text *tag,
				   uint32_t own, uint32_t *first)
{
	char *text = marked_tags_text_of(tag, o->mark.length);
	uint64_t key;

	if (!text)
		return false;
	key = frag_hash_text(text, marked_tags_length_of(tag, o->mark.length, text),
			     o->of_text.seed);
	free(text);
	*first = frag_map_get(&o->of_text, key);
	if (*first != FRAG_MAP_NONE)
		return true;
	*first = own;
	return frag_map_add(&o->of_text, key, own);
}

static bool marked_tags_new(struct frag_marked_tags *o, uint32_t tag, uint32_t *owner)
{
	const struct frag_text text = frag_symbols_tag(o->symbols, tag);

	if (!FRAG_EXTEND(o->of, o->capacity, o->count, tag))
		return false;
	o->of[tag].tag = tag;
	if (text.text && ends_with_mark(o, &text)) {
		o->of[tag].end = o->mark.length;
		if (!marked_tags_find_first(o, &text, tag, &o->of[tag].tag))
			return false;
	}
	*owner = o->of[tag].tag;
	return true;
}

bool frag_marked_tags_find(struct frag_marked_tags *tags, uint32_t tag, uint32_t *owner)
{
	*owner = tag < tags->count ? tags->of[tag].tag : 0;
	return !tag || *owner || marked_tags_new(tags, tag, owner);
}

bool frag_marked_tags_json(const struct frag_marked_tags *o, uint32_t owner, char **out)
{
	const struct frag_text tag = frag_symbols_tag(o->symbols, owner);
	uint32_t end = 0;
	size_t length;
	char *text;

	*out = NULL;
	if (!owner || !tag.text)
		return true;
	if (owner < o->count)
		end = o->of[owner].end;
	text = marked_tags_text_of(&tag, end);
	if (!text)
		return false;
	length = marked_tags_length_of(&tag, end, text);
	*out = frag_new_json(text, length);
	free(text);
	return *out != NULL;
}
