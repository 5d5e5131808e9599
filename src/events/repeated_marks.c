/* repeated_marks.c - marks that repeat, except the numbers in their names. */
#include "events/repeated_marks.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "base/hash.h"
#include "base/parse.h"

char *frag_mark_kind(const char *name, size_t length)
{
	char *kind = malloc(length + 1), *p = kind;

	for (size_t i = 0; kind && i < length; i++)
		if (!frag_is_digit(name[i]))
			*p++ = name[i] ? name[i] : ' ';
		else if (!i || !frag_is_digit(name[i - 1]))
			*p++ = '#';
	if (kind)
		*p = '\0';
	return kind;
}

bool frag_lasting_note(struct frag_lasting_marks *marks, uint64_t at, const char *name,
			  size_t length)
{
	char *kind = frag_mark_kind(name, length);
	const bool good = kind && FRAG_GROW(marks->mark, marks->capacity, marks->count);

	FRAG_ASSERT(name || !length);
	if (good)
		marks->mark[marks->count++] = (struct frag_lasting_mark){
			.at = at, .kind = frag_hash_text(kind, strlen(kind), 0),
		};
	free(kind);
	return good;
}

bool frag_lasting_find(struct frag_lasting_marks *marks)
{
	struct frag_map seen;
	uint32_t first = UINT32_MAX, n = 0;
	uint64_t kind = 0;
	bool good = frag_map_init(&seen, frag_hash_seed());

	for (uint32_t i = 0; i < marks->count && good; i++) {
		const uint32_t before = frag_map_get(&seen, marks->mark[i].kind);

		if (before == FRAG_MAP_NONE)
			good = frag_map_add(&seen, marks->mark[i].kind, i);
		else if (before < first)
			kind = marks->mark[first = before].kind;
	}
	for (uint32_t i = first; i < marks->count && good; i++)
		if (marks->mark[i].kind == kind)
			marks->mark[n++] = marks->mark[i];
	marks->count = n;
	frag_map_fini(&seen);
	return good;
}

uint32_t frag_lasting_begun(const struct frag_lasting_marks *marks, uint64_t at)
{
	uint32_t low;

	FRAG_COUNT_WHILE(low, marks->count, marks->mark[low].at <= at);
	return low;
}
