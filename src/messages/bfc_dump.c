/* bfc_dump.c - parses the memory dump of a BFC allocator after an OOM. */
#include "messages/bfc_dump.h"

#include <string.h>

#define NONE UINT64_MAX
#define CHUNK_MOST 80           /* bytes from "Free at" to "of size" */
#define BYTES_MAX ((UINT64_C(1) << 53) - 1)

enum { OF_SIZE, LIMIT, IN_USE, MEMORY_LIMIT, REGIONS, POOL_BYTES, AVAILABLE };

const char *const frag_dump_words[] = {
	[OF_SIZE] = "ofsize", [LIMIT] = "Limit:", [IN_USE] = "InUse:",
	[MEMORY_LIMIT] = "memory_limit_:", [REGIONS] = "total_region_allocated_bytes_:",
	[POOL_BYTES] = "Totalbytesinpool:", [AVAILABLE] = "availablebytes:",
	NULL
};

void frag_dump_begin(struct frag_dump *dump)
{
	*dump = (struct frag_dump){ .limit = NONE, .in_use = NONE, .regions = NONE,
				    .available = NONE };
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
static void add_chunk(struct frag_dump *dump, const struct frag_stripped_text *in, size_t at,
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
	if (dump->free.bytes > BYTES_MAX || dump->used_bytes > BYTES_MAX)
		frag_dump_begin(dump);
}

void frag_dump_line(struct frag_dump *dump, const struct frag_stripped_text *in, size_t at,
		    int which)
{
	struct frag_cursor c = frag_cursor_at(in, at);
	uint64_t bytes;

	c.at += strlen(frag_dump_words[which]);
	if (!frag_match(&c, "%n", NULL, &bytes) || bytes > BYTES_MAX)
		return;
	if (which == OF_SIZE)
		add_chunk(dump, in, at, bytes);
	else if (which == LIMIT || which == MEMORY_LIMIT)
		dump->limit = bytes;
	else if (which == IN_USE && !line_has(in, at + 1, "Max"))
		dump->in_use = bytes;
	else if (which == REGIONS || which == POOL_BYTES)
		dump->regions = bytes;
	else if (which == AVAILABLE)
		dump->available = bytes;
}

static void set(struct frag_message *m, enum frag_said which, bool there, uint64_t bytes)
{
	if (there)
		m->said[which] = (struct frag_message_value){ .bytes = bytes, .there = true };
}

void frag_dump_figures(const struct frag_dump *dump, struct frag_message *m)
{
	const bool listed = dump->used_chunks && dump->free.bytes + dump->used_bytes <= BYTES_MAX;
	const uint64_t used = dump->in_use != NONE ? dump->in_use : dump->used_bytes;
	const uint64_t all = used + dump->free.bytes;

	m->chunks = dump->free;
	set(m, FRAG_SAID_TOTAL, dump->limit != NONE, dump->limit);
	set(m, FRAG_SAID_ALLOCATED, dump->in_use != NONE || listed, used);
	set(m, FRAG_SAID_RESERVED, dump->regions != NONE || listed,
	    dump->regions != NONE ? dump->regions : all);
	set(m, FRAG_SAID_FREE, dump->available != NONE, dump->available);
}
