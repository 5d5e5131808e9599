/* bfc_dump.c - the memory dump of a BFC allocator in a log: its chunks, summed up. */
#include "messages/bfc_dump.h"

#include <string.h>

#include "base/parse.h"

#define CHUNK_MOST 80           /* bytes from "Free at" to "of size" */

/* Phrases in its lines, and the value behind them; FRAG_SAID_ALL: the size of a chunk. */
static const struct {
	const char *words;
	enum frag_said said;
} dump_words[FRAG_BFC_DUMP_WORDS] = {
	{ "ofsize", FRAG_SAID_ALL }, { "InUse:", FRAG_SAID_ALLOCATED },
	{ "Limit:", FRAG_SAID_TOTAL }, { "memory_limit_:", FRAG_SAID_TOTAL },
	{ "total_region_allocated_bytes_:", FRAG_SAID_RESERVED },
	{ "Totalbytesinpool:", FRAG_SAID_RESERVED }, { "availablebytes:", FRAG_SAID_FREE },
	{ "Totalsizeinpool:", FRAG_SAID_RESERVED }, { "availablesize:", FRAG_SAID_FREE },
};

const char *frag_bfc_dump_word(size_t which)
{
	return dump_words[which].words;
}

void frag_bfc_dump_begin(struct frag_bfc_dump *dump)
{
	*dump = (struct frag_bfc_dump){ .rounded = false };
}

/* Does the line of a chunk begin so, before `at`? */
static bool line_has(const struct frag_stripped_text *in, size_t at, const char *words)
{
	const size_t length = strlen(words);

	for (size_t i = at; i > 0 && at - i < CHUNK_MOST && !in->begins[i]; i--)
		if (i >= length && memcmp(in->text + i - length, words, length) == 0)
			return true;
	return false;
}

/* "1 Chunks of size 256 totalling 256B" sums up what was listed: it is none. */
static void add_chunk(struct frag_bfc_dump *dump, const struct frag_stripped_text *in, size_t at,
		      uint64_t bytes)
{
	if (line_has(in, at, "Freeat")) {
		dump->free.count++;
		dump->free.bytes += bytes;
		if (bytes > dump->free.largest)
			dump->free.largest = bytes;
	} else if (line_has(in, at, "InUseat") || line_has(in, at, "Chunkat")) {
		dump->used_chunks++;
		dump->used_bytes += bytes;
	}
	/* values that no device can have are no dump */
	if (dump->free.bytes >= FRAG_SIZE_LIMIT || dump->used_bytes >= FRAG_SIZE_LIMIT)
		frag_bfc_dump_begin(dump);
}

/* A number of bytes, or a size with its unit, as newer versions print it. */
static struct frag_message_value dump_size(const struct frag_stripped_text *in, size_t at)
{
	struct frag_cursor c = frag_cursor_at(in, at), number = c;
	struct frag_message_value size = { .there = false };
	uint64_t bytes;

	if (!frag_match(&number, "%n", NULL, &bytes))
		return size;
	if (number.at < in->used && !in->begins[number.at] && strchr(".BKMGT", in->text[number.at])
	    && frag_match(&c, "%s", &size, NULL))
		return size;
	size.bytes = bytes;
	size.there = bytes < FRAG_SIZE_LIMIT;
	return size;
}

void frag_bfc_dump_line(struct frag_bfc_dump *dump, const struct frag_stripped_text *in, size_t at,
			size_t which)
{
	const struct frag_message_value size = dump_size(in, at + strlen(dump_words[which].words));
	const enum frag_said said = dump_words[which].said;

	if (!size.there)
		return;
	if (said == FRAG_SAID_ALL) {
		dump->rounded |= size.error > 0;
		add_chunk(dump, in, at, size.bytes);
	} else if (said != FRAG_SAID_ALLOCATED || !line_has(in, at + 1, "Max")) {
		dump->said[said] = size;
	}
}

static struct frag_message_value exact(uint64_t bytes, bool there)
{
	return (struct frag_message_value){ .bytes = there ? bytes : 0, .there = there };
}

void frag_bfc_dump_values(const struct frag_bfc_dump *dump, struct frag_message *m)
{
	const uint64_t all = dump->free.bytes + dump->used_bytes;
	const bool listed = dump->used_chunks && !dump->rounded && all < FRAG_SIZE_LIMIT;
	struct frag_message_value used = dump->said[FRAG_SAID_ALLOCATED];
	struct frag_message_value reserved = dump->said[FRAG_SAID_RESERVED];

	used = used.there ? used : exact(dump->used_bytes, listed);
	reserved = reserved.there ? reserved : exact(used.bytes + dump->free.bytes, listed);
	m->chunks = dump->free;
	frag_message_note(m, FRAG_SAID_TOTAL, dump->said[FRAG_SAID_TOTAL]);
	frag_message_note(m, FRAG_SAID_ALLOCATED, used);
	frag_message_note(m, FRAG_SAID_RESERVED, reserved);
	frag_message_note(m, FRAG_SAID_FREE, dump->said[FRAG_SAID_FREE]);
}
