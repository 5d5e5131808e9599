/* array_grow.h - arrays that grow by doubling, checked. */
#ifndef BASE_ARRAY_GROW_H
#define BASE_ARRAY_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Makes room for `need` elements of `size` bytes in *array, which has room for
 * *capacity. False where the host is out of memory or more than 2^31 elements are needed;
 * the array is then as it was. Who owns the array frees it.
 */
static inline bool frag_grow(void *array, uint32_t *capacity, uint64_t need, size_t size);

/* The same where it is known that there is not enough room. */
bool frag_grow_now(void *array, uint32_t *capacity, uint64_t need, size_t size);

/*
 * *array, borrowed until now, becomes an array of one's own: a copy of the first `used`
 * elements, with room for `spare` more. NULL where that is nothing, and where memory is
 * short: false.
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
