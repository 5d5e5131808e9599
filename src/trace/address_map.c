/* address_map.c - allocations that a log names by address, as events with ids. */
#include "trace/address_map.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/format.h"
#include "base/array_grow.h"

#define NONE UINT32_MAX

bool frag_address_map_init(struct frag_address_map *l, struct frag_buffered *buffered)
{
	*l = (struct frag_address_map){ .buffered = buffered, .unused = NONE, .nowhere = NONE };
	return frag_map_init(&l->live, frag_hash_seed());
}

void frag_address_map_fini(struct frag_address_map *l)
{
	frag_map_fini(&l->live);
	free(l->entries);
	free(l->before);
}

/* The live entry of an address of a device, or NONE. */
static uint32_t address_map_find(const struct frag_address_map *l, uint64_t address,
				 uint32_t device)
{
	uint32_t at = frag_map_home(&l->live, address), i;

	while ((i = frag_map_next(&l->live, address, &at)) != FRAG_MAP_NONE)
		if (l->entries[i].device == device)
			return i;
	return NONE;
}

/* Likewise of those without an address; *link is what points to it. */
static uint32_t *find_nowhere(struct frag_address_map *l, uint32_t device)
{
	uint32_t *link = &l->nowhere;

	while (*link != NONE && l->entries[*link].device != device)
		link = &l->entries[*link].next;
	return link;
}

static uint32_t new_entry(struct frag_address_map *l)
{
	uint32_t i = l->unused;

	if (i != NONE) {
		l->unused = l->entries[i].next;
		return i;
	}
	if (!frag_grow(&l->entries, &l->capacity, (uint64_t)l->count + 1, sizeof(*l->entries)))
		return NONE;
	return l->count++;
}

static bool address_map_add_row(struct frag_address_map *l, const struct frag_row *like,
				enum frag_op op, uint64_t id)
{
	struct frag_row copy = *like, *row = frag_buffered_add(l->buffered);

	if (!row)
		return false;
	*row = copy;
	row->op = (uint8_t)op;
	row->id = id;
	if (op == FRAG_OP_FREE)
		row->size = row->text = 0;
	return true;
}

static void address_map_drop(struct frag_address_map *l, uint32_t i)
{
	FRAG_ASSERT(i < l->count);
	frag_map_remove(&l->live, l->entries[i].address, i);
	l->entries[i].next = l->unused;
	l->unused = i;
}

/*
 * An address that is used again must have been freed: a free that is missing
 * is made up right before. Ids count the allocs, as addresses return.
 */
bool frag_address_map_alloc(struct frag_address_map *l, uint64_t address,
			    const struct frag_row *row)
{
	uint32_t i = address ? address_map_find(l, address, row->device) : NONE;

	if (i != NONE) {
		l->missing++;
		if (!address_map_add_row(l, row, FRAG_OP_FREE, l->entries[i].id))
			return false;
		address_map_drop(l, i);
	}
	i = new_entry(l);
	if (i == NONE)
		return false;
	l->entries[i] = (struct frag_address_map_entry){
		.address = address, .device = row->device, .id = l->next_id++, .next = l->nowhere,
	};
	if (!address)
		l->nowhere = i;
	else if (!frag_map_add(&l->live, address, i))
		return false;
	return address_map_add_row(l, row, FRAG_OP_ALLOC, l->entries[i].id);
}

bool frag_address_map_before(struct frag_address_map *l, uint32_t device, uint64_t bytes)
{
	if (!frag_grow(&l->before, &l->before_capacity, (uint64_t)l->before_count + 1,
		       sizeof(*l->before)))
		return false;
	l->before[l->before_count++] = (struct frag_address_map_before){
		.id = l->next_id++, .size = bytes, .device = device,
	};
	return true;
}

/*
 * A free without an alloc is of a block from before the log, which
 * frag_address_map_end() allocates at the beginning: frag_address_map_before() gives it the
 * id that the row has just used. Null addresses are not distinguished, so the latest
 * one goes.
 */
bool frag_address_map_free(struct frag_address_map *l, uint64_t address, const struct frag_row *row)
{
	uint32_t i = address ? address_map_find(l, address, row->device) : NONE;

	if (!address) {
		uint32_t *link = find_nowhere(l, row->device);

		i = *link;
		if (i == NONE) {
			l->ignored++;
			return true;
		}
		*link = l->entries[i].next;
		l->entries[i].next = l->unused;
		l->unused = i;
		return address_map_add_row(l, row, FRAG_OP_FREE, l->entries[i].id);
	}
	if (i != NONE) {
		uint64_t id = l->entries[i].id;

		address_map_drop(l, i);
		return address_map_add_row(l, row, FRAG_OP_FREE, id);
	}
	l->early++;
	l->early_bytes += row->size;
	return address_map_add_row(l, row, FRAG_OP_FREE, l->next_id)
	       && frag_address_map_before(l, row->device, row->size);
}

/*
 * Allocations before the log are known only now; their rows are inserted before the first one
 * at once, with its time and place.
 */
bool frag_address_map_end(struct frag_address_map *l, uint8_t members, const struct frag_log *log)
{
	struct frag_buffered *h = l->buffered;

	struct frag_row first = { .members = 0 };

	if (h->count)
		first = h->rows[0];
	if (!frag_buffered_before(h, l->before_count))
		return false;
	for (uint32_t i = 0; i < l->before_count; i++)
		h->rows[i] = (struct frag_row){
			.op = FRAG_OP_ALLOC, .id = l->before[i].id, .size = l->before[i].size,
			.device = (uint16_t)l->before[i].device, .t = first.t, .place = first.place,
			.members = (uint8_t)(members | (first.members & FRAG_ROW_T)),
		};
	if (l->early)
		frag_note(log,
			  "%s: %" PRIu64 " free%s, %" PRIu64 " byte%s in all, of what was allocated"
			  " before the log: allocated at its beginning here",
			  h->path, l->early, frag_s(l->early), l->early_bytes,
			  frag_s(l->early_bytes));
	if (l->missing)
		frag_note(log, "%s: %" PRIu64 " free%s missing: the older block is freed here just"
			  " before its address is used again", h->path, l->missing,
			  frag_s(l->missing));
	if (l->ignored)
		frag_note(log, "%s: %" PRIu64 " free%s of the null address left out", h->path,
			  l->ignored, frag_s(l->ignored));
	return true;
}
