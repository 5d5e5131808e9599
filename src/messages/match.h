/* match.h - patterns in text that was squeezed. */
#ifndef MESSAGES_MATCH_H
#define MESSAGES_MATCH_H

#include "messages/message.h"
#include "messages/strip_whitespace.h"

/* A place in a message that begins on some line. */
struct frag_cursor {
	const struct frag_stripped_text *in;
	size_t at;
	size_t head, body;      /* where that line begins, and where the message does */
	size_t passed;          /* the beginning of a line that was passed over */
};

struct frag_cursor frag_cursor_at(const struct frag_stripped_text *in, size_t at);

/*
 * Matches a pattern, and moves the cursor behind it. The pattern has no white space. %s is a
 * size with its unit, stored in *size; %n a number, %N one that the end of a line may cut; %w a
 * word and a number such as GPU0; %l letters. At the start of a line, prefixes of logs and
 * quotes are skipped.
 */
bool frag_match(struct frag_cursor *cursor, const char *pattern, struct frag_message_value *size,
		uint64_t *number);

/* Skips punctuation, as much as one message can contain. */
void frag_pass_marks(struct frag_cursor *cursor);

/* Phrases that occur in every message of some wordings, and the function that reads around
 * them. */
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
