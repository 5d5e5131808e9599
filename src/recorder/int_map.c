/* int_map.c - a table from numbers to numbers: open addressing, at most half full. */
#include "recorder/int_map.h"

#include <stdlib.h>

static uint32_t home(const struct frag_int_map *t, uint64_t key)
{
	return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (t->room - 1);
}

/* Where the key is, or would be. */
static uint32_t find(const struct frag_int_map *t, uint64_t key)
{
	uint32_t i = home(t, key);

	while (t->at[i].value && t->at[i].key != key)
		i = (i + 1) & (t->room - 1);
	return i;
}

uint64_t frag_numbers_get(const struct frag_int_map *t, uint64_t key)
{
	return t->room ? t->at[find(t, key)].value : 0;
}

static bool grow(struct frag_int_map *t)
{
	struct frag_int_map larger = { .room = t->room ? 2 * t->room : 64, .count = t->count };

	larger.at = calloc(larger.room, sizeof(*larger.at));
	if (!larger.at)
		return false;
	for (uint32_t i = 0; i < t->room; i++)
		if (t->at[i].value)
			larger.at[find(&larger, t->at[i].key)] = t->at[i];
	free(t->at);
	*t = larger;
	return true;
}

bool frag_numbers_put(struct frag_int_map *t, uint64_t key, uint64_t value)
{
	uint32_t i;

	if (2 * (t->count + 1) > t->room && !grow(t))
		return false;
	i = find(t, key);
	t->count += t->at[i].value == 0;
	t->at[i] = (struct frag_number){ key, value };
	return true;
}

/* Those behind it that would no longer be found move up. */
void frag_numbers_del(struct frag_int_map *t, uint64_t key)
{
	const uint32_t mask = t->room - 1;
	uint32_t hole, i;

	if (!frag_numbers_get(t, key))
		return;
	hole = find(t, key);
	for (i = (hole + 1) & mask; t->at[i].value; i = (i + 1) & mask) {
		if (((i - home(t, t->at[i].key)) & mask) < ((i - hole) & mask))
			continue;
		t->at[hole] = t->at[i];
		hole = i;
	}
	t->at[hole].value = 0;
	t->count--;
}

void frag_numbers_fini(struct frag_int_map *t)
{
	free(t->at);
	*t = (struct frag_int_map){ .at = NULL };
}
