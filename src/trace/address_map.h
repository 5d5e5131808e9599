/*
 * address_map.h - allocations that a log names by address, as events with ids.
 *
 * Addresses are reused, and a log may begin late or have gaps. So each allocation gets its own
 * number as its id: the order of its first event in the log. A free without an allocation gets
 * an allocation before its first event; an allocation at an address in use gets the missing
 * free before it.
 */
#ifndef TRACE_ADDRESS_MAP_H
#define TRACE_ADDRESS_MAP_H

#include "trace/event_buffer.h"

struct frag_address_map_entry {
	uint64_t address;
	uint64_t id;
	uint32_t device;
	uint32_t next;          /* unused entries; live ones of no address */
};

struct frag_address_map_before {
	uint64_t id, size;
	uint32_t device;
};

struct frag_address_map {
	struct frag_buffered *buffered; /* where the rows go; borrowed */
	struct frag_map live;           /* address -> entry */
	struct frag_address_map_entry *entries;
	uint32_t count, capacity, unused;
	uint32_t nowhere;               /* live blocks of address 0, a list */
	uint64_t next_id;
	struct frag_address_map_before *before;
	uint32_t before_count, before_capacity;
	uint64_t early;         /* frees of what was allocated before the log */
	uint64_t early_bytes;
	uint64_t missing;       /* frees that the log does not have */
	uint64_t ignored;       /* frees of the address 0 that are of nothing */
};

bool frag_address_map_init(struct frag_address_map *l, struct frag_buffered *buffered);
void frag_address_map_fini(struct frag_address_map *l);

/* Add rows like the one given, whose id they set. False where the host is out of memory. */
bool frag_address_map_alloc(struct frag_address_map *l, uint64_t address,
			    const struct frag_row *row);
bool frag_address_map_free(struct frag_address_map *l, uint64_t address,
			   const struct frag_row *row);

/* Bytes that were live before the log and that it does not mention. */
bool frag_address_map_before(struct frag_address_map *l, uint32_t device, uint64_t bytes);

/* Inserts the events that precede the log, and adds the notes. False: out of memory. */
bool frag_address_map_end(struct frag_address_map *l, uint8_t members, const struct frag_log *log);

#endif
