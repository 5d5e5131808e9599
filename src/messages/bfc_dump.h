/* bfc_dump.h - the memory dump of a BFC allocator in a log: its chunks, summed up. */
#pragma once

#include "messages/match.h"

/* The chunks of a dump are a heap. Sums of the lines so far. */
struct frag_bfc_dump {
	struct frag_message_value said[FRAG_SAID_ALL];
	bool rounded;           /* sizes of chunks have units: they have no exact sum */
	uint64_t used_bytes, used_chunks;
	struct frag_free_chunks free;
};

/* Phrases in its lines, by their number. */
#define FRAG_BFC_DUMP_WORDS 9
const char *frag_bfc_dump_word(size_t which);

void frag_bfc_dump_begin(struct frag_bfc_dump *dump);

/* Reads the line that has the phrase `which` at `at`. */
void frag_bfc_dump_line(struct frag_bfc_dump *dump, const struct frag_stripped_text *in, size_t at,
			size_t which);

/* Adds the dump's values to a message. */
void frag_bfc_dump_values(const struct frag_bfc_dump *dump, struct frag_message *m);
