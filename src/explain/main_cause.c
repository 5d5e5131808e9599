/* main_cause.c - the kind of block that keeps most of the non-releasable memory reserved. */
#include "explain/main_cause.h"

const char *const frag_main_cause_names[] = {
	[FRAG_MAIN_NONE] = NULL, [FRAG_MAIN_LATE] = "born_late",
	[FRAG_MAIN_LEFT] = "left_behind", NULL,
};

/* Does the first move leave from this segment? */
static bool is_left_by_move(const struct frag_explained *m, const struct frag_blocked_segment *s)
{
	if (!m->move_count)
		return false;
	for (uint32_t i = 0; i < m->moves[0].from_count; i++)
		if (m->moves[0].from[i] == s->ordinal)
			return true;
	return false;
}

/* Long-lived blocks that came with their segment are nothing else than at home. */
static enum frag_main_cause role_of(const struct frag_blocked_segment *s,
				    const struct frag_blocking_block *blocking)
{
	/* its age is unknown */
	if (blocking->life == FRAG_LIFE_UNKNOWN && blocking->initial)
		return FRAG_MAIN_NONE;
	if (blocking->life != FRAG_LIFE_WEIGHTS && blocking->life != FRAG_LIFE_OPTIMIZER
	    && blocking->life != FRAG_LIFE_LONG)
		return FRAG_MAIN_LEFT;
	return !blocking->initial && blocking->allocated_at > s->obtained_by ? FRAG_MAIN_LATE
								     : FRAG_MAIN_NONE;
}

#define SMALL_SEGMENT (UINT64_C(2) << 20)

/*
 * Judges a large segment that is at least a quarter free: returns the class of blocks with most
 * of its live bytes.
 */
static enum frag_main_cause main_cause_of(const struct frag_blocked_segment *s, uint64_t *bytes)
{
	uint64_t of[FRAG_MAIN_LEFT + 1] = { 0 };
	enum frag_main_cause who = FRAG_MAIN_LEFT;

	if (s->range || s->bytes <= SMALL_SEGMENT || s->non_releasable < s->bytes / 4)
		return FRAG_MAIN_NONE;
	for (uint32_t i = 0; i < s->blocking_count; i++)
		of[role_of(s, &s->blocking[i])] += s->blocking[i].bytes;
	if (of[FRAG_MAIN_LATE] > of[FRAG_MAIN_LEFT])
		who = FRAG_MAIN_LATE;
	if (of[FRAG_MAIN_NONE] > of[who])
		return FRAG_MAIN_NONE;
	*bytes = of[who];
	return who;
}

/* The tag of the main cause's largest blocking block, where most is non-releasable. */
static const char *largest_tag(const struct frag_blocked_segment *s, enum frag_main_cause who)
{
	const struct frag_blocking_block *largest = NULL;

	for (uint32_t i = 0; i < s->blocking_count; i++)
		if (role_of(s, &s->blocking[i]) == who
		    && (!largest || s->blocking[i].bytes > largest->bytes))
			largest = &s->blocking[i];
	return largest ? largest->tag : NULL;
}

/*
 * Finds the main cause in the segments that the move leaves, or in all. Returns false if there
 * is none.
 */
static bool find_main_cause(struct frag_explained *m, bool of_move)
{
	uint64_t non_releasable[FRAG_MAIN_LEFT + 1] = { 0 }, bytes[FRAG_MAIN_LEFT + 1] = { 0 };
	const struct frag_blocked_segment *first[FRAG_MAIN_LEFT + 1] = { NULL };
	enum frag_main_cause who = FRAG_MAIN_LATE;

	for (uint32_t i = 0; i < m->segment_count; i++) {
		const struct frag_blocked_segment *s = &m->segments[i];
		uint64_t theirs = 0;
		const enum frag_main_cause main_cause = !of_move || is_left_by_move(m, s)
							  ? main_cause_of(s, &theirs)
							  : FRAG_MAIN_NONE;

		non_releasable[main_cause] += s->non_releasable;
		bytes[main_cause] += theirs;
		first[main_cause] = first[main_cause] ? first[main_cause] : s;
	}
	if (non_releasable[FRAG_MAIN_LEFT] > non_releasable[FRAG_MAIN_LATE])
		who = FRAG_MAIN_LEFT;
	if (!first[who])
		return false;
	m->main_cause = who;
	m->main_non_releasable = non_releasable[who];
	m->main_bytes = bytes[who];
	m->main_tag = largest_tag(first[who], who);
	return true;
}

void frag_main_cause_find(struct frag_explained *m)
{
	if (!find_main_cause(m, true))
		find_main_cause(m, false);
}
