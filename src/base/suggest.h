/* suggest.h - suggests the known name closest to a misspelt one. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <stddef.h>
#include <stdint.h>

#define FRAG_HINT_ROOM 96

struct frag_suggestion {
	const char *word;       /* as it was written; not ended by a NUL */
	size_t length;
	const char *best;       /* of the words offered; NULL: none is near enough */
	uint32_t distance;      /* its distance */
};

/*
 * Counts the letters to insert, delete, replace or swap with the next one to turn one word into
 * the other. Ignores case and the difference of - and _. Uses the first 63 letters of a longer
 * word.
 */
uint32_t frag_distance(const char *a, size_t a_length, const char *b, size_t b_length);

struct frag_suggestion frag_near_to(const char *word, size_t length);

/*
 * Near enough is a distance of a third of the word's letters, 3 at most, or a
 * word of 3 letters and more that the name only continues. Of two equally near
 * ones the first remains. The name is kept, not copied.
 */
void frag_near_offer(struct frag_suggestion *near, const char *name);

/* " did you mean BEFOREname?", or "" where nothing was near enough. Returns buf. */
const char *frag_near_hint(const struct frag_suggestion *near, const char *before,
			   char buf[FRAG_HINT_ROOM]);

#endif
