/* optimizer_steps.c - the optimizer steps of a program, by the names of its marks. */
#include "explain/optimizer_steps.h"

#include "base/array_grow.h"
#include "base/parse.h"

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* "step0 opt", "Optimizer.step#AdamW.step"; not "options", "adopt". */
static bool names_optimizer(const struct frag_text *name)
{
	static const char word[] = "optim";

	for (uint32_t at = 0; at < name->length; at++) {
		uint32_t same = 0;

		if (at && frag_is_letter(name->text[at - 1]))
			continue;
		while (same < sizeof(word) - 1 && at + same < name->length
		       && lower(name->text[at + same]) == word[same])
			same++;
		if (same == sizeof(word) - 1)
			return true;
		if (same == 3
		    && (at + 3 == name->length || !frag_is_letter(name->text[at + 3])))
			return true;
	}
	return false;
}

/* The next mark of the trace. False: out of memory; release it also then. */
bool frag_optimizer_note(struct frag_optimizer_steps *s, const struct frag_event *mark)
{
	if (s->count && s->of[s->count - 1].to == UINT64_MAX)
		s->of[s->count - 1].to = mark->step;
	if (!names_optimizer(&mark->text))
		return true;
	if (!FRAG_GROW(s->of, s->capacity, s->count))
		return false;
	s->of[s->count++] = (struct frag_optimizer_step){ .from = mark->step, .to = UINT64_MAX };
	return true;
}

/* Is a block that is allocated at this step allocated in an optimizer step? */
bool frag_optimizer_covers(const struct frag_optimizer_steps *s, uint64_t birth)
{
	uint32_t low;

	/* the last that begins before it */
	FRAG_COUNT_WHILE(low, s->count, s->of[low].from < birth);
	return low && birth < s->of[low - 1].to;
}
