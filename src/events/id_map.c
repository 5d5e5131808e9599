/* id_map.c - blocks found by what the trace calls them. */
#include "events/id_map.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/format.h"
#include "base/array_grow.h"

#define FIRST_SIZE 64

static struct frag_id_entry *new_entries(uint64_t size)
{
	size_t bytes = (size_t)size * sizeof(struct frag_id_entry);
	struct frag_id_entry *entries = frag_huge_alloc(&bytes);

	FRAG_ASSERT(size && (size & (size - 1)) == 0);
	for (uint64_t i = 0; entries && i < size; i++)
		entries[i].slot = NO_SLOT;
	return entries;
}

bool frag_ids_init(struct frag_ids *ids, uint64_t seed)
{
	*ids = (struct frag_ids){
		.entries = new_entries(FIRST_SIZE), .mask = FIRST_SIZE - 1, .seed = seed,
	};
	return ids->entries != NULL;
}

void frag_ids_fini(struct frag_ids *ids)
{
	free(ids->entries);
	ids->entries = NULL;
}

const char *frag_show_id(const struct frag_handle *id, char buf[FRAG_ID_ROOM])
{
	if (id->text) {
		size_t length = id->number < 40 ? (size_t)id->number : 40;

		/* not in the middle of a character */
		while (length < id->number && length > 0
		       && ((unsigned char)id->text[length] & 0xc0) == 0x80)
			length--;
		*frag_put_json(buf, id->text, length) = '\0';
	} else {
		*frag_put_u64(buf, id->number) = '\0';
	}
	return buf;
}

static void id_map_place(struct frag_ids *ids, struct frag_id_entry entry)
{
	uint32_t at = entry.hash & ids->mask;

	FRAG_ASSERT(ids->entries && entry.slot != NO_SLOT);
	while (ids->entries[at].slot != NO_SLOT)
		at = (at + 1) & ids->mask;
	ids->entries[at] = entry;
}

static bool id_map_widen(struct frag_ids *ids)
{
	const struct frag_id_entry *old = ids->entries;
	const uint64_t size = (uint64_t)ids->mask + 1;
	struct frag_id_entry *entries = size > UINT32_MAX / 2 ? NULL : new_entries(size * 2);

	if (!entries)
		return false;
	ids->mask = (uint32_t)(size * 2 - 1);
	ids->entries = entries;
	for (uint64_t i = 0; i < size; i++)
		if (old[i].slot != NO_SLOT)
			id_map_place(ids, old[i]);
	free((void *)(uintptr_t)old);
	return true;
}

bool frag_ids_add_wider(struct frag_ids *ids, struct frag_found found, uint32_t slot)
{
	const struct frag_id_entry entry = { .hash = found.hash, .slot = slot };

	if (!id_map_widen(ids))
		return false;
	id_map_place(ids, entry);
	ids->count++;
	return true;
}

void frag_ids_remove(struct frag_ids *ids, struct frag_found found)
{
	const uint32_t mask = ids->mask;
	uint32_t hole = found.at;

	FRAG_ASSERT(found.slot != NO_SLOT && ids->entries[found.at].slot == found.slot);
	/* close the gap: an entry may move back as far as its home */
	for (uint32_t i = (hole + 1) & mask; ids->entries[i].slot != NO_SLOT; i = (i + 1) & mask)
		if (((i - ids->entries[i].hash) & mask) >= ((i - hole) & mask)) {
			ids->entries[hole] = ids->entries[i];
			hole = i;
		}
	ids->entries[hole].slot = NO_SLOT;
	ids->count--;
}

char *frag_id_json(const struct frag_handle *id)
{
	char *text = malloc(id->text ? (size_t)id->number * 6 + 3 : FRAG_NUMBER_ROOM);

	if (text && id->text)
		*frag_put_json(text, id->text, (size_t)id->number) = '\0';
	else if (text)
		*frag_put_u64(text, id->number) = '\0';
	return text;
}
