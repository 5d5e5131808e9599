/*
 * id_map.h - blocks found by what the trace calls them.
 *
 * Open addressing; an entry is 8 bytes, a hash and a slot, so that the table of
 * all live blocks stays in a cache as long as it can. Whether the id is the same
 * is seen in the block's life, which the event needs anyway. The table is at most
 * half full: an id that is not there is found out in two or three entries.
 */
#pragma once

#include <string.h>

#include "base/bug.h"
#include "base/hash.h"
#include "fragsim/trace.h"

#define NO_SLOT UINT32_MAX

struct frag_life;

struct frag_id_entry {
	uint32_t hash, slot;    /* NO_SLOT: empty */
};

struct frag_ids {
	struct frag_id_entry *entries;  /* a power of two */
	uint32_t mask, count;
	uint64_t seed;
};

/* Where an id is, or would go; until the table changes. */
struct frag_found {
	uint32_t slot;          /* NO_SLOT: it is not there */
	uint32_t hash, at;
	bool     recent;        /* it is not, or need not be, in the table: see lives.h */
};

/* The table is half full: into one of twice the size. */
bool frag_ids_add_wider(struct frag_ids *ids, struct frag_found found, uint32_t slot);

/* The id that was not found; false where the host is out of memory. */
static inline bool frag_ids_add(struct frag_ids *ids, struct frag_found found, uint32_t slot)
{
	FRAG_ASSERT(found.slot == NO_SLOT && ids->entries[found.at].slot == NO_SLOT);
	if (ids->count >= ids->mask / 2)
		return frag_ids_add_wider(ids, found, slot);
	ids->count++;
	ids->entries[found.at] = (struct frag_id_entry){ .hash = found.hash, .slot = slot };
	return true;
}

static inline uint32_t frag_id_hash(const struct frag_ids *ids, const struct frag_handle *id)
{
	return id->text ? (uint32_t)frag_hash_text(id->text, (size_t)id->number, ids->seed)
			: (uint32_t)frag_hash_key(id->number, ids->seed);
}

/* An id as a message shows it: 7, "text", at most about 40 bytes of it. */
#define FRAG_ID_ROOM 300
const char *frag_show_id(const struct frag_handle *id, char buf[FRAG_ID_ROOM]);

/* All of it as JSON, for the caller to free; NULL: out of memory. */
char *frag_id_json(const struct frag_handle *id);

static inline bool frag_same_handle(const struct frag_handle *a, const struct frag_handle *b)
{
	if (a->number != b->number || !a->text != !b->text)
		return false;
	return !a->text || memcmp(a->text, b->text, (size_t)a->number) == 0;
}
