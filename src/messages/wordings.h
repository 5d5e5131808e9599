/* wordings.h - what out-of-memory messages say, wording by wording. */
#ifndef MESSAGES_WORDINGS_H
#define MESSAGES_WORDINGS_H

#include "messages/match.h"

/* Words that occur in every message of some wordings, and who reads what is around them. */
struct frag_cue {
	const char *words;      /* squeezed */
	unsigned rare;          /* the byte of them that is searched for */
	/* The words are at `at`. *end is where to go on. True: m is a message. */
	bool (*read)(const struct frag_squeeze *in, size_t at, struct frag_message *m, size_t *end);
};

/* Ended by one without words. */
extern const struct frag_cue frag_cues[];
#define FRAG_CUES_MAX 16

#endif
