/* array_grow.h - arrays that grow by doubling, checked. */
#ifndef BASE_ARRAY_GROW_H
#define BASE_ARRAY_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Grows *array to at least `need` elements of `size` bytes; *capacity is the number of elements
 * that fit. Returns false when the host is out of memory or `need` exceeds 2^31, and then
 * leaves the array unchanged. The owner of the array frees it.
 */
static inline bool frag_grow(void *array, uint32_t *capacity, uint64_t need, size_t size);

/* The same for a caller that has already found the capacity too small. */
bool frag_grow_now(void *array, uint32_t *capacity, uint64_t need, size_t size);

/*
 * Replaces the borrowed *array by a copy of its first `used` elements that the caller owns,
 * with capacity for `spare` more. *array becomes NULL where both are 0. False: out of memory.
 */
bool frag_array_copy(void *array, uint64_t used, uint64_t spare, size_t size);

static inline bool frag_grow(void *array, uint32_t *capacity, uint64_t need, size_t size)
{
	return need <= *capacity || frag_grow_now(array, capacity, need, size);
}

/* Memory for megabytes, with few page faults. */
#define FRAG_LARGE ((size_t)1 << 20)

/*
 * At least *size bytes, and in *size how many there are; from FRAG_LARGE on in
 * huge pages where the system has them, as each small one costs a fault, and a walk
 * through its tables where memory is used at random. For free().
 */
void *frag_huge_alloc(size_t *size);

#endif
