/*
 * tag_numbers.h - who holds memory, of many traces: each tag once, with a number.
 *
 * Tags of different traces are the same where their text is. Blocks without a tag are told apart
 * by the size that was requested. Numbers depend on who came first, so no output may.
 */
#ifndef RANKS_TAG_NUMBERS_H
#define RANKS_TAG_NUMBERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct frag_owner {
	char *tag;              /* as JSON text with its quotes; NULL: none, but a size */
	uint64_t size;
};

struct frag_owners {
	struct frag_owner *list;
	uint32_t count, capacity;
	struct frag_map at;     /* hash -> number */
	pthread_mutex_t lock;
};

#define FRAG_NO_OWNER UINT32_MAX

/* False: memory is short, and there is nothing to release. */
bool frag_owners_init(struct frag_owners *owners);
void frag_owners_fini(struct frag_owners *owners);

/*
 * Its number, from any thread. The tag is theirs from here on, also where this fails; NULL: of
 * blocks of this size without one. FRAG_NO_OWNER: memory is short.
 */
uint32_t frag_owners_number(struct frag_owners *owners, char *tag, uint64_t size);

/* By text, then by size: an order that threads do not change. */
int frag_owner_order(const struct frag_owner *a, const struct frag_owner *b);

#endif
