/* bfc_dump.h - parses the memory dump of a BFC allocator after an OOM: its chunks are a heap. */
#ifndef MESSAGES_BFC_DUMP_H
#define MESSAGES_BFC_DUMP_H

#include "messages/match.h"

/* Sums of the lines so far. A number that was not said is UINT64_MAX. */
struct frag_dump {
	uint64_t limit, in_use, regions, available;
	uint64_t used_bytes, used_chunks;
	struct frag_free_chunks free;
};

void frag_dump_begin(struct frag_dump *dump);

/* Words that its lines have, ended by NULL; and the line that has one of them at `at`. */
extern const char *const frag_dump_words[];
#define FRAG_DUMP_WORDS_MAX 8
void frag_dump_line(struct frag_dump *dump, const struct frag_stripped_text *in, size_t at,
		    int which);

/* The values that it adds to a message. */
void frag_dump_figures(const struct frag_dump *dump, struct frag_message *m);

#endif
