/* optimizer.c - where a program's optimizer steps are, and what is theirs. */
#include "search/optimizer.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "base/hash.h"

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter(char c)
{
	return lower(c) >= 'a' && lower(c) <= 'z';
}

/* "step0 opt", "Optimizer.step#AdamW.step"; not "options", "adopt". */
static bool names_optimizer(const struct frag_text *name)
{
	static const char word[] = "optim";

	for (uint32_t at = 0; at < name->length; at++) {
		uint32_t same = 0;

		if (at && is_letter(name->text[at - 1]))
			continue;
		while (same < sizeof(word) - 1 && at + same < name->length
		       && lower(name->text[at + same]) == word[same])
			same++;
		if (same == sizeof(word) - 1)
			return true;
		if (same == 3 && (at + 3 == name->length || !is_letter(name->text[at + 3])))
			return true;
	}
	return false;
}

bool frag_optimizer_note(struct frag_optimizer_steps *s, const struct frag_event *mark)
{
	if (s->count && s->of[s->count - 1].to == UINT64_MAX)
		s->of[s->count - 1].to = mark->step;
	if (!names_optimizer(&mark->text))
		return true;
	if (!frag_grow(&s->of, &s->capacity, (uint64_t)s->count + 1, sizeof(*s->of)))
		return false;
	s->of[s->count++] = (struct frag_optimizer_step){ .from = mark->step, .to = UINT64_MAX };
	return true;
}

bool frag_optimizer_covers(const struct frag_optimizer_steps *s, uint64_t birth)
{
	uint32_t low = 0, high = s->count;

	/* the last that begins before it */
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (s->of[middle].from < birth)
			low = middle + 1;
		else
			high = middle;
	}
	return low && birth < s->of[low - 1].to;
}

void frag_optimizer_fini(struct frag_optimizer_steps *s)
{
	free(s->of);
	*s = (struct frag_optimizer_steps){ .count = 0 };
}

static bool note_weights(struct frag_map *sizes, const struct frag_grown *blocks, uint32_t count,
			 uint64_t *bytes)
{
	*bytes = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (!blocks[i].weight)
			continue;
		*bytes += blocks[i].bytes;
		if (frag_map_get(sizes, blocks[i].bytes) == FRAG_MAP_NONE
		    && !frag_map_add(sizes, blocks[i].bytes, i))
			return false;
	}
	return true;
}

static bool has_size(const struct frag_map *sizes, const struct frag_grown *block)
{
	return !block->weight && frag_map_get(sizes, block->bytes) != FRAG_MAP_NONE;
}

/* The iteration in which most bytes of a weight's size were born, and how many. */
static bool find_iteration(const struct frag_map *sizes, const struct frag_grown *blocks,
			   uint32_t count, uint32_t *iteration, uint64_t *most)
{
	uint32_t iterations = 0;
	uint64_t *born;

	for (uint32_t i = 0; i < count; i++)
		iterations = blocks[i].iteration > iterations ? blocks[i].iteration : iterations;
	born = calloc((size_t)iterations + 1, sizeof(*born));
	*most = *iteration = 0;
	for (uint32_t i = 0; born && i < count; i++)
		if (has_size(sizes, &blocks[i]))
			born[blocks[i].iteration] += blocks[i].bytes;
	for (uint32_t i = 0; born && i <= iterations; i++)
		if (born[i] > *most) {
			*most = born[i];
			*iteration = i;
		}
	free(born);
	return born != NULL;
}

bool frag_optimizer_find(struct frag_grown *blocks, uint32_t count)
{
	struct frag_map sizes;
	uint64_t weights, most;
	uint32_t iteration;
	bool good = frag_map_init(&sizes, frag_hash_seed())
		    && note_weights(&sizes, blocks, count, &weights)
		    && find_iteration(&sizes, blocks, count, &iteration, &most);

	for (uint32_t i = 0; i < count && good; i++)
		blocks[i].of_optimizer = weights && 2 * most >= weights
					 && blocks[i].iteration == iteration
					 && has_size(&sizes, &blocks[i]);
	frag_map_fini(&sizes);
	return good;
}
