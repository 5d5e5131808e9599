/* tag_numbers.c - who holds memory, of many traces: each tag once, with a number. */
#include "ranks/tag_numbers.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"

bool frag_owners_init(struct frag_owners *owners)
{
	*owners = (struct frag_owners){ .count = 0 };
	if (!frag_map_init(&owners->at, frag_hash_seed()))
		return false;
	pthread_mutex_init(&owners->lock, NULL);
	return true;
}

void frag_owners_fini(struct frag_owners *owners)
{
	for (uint32_t i = 0; i < owners->count; i++)
		free(owners->list[i].tag);
	free(owners->list);
	frag_map_fini(&owners->at);
	pthread_mutex_destroy(&owners->lock);
}

int frag_owner_order(const struct frag_owner *a, const struct frag_owner *b)
{
	if (a->tag && b->tag)
		return strcmp(a->tag, b->tag);
	if (a->tag || b->tag)
		return a->tag ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

static uint32_t tag_numbers_find(const struct frag_owners *owners, const struct frag_owner *one,
				 uint64_t key)
{
	uint32_t at = frag_map_home(&owners->at, key), number;

	do
		number = frag_map_next(&owners->at, key, &at);
	while (number != FRAG_MAP_NONE && frag_owner_order(&owners->list[number], one) != 0);
	return number;
}

static uint32_t tag_numbers_add(struct frag_owners *owners, const struct frag_owner *one,
				uint64_t key)
{
	if (!frag_grow(&owners->list, &owners->capacity, (uint64_t)owners->count + 1,
		       sizeof(*owners->list))
	    || !frag_map_add(&owners->at, key, owners->count))
		return FRAG_NO_OWNER;
	owners->list[owners->count] = *one;
	return owners->count++;
}

uint32_t frag_owners_number(struct frag_owners *owners, char *tag, uint64_t size)
{
	const struct frag_owner one = { .tag = tag, .size = tag ? 0 : size };
	const uint64_t key = tag ? frag_hash_text(tag, strlen(tag), owners->at.seed) : size;
	uint32_t number;

	pthread_mutex_lock(&owners->lock);
	number = tag_numbers_find(owners, &one, key);
	if (number == FRAG_MAP_NONE) {
		number = tag_numbers_add(owners, &one, key);
		tag = number == FRAG_NO_OWNER ? tag : NULL;
	}
	pthread_mutex_unlock(&owners->lock);
	free(tag);
	return number;
}
