/* names.h - names that users type: patterns, lists for messages, suggestions, old names. */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the pattern * is any characters, or none, and ? one byte; all else is itself. */
bool frag_glob_fits(const char *pattern, const char *text, size_t length);

struct frag_name_list {
	char text[256];         /* longer text is cut */
	size_t used;
	const char *last;       /* borrowed; added with its joint by the next call */
};

void frag_listed_add(struct frag_name_list *l, const char *name);

/* All that was added; before the last one of several is `joint`, as " or ". */
const char *frag_listed_text(struct frag_name_list *l, const char *joint);

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

/* Returns the name that version 1 had for a name of version 2, or NULL if the name is the same. */
const char *frag_old_name(const char *name);

/* Writes `path` with each part between dots ("peak.non_releasable") translated to version 2.
 * Cuts the result to fit. */
void frag_new_path(const char *path, char *out, size_t room);

#endif
