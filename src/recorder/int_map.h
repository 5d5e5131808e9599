/* int_map.h - a table from numbers to numbers. */
#ifndef RECORDER_INT_MAP_H
#define RECORDER_INT_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct frag_int_map {
	struct frag_number {
		uint64_t key, value;    /* value 0: free */
	} *at;
	uint32_t room;                  /* a power of two, or 0 */
	uint32_t count;
};

/* 0: it has none. */
uint64_t frag_numbers_get(const struct frag_int_map *t, uint64_t key);

/* value is not 0. False where there is out of memory. */
bool frag_numbers_put(struct frag_int_map *t, uint64_t key, uint64_t value);

void frag_numbers_del(struct frag_int_map *t, uint64_t key);
void frag_numbers_fini(struct frag_int_map *t);

#endif
