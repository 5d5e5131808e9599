/* patterns.h - what out-of-memory messages say, wording by wording. */
#ifndef MESSAGES_PATTERNS_H
#define MESSAGES_PATTERNS_H

#include "messages/match.h"

/* Words that occur in every message of some wordings, and who reads what is around them. */
struct frag_pattern_anchor {
	const char *words;      /* squeezed */
	unsigned rare;          /* the byte of them that is searched for */
	/* The words are at `at`. *end is where to go on. True: m is a message. */
	bool (*read)(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		     size_t *end);
};

/* Ended by one without words. */
extern const struct frag_pattern_anchor frag_cues[];
#define FRAG_CUES_MAX 16

#endif
