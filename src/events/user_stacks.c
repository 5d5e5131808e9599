/* user_stacks.c - the stacks of a source without the frames that are not the program's. */
#include "events/user_stacks.h"

#include <stdlib.h>

#include "base/bug.h"
#include "trace/stacks.h"

bool frag_own_stacks_init(struct frag_own_stacks *s, uint64_t seed)
{
	*s = (struct frag_own_stacks){ .frames = NULL };
	if (!frag_stacks_init(&s->table, seed) || !frag_map_init(&s->number, seed))
		return false;
	s->frames = malloc(FRAG_FRAMES_MAX * sizeof(*s->frames));
	return s->frames != NULL;
}

void frag_own_stacks_fini(struct frag_own_stacks *s)
{
	frag_stacks_fini(&s->table);
	frag_map_fini(&s->number);
	free(s->frames);
}

/* What is left of a stack makes no difference between packages and Python's own modules. */
static enum frag_origin origin_of(const struct frag_frame *f)
{
	const enum frag_origin origin = frag_frame_origin(f->file, f->line);

	return origin == FRAG_ORIGIN_PYTHON ? FRAG_ORIGIN_PACKAGE : origin;
}

/* The innermost frames of the stack, and the best that is among them. */
static uint32_t read_stack(struct frag_own_stacks *s, uint64_t at,
			   const struct frag_source_ops *source, void *state,
			   enum frag_origin *best)
{
	uint32_t count = 0;

	*best = FRAG_ORIGIN_NATIVE;
	while (at && count < FRAG_FRAMES_MAX) {
		struct frag_frame *f = &s->frames[count++];
		enum frag_origin origin;

		source->frame(state, &at, f);
		origin = origin_of(f);
		*best = origin > *best ? origin : *best;
	}
	return count;
}

/* Keeps the frames of the best origin in the stack, and remembers the number of the result. */
uint32_t frag_own_stacks_number(struct frag_own_stacks *s, uint32_t stack,
				const struct frag_source_ops *source, void *state)
{
	uint32_t own = frag_map_get(&s->number, stack), count;
	enum frag_origin best;

	FRAG_ASSERT(stack && s->frames);
	if (own != FRAG_MAP_NONE)
		return own;
	own = 0;
	count = read_stack(s, stack, source, state, &best);
	for (uint32_t i = count; i-- > 0;) {
		const struct frag_frame *f = &s->frames[i];
		uint32_t frame;

		if (origin_of(f) != best)
			continue;
		frame = frag_stacks_frame(&s->table, f);
		own = frame ? frag_stacks_push(&s->table, frame, own) : 0;
		if (!own)
			return 0;
	}
	return frag_map_add(&s->number, stack, own) ? own : 0;
}
