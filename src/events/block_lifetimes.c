/* block_lifetimes.c - ids to slots, and what a freed block still waits for. */
#include "events/block_lifetimes.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/format.h"
#include "base/array_grow.h"
#include "base/parse.h"

#define NONE UINT32_MAX
#define RECENT_FIRST 256
#define IDS_FIRST 64
#define RECENT_A_LIFE 4         /* places, at least */

/* Blocks found by what the trace calls them. */

static struct frag_id_entry *new_entries(uint64_t size)
{
	size_t bytes = (size_t)size * sizeof(struct frag_id_entry);
	struct frag_id_entry *entries = frag_huge_alloc(&bytes);

	FRAG_ASSERT(size && (size & (size - 1)) == 0);
	for (uint64_t i = 0; entries && i < size; i++)
		entries[i].slot = NO_SLOT;
	return entries;
}

static bool ids_init(struct frag_ids *ids, uint64_t seed)
{
	*ids = (struct frag_ids){
		.entries = new_entries(IDS_FIRST), .mask = IDS_FIRST - 1, .seed = seed,
	};
	return ids->entries != NULL;
}

const char *frag_show_id(const struct frag_handle *id, char buf[FRAG_ID_ROOM])
{
	if (id->text) {
		const size_t length = frag_text_cut(id->text, (size_t)id->number, 40);

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

bool frag_ids_add_wider(struct frag_ids *ids, struct frag_found found, uint32_t slot)
{
	struct frag_id_entry *old = ids->entries, *entries;
	const uint64_t size = (uint64_t)ids->mask + 1;

	entries = size > UINT32_MAX / 2 ? NULL : new_entries(size * 2);
	if (!entries)
		return false;
	ids->mask = (uint32_t)(size * 2 - 1);
	ids->entries = entries;
	for (uint64_t i = 0; i < size; i++)
		if (old[i].slot != NO_SLOT)
			id_map_place(ids, old[i]);
	free(old);
	id_map_place(ids, (struct frag_id_entry){ .hash = found.hash, .slot = slot });
	ids->count++;
	return true;
}

/* The id that was found. */
static void ids_remove(struct frag_ids *ids, struct frag_found found)
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
	char *text;

	if (id->text)
		return frag_new_json(id->text, (size_t)id->number);
	text = malloc(FRAG_NUMBER_ROOM);
	if (text)
		*frag_put_u64(text, id->number) = '\0';
	return text;
}

/* Their lives. */

/* Grows the cache to `size` entries; entries that were distinct stay distinct. */
static bool widen_recent(struct frag_lives *l, uint64_t size)
{
	struct frag_id_cache *r = &l->recent;
	size_t bytes = (size_t)size * sizeof(*r->slots);
	uint32_t *slots = size > UINT32_MAX ? NULL : frag_huge_alloc(&bytes);

	FRAG_ASSERT(size && (size & (size - 1)) == 0);
	if (!slots)
		return false;
	memset(slots, 0xff, (size_t)size * sizeof(*slots));     /* NO_SLOT */
	for (uint64_t i = 0; r->slots && i <= r->mask; i++)
		if (r->slots[i] != NO_SLOT)
			slots[l->lives[r->slots[i]].id.number & (size - 1)] = r->slots[i];
	free(r->slots);
	r->slots = slots;
	r->mask = (uint32_t)(size - 1);
	return true;
}

static bool add_to_table(struct frag_lives *l, const struct frag_handle *id, uint32_t slot)
{
	return frag_ids_add(&l->live, frag_lives_find_in(l, &l->live, id), slot);
}

/* Moves all ids into the table permanently. */
static bool give_up_recent(struct frag_lives *l)
{
	struct frag_id_cache *r = &l->recent;

	for (uint64_t i = 0; i <= r->mask; i++) {
		if (r->slots[i] != NO_SLOT
		    && !add_to_table(l, &l->lives[r->slots[i]].id, r->slots[i]))
			return false;
		r->slots[i] = NO_SLOT;
	}
	free(r->slots);
	r->slots = NULL;
	r->off = true;
	return true;
}

/* The cache entry of a new number is taken: moves the id in it to the table of ids. */
static bool make_way(struct frag_lives *l, uint32_t *place)
{
	struct frag_id_cache *r = &l->recent;

	FRAG_ASSERT(*place < l->count);
	/* blocks that stay are met one after the other, but they are few for the places */
	if (++r->meetings > r->mask / 2)
		return give_up_recent(l);
	if (!add_to_table(l, &l->lives[*place].id, *place))
		return false;
	*place = NO_SLOT;
	return true;
}

/*
 * The new id of a slot, whose life does not have it yet. False: out of memory, and the id
 * is nowhere.
 */
static inline bool block_lifetimes_enter(struct frag_lives *l, const struct frag_handle *id,
					 struct frag_found found, uint32_t slot)
{
	struct frag_id_cache *r = &l->recent;
	uint32_t *place;

	if (id->text)
		return frag_ids_add(&l->live, found, slot);
	if (!r->off && r->numbers >= r->mask / RECENT_A_LIFE
	    && !widen_recent(l, 2 * ((uint64_t)r->mask + 1)))
		return false;
	if (!r->off) {
		place = &r->slots[id->number & r->mask];
		if (*place == NO_SLOT)
			r->meetings -= r->meetings > 0;
		else if (!make_way(l, place))
			return false;
	}
	if (r->off && !add_to_table(l, id, slot))
		return false;
	if (!r->off)
		r->slots[id->number & r->mask] = slot;
	r->highest = id->number > r->highest ? id->number : r->highest;
	r->numbers++;
	return true;
}

static inline void block_lifetimes_leave(struct frag_lives *l, struct frag_found found)
{
	const struct frag_handle *id = &l->lives[found.slot].id;
	struct frag_id_cache *r = &l->recent;

	FRAG_ASSERT(found.slot < l->count && (id->text || r->numbers));
	r->numbers -= !id->text;
	if (found.recent)
		r->slots[id->number & r->mask] = NO_SLOT;
	else
		ids_remove(&l->live, found);
}

bool frag_lives_init(struct frag_lives *l, uint32_t devices, uint64_t seed)
{
	FRAG_ASSERT(devices);
	*l = (struct frag_lives){ .unused = NONE, .unused_cell = NONE, .devices = devices };
	l->busy = malloc(devices * sizeof(*l->busy));
	for (uint32_t d = 0; l->busy && d < devices; d++)
		l->busy[d] = NONE;
	return l->busy && widen_recent(l, RECENT_FIRST)
	       && ids_init(&l->live, seed) && ids_init(&l->announced, seed)
	       && frag_map_init(&l->recorded, seed) && frag_map_init(&l->queue_of, seed);
}

static char *owned_text(struct frag_life *life)
{
	return (char *)(uintptr_t)life->id.text;
}

void frag_lives_fini(struct frag_lives *l)
{
	for (uint32_t i = 0; i < l->count; i++)
		free(owned_text(&l->lives[i]));
	free(l->lives);
	free(l->recent.slots);
	free(l->cells);
	free(l->queues);
	free(l->busy);
	free(l->ended);
	free(l->live.entries);
	free(l->announced.entries);
	frag_map_fini(&l->recorded);
	frag_map_fini(&l->queue_of);
	*l = (struct frag_lives){ .lives = NULL };
}

/*
 * What can fail comes first and the slot is taken last, so that a lack of memory
 * leaves ids and slots as they were.
 */
uint32_t frag_lives_begin(struct frag_lives *l, const struct frag_handle *id,
			  struct frag_found found)
{
	uint32_t slot = l->unused;
	char *text = id->text ? malloc((size_t)id->number + 1) : NULL;

	if (text)
		memcpy(text, id->text, (size_t)id->number);
	if ((id->text && !text) || (slot == NONE && !FRAG_GROW(l->lives, l->capacity, l->count))
	    || !block_lifetimes_enter(l, id, found, slot == NONE ? l->count : slot)) {
		free(text);
		return NO_SLOT;
	}
	if (slot == NONE)
		slot = l->count++;
	else
		l->unused = l->lives[slot].next;
	l->lives[slot] = (struct frag_life){
		.id = { .text = text, .number = id->number },
		.recorded = NONE, .next = NONE, .synced = FRAG_NEVER,
	};
	return slot;
}

/* Nothing waits for it any more: the slot may be used again. */
static void recycle(struct frag_lives *l, uint32_t slot)
{
	struct frag_life *life;

	FRAG_ASSERT(slot < l->count);
	life = &l->lives[slot];
	if (life->id.text)
		free(owned_text(life));
	life->id.text = NULL;
	life->next = l->unused;
	l->unused = slot;
}

static uint32_t new_cell(struct frag_lives *l, uint32_t what)
{
	uint32_t c = l->unused_cell;

	if (c != NONE) {
		l->unused_cell = l->cells[c].next;
	} else {
		if (!FRAG_GROW(l->cells, l->cell_capacity, l->cell_count))
			return NONE;
		c = l->cell_count++;
	}
	l->cells[c] = (struct frag_life_cell){ .what = what, .next = NONE };
	return c;
}

static uint64_t pair(uint32_t a, uint32_t b)
{
	return (uint64_t)a << 32 | b;
}

bool frag_lives_record(struct frag_lives *l, uint32_t slot, uint32_t stream)
{
	struct frag_life *life;
	uint32_t c;

	FRAG_ASSERT(slot < l->count);
	life = &l->lives[slot];
	if (stream == life->stream
	    || frag_map_get(&l->recorded, pair(slot, stream)) != FRAG_MAP_NONE)
		return true;
	c = new_cell(l, stream);
	if (c == NONE || !frag_map_add(&l->recorded, pair(slot, stream), 0))
		return false;
	l->cells[c].next = life->recorded;
	life->recorded = c;
	return true;
}

/* The queue of a stream of a device, made when new; NONE where the host is out of memory. */
static uint32_t queue_of(struct frag_lives *l, uint32_t device, uint32_t stream)
{
	uint32_t q = frag_map_get(&l->queue_of, pair(device, stream));

	if (q != FRAG_MAP_NONE)
		return q;
	if (!FRAG_GROW(l->queues, l->queue_capacity, l->queue_count)
	    || !frag_map_add(&l->queue_of, pair(device, stream), l->queue_count))
		return NONE;
	l->queues[l->queue_count] = (struct frag_queue){
		.device = device, .head = NONE, .tail = NONE,
	};
	return l->queue_count++;
}

static void enqueue(struct frag_lives *l, uint32_t q, uint32_t cell)
{
	struct frag_queue *queue = &l->queues[q];
	uint32_t *busy = &l->busy[queue->device];

	FRAG_ASSERT(cell < l->cell_count);
	if (queue->head == NONE) {
		queue->head = cell;
		queue->prev_busy = NONE;
		queue->next_busy = *busy;
		if (*busy != NONE)
			l->queues[*busy].prev_busy = q;
		*busy = q;
	} else {
		l->cells[queue->tail].next = cell;
	}
	queue->tail = cell;
}

/* The recorded streams of a block become what it waits for. */
static bool wait_for_streams(struct frag_lives *l, uint32_t slot)
{
	struct frag_life *life;

	FRAG_ASSERT(slot < l->count);
	life = &l->lives[slot];
	while (life->recorded != NONE) {
		uint32_t c = life->recorded;
		uint32_t stream = l->cells[c].what;
		uint32_t q = queue_of(l, life->device, stream);

		if (q == NONE)
			return false;
		frag_map_remove(&l->recorded, pair(slot, stream), 0);
		life->recorded = l->cells[c].next;
		l->cells[c] = (struct frag_life_cell){ .what = slot, .next = NONE };
		enqueue(l, q, c);
		life->waits++;
	}
	return true;
}

/* Appends to the queue of this id's blocks that wait for a `complete`. */
static bool announce(struct frag_lives *l, uint32_t slot)
{
	struct frag_found first;

	FRAG_ASSERT(slot < l->count);
	first = frag_lives_announced(l, &l->lives[slot].id);
	l->lives[slot].waits++;
	l->lives[slot].next = NONE;
	if (first.slot == NO_SLOT) {
		l->lives[slot].recorded = slot;
		return frag_ids_add(&l->announced, first, slot);
	}
	l->lives[l->lives[first.slot].recorded].next = slot;
	l->lives[first.slot].recorded = slot;
	return true;
}

bool frag_lives_free(struct frag_lives *l, struct frag_found found, uint64_t step, bool announced,
		     bool *waits)
{
	const uint32_t slot = found.slot;
	struct frag_life *life;

	FRAG_ASSERT(slot < l->count && !l->lives[slot].waits);
	life = &l->lives[slot];
	block_lifetimes_leave(l, found);
	life->freed = step;
	if (life->recorded != NONE && !wait_for_streams(l, slot))
		return false;
	if (announced && !announce(l, slot))
		return false;
	*waits = life->waits != 0;
	if (!*waits)
		recycle(l, slot);
	return true;
}

static bool block_lifetimes_end(struct frag_lives *l, uint32_t slot)
{
	FRAG_ASSERT(slot < l->count);
	if (!FRAG_GROW(l->ended, l->ended_capacity, l->ended_count))
		return false;
	l->ended[l->ended_count++] = (struct frag_ended){
		.slot = slot, .synced = l->lives[slot].synced,
	};
	return true;
}

bool frag_lives_complete(struct frag_lives *l, struct frag_found found)
{
	struct frag_life *life = &l->lives[found.slot];

	FRAG_ASSERT(found.slot < l->count && life->waits);
	if (life->next == NONE) {
		ids_remove(&l->announced, found);
	} else {
		l->lives[life->next].recorded = life->recorded;
		l->announced.entries[found.at].slot = life->next;
	}
	if (--life->waits)
		return true;
	if (!block_lifetimes_end(l, found.slot))
		return false;
	recycle(l, found.slot);
	return true;
}

/* Empties one queue. The slots are unchanged until block_lifetimes_order() recycles them. */
static bool block_lifetimes_drain(struct frag_lives *l, uint32_t q, uint64_t step)
{
	struct frag_queue *queue = &l->queues[q];

	while (queue->head != NONE) {
		uint32_t c = queue->head;
		struct frag_life *life = &l->lives[l->cells[c].what];

		life->synced = step;
		if (--life->waits == 0 && !block_lifetimes_end(l, l->cells[c].what))
			return false;
		queue->head = l->cells[c].next;
		l->cells[c].next = l->unused_cell;
		l->unused_cell = c;
	}
	if (queue->prev_busy == NONE)
		l->busy[queue->device] = queue->next_busy;
	else
		l->queues[queue->prev_busy].next_busy = queue->next_busy;
	if (queue->next_busy != NONE)
		l->queues[queue->next_busy].prev_busy = queue->prev_busy;
	return true;
}

struct turn {
	uint64_t freed;
	struct frag_ended ended;
};

static int block_lifetimes_by_free(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	return x->freed < y->freed ? -1 : x->freed > y->freed;
}

/*
 * What a sync ended, from ended[first] on. It ends blocks queue by queue, but they become reusable
 * in the order of their frees (fragsim-lines(5)). A step frees one block at most, so the order has
 * no ties. Slots are recycled only here, as a block may wait in several queues.
 */
static bool block_lifetimes_order(struct frag_lives *l, uint32_t first)
{
	const uint32_t count = l->ended_count - first;
	struct turn *turns = count > 1 ? malloc(count * sizeof(*turns)) : NULL;

	FRAG_ASSERT(first <= l->ended_count);
	if (count > 1 && !turns)
		return false;
	for (uint32_t i = 0; i < count && turns; i++)
		turns[i] = (struct turn){
			.freed = l->lives[l->ended[first + i].slot].freed,
			.ended = l->ended[first + i],
		};
	if (turns)
		FRAG_SORT(turns, count, block_lifetimes_by_free);
	for (uint32_t i = 0; i < count; i++) {
		if (turns)
			l->ended[first + i] = turns[i].ended;
		recycle(l, l->ended[first + i].slot);
	}
	free(turns);
	return true;
}

bool frag_lives_sync(struct frag_lives *l, uint32_t device, uint32_t stream, uint64_t step)
{
	const uint32_t first = l->ended_count, last = device == FRAG_ALL ? l->devices - 1 : device;

	for (uint32_t d = device == FRAG_ALL ? 0 : device; d <= last; d++) {
		uint32_t q;

		while (stream == FRAG_ALL && l->busy[d] != NONE)
			if (!block_lifetimes_drain(l, l->busy[d], step))
				return false;
		q = frag_map_get(&l->queue_of, pair(d, stream));
		if (q != FRAG_MAP_NONE && l->queues[q].head != NONE
		    && !block_lifetimes_drain(l, q, step))
			return false;
	}
	return block_lifetimes_order(l, first);
}
