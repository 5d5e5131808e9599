/*
 * block_lifetimes.h - the life of every block as the trace alone gives it: ids to slots,
 * and what a freed block still waits for (fragsim-lines(5), Ops).
 */
#pragma once

#include "base/inline.h"
#include "events/id_map.h"

/* A block from its alloc until nothing waits for it any more. 64 bytes, what a free reads first. */
struct frag_life {
	struct frag_handle id;  /* text is owned */
	uint32_t device, tag;
	uint32_t recorded;      /* live: a list of its streams, or NO_SLOT; announced and the
				 * first of its id: the last one */
	uint32_t waits;         /* pending: number of streams that it waits for, plus its
				 * `complete` */
	uint32_t next;          /* announced: the next of this id; unused: the next unused */
	uint32_t stream;
	uint64_t birth, freed;  /* steps; freed once it is pending */
	uint64_t synced;        /* step that ended its last stream, or FRAG_NEVER */
};

/* A stream that a block waits for, or has recorded; a cell of a list. */
struct frag_life_cell {
	uint32_t what;          /* stream, or slot */
	uint32_t next;
};

/* Blocks that wait for one stream of one device, in the order of their free. */
struct frag_queue {
	uint32_t device;
	uint32_t head, tail;    /* cells */
	uint32_t prev_busy, next_busy;  /* other queues of the device that are not empty */
};

/*
 * Numeric ids usually count up, and most blocks are freed soon. So this cache has an entry for
 * the latest live block of each remainder, and consecutive ids are adjacent; a block that a new
 * id displaces moves to the seeded table of ids, the reference, which holds any id. Ids that an attacker chose, or pointers,
 * collide all the time: after too many collisions all ids go to the table.
 */
struct frag_id_cache {
	uint32_t *slots;        /* by id modulo their number, a power of two; NO_SLOT: none */
	uint32_t mask;
	uint32_t numbers;       /* live blocks whose id is one, also those in the table of ids */
	uint32_t meetings;      /* of late */
	bool     off;
	uint64_t highest;       /* id so far: a higher one is new */
};

struct frag_lives {
	struct frag_life *lives;
	uint32_t count, capacity, unused;
	struct frag_id_cache recent;
	struct frag_ids live;           /* id -> slot, of those that are not in `recent` */
	struct frag_ids announced;      /* id -> oldest slot pending on `complete` */
	struct frag_life_cell *cells;
	uint32_t cell_count, cell_capacity, unused_cell;
	struct frag_map recorded;       /* (slot, stream) */
	struct frag_queue *queues;
	uint32_t queue_count, queue_capacity;
	struct frag_map queue_of;       /* (device, stream) -> queue */
	uint32_t *busy, devices;        /* by device: first queue that is not empty */
	struct frag_ended *ended;       /* of this batch */
	uint32_t ended_count, ended_capacity;
};

bool frag_lives_init(struct frag_lives *l, uint32_t devices, uint64_t seed);
void frag_lives_fini(struct frag_lives *l);    /* calling it again is fine */

static inline struct frag_found frag_lives_find_in(const struct frag_lives *l,
						   const struct frag_ids *ids,
						   const struct frag_handle *id)
{
	uint32_t hash = frag_id_hash(ids, id), at = hash & ids->mask;

	for (;; at = (at + 1) & ids->mask) {
		struct frag_id_entry e = ids->entries[at];

		if (e.slot == NO_SLOT
		    || (e.hash == hash && frag_same_handle(&l->lives[e.slot].id, id)))
			return (struct frag_found){ .slot = e.slot, .hash = hash, .at = at };
	}
}

/* The slot of a live id. Inlined, as a call would take longer than most searches. */
FRAG_INLINE struct frag_found frag_lives_find(const struct frag_lives *l,
						const struct frag_handle *id)
{
	const struct frag_id_cache *r = &l->recent;

	if (!id->text && !r->off) {
		uint32_t slot = NO_SLOT;

		if (id->number <= r->highest)
			slot = r->slots[id->number & r->mask];
		if (slot != NO_SLOT && l->lives[slot].id.number != id->number)
			slot = NO_SLOT;
		if (slot != NO_SLOT || id->number > r->highest || !l->live.count)
			return (struct frag_found){ .slot = slot, .recent = true };
	}
	return frag_lives_find_in(l, &l->live, id);
}

/* The oldest block of this id that waits for its `complete`. */
static inline struct frag_found frag_lives_announced(const struct frag_lives *l,
						     const struct frag_handle *id)
{
	return frag_lives_find_in(l, &l->announced, id);
}

/* Are they more than the nearer caches hold? Else the hints below cost more than they save. */
static inline bool frag_lives_are_far(const struct frag_lives *l)
{
	return l->count > 8192;         /* half a megabyte */
}

/*
 * An event of this id comes soon: fetches what it will read first, and then,
 * nearer, by what the first one answers, what next.
 */
static inline uint32_t frag_lives_prefetch(const struct frag_lives *l, const struct frag_handle *id)
{
	uint32_t hash;

	if (!id->text && !l->recent.off) {
		__builtin_prefetch(&l->recent.slots[id->number & l->recent.mask]);
		return 0;
	}
	hash = frag_id_hash(&l->live, id);
	__builtin_prefetch(&l->live.entries[hash & l->live.mask]);
	return hash;
}

static inline void frag_lives_approach(const struct frag_lives *l, const struct frag_handle *id,
				       uint32_t hash)
{
	const struct frag_id_entry *entries = l->live.entries;
	uint32_t at = hash & l->live.mask, slot;

	if (!id->text && !l->recent.off) {
		slot = l->recent.slots[id->number & l->recent.mask];
	} else {
		while (entries[at].slot != NO_SLOT && entries[at].hash != hash)
			at = (at + 1) & l->live.mask;
		slot = entries[at].slot;
	}
	if (slot != NO_SLOT)
		__builtin_prefetch(&l->lives[slot]);
}

/* A new block, whose id was not found; NO_SLOT where the host is out of memory. */
uint32_t frag_lives_begin(struct frag_lives *l, const struct frag_handle *id,
			  struct frag_found found);

/* The block is also used on this stream. False: out of memory. */
bool frag_lives_record(struct frag_lives *l, uint32_t slot, uint32_t stream);

/*
 * The free of the live block that was found; *waits: it is pending now, else the
 * slot has ended. False: out of memory.
 */
bool frag_lives_free(struct frag_lives *l, struct frag_found found, uint64_t step, bool announced,
		     bool *waits);

/* The `complete` of the announced one; what ends by it is appended to l->ended. Likewise. */
bool frag_lives_complete(struct frag_lives *l, struct frag_found found);

/*
 * A stream of a device, or with FRAG_ALL all of either, is done. What ends by it is appended to
 * l->ended, in the order of the frees. Likewise.
 */
bool frag_lives_sync(struct frag_lives *l, uint32_t device, uint32_t stream, uint64_t step);
