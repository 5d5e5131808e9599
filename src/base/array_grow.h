/* array_grow.h - memory that grows: arrays, tables that never move, and streams. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Of a function that makes text which may be absent, or the number of one: it returns false on out
 * of memory, and passes text, number or none (NULL or 0) through its last parameter. So no caller
 * can take the one for the other, and the compiler reports a caller that does not look.
 */
#define FRAG_OR_NOMEM __attribute__((warn_unused_result)) bool

/* As frag_grow(), for a caller that has already found the capacity too small. */
bool frag_grow_now(void *array, uint32_t *capacity, uint64_t need, size_t size);

/*
 * Grows *array to at least `need` elements of `size` bytes; *capacity is the number of elements
 * that fit. Returns false when the host is out of memory or `need` exceeds 2^31, and then
 * leaves the array unchanged. The owner of the array frees it.
 */
static inline bool frag_grow(void *array, uint32_t *capacity, uint64_t need, size_t size)
{
	return need <= *capacity || frag_grow_now(array, capacity, need, size);
}

/* Makes space for element `at`; `array` and `capacity` are variables. False: as above. */
#define FRAG_GROW(array, capacity, at) \
	frag_grow(&(array), &(capacity), (uint64_t)(at) + 1, sizeof(*(array)))

/* Makes element `at` exist: all from *count on are zeroed. False: as above. */
bool frag_extend(void *array, uint32_t *capacity, uint32_t *count, uint32_t at, size_t size);
#define FRAG_EXTEND(array, capacity, count, at) \
	frag_extend(&(array), &(capacity), &(count), at, sizeof(*(array)))

/*
 * Sets `at`, a variable, to the number of elements that fulfil the condition, by halving. The
 * condition names element `at`, and is false for every element after the first that it is false for.
 */
#define FRAG_COUNT_WHILE(at, count, condition)                                 \
	do {                                                                   \
		uint32_t frag_low = 0, frag_high = (count);                    \
									       \
		while (frag_low < frag_high) {                                 \
			(at) = frag_low + (frag_high - frag_low) / 2;          \
			if (condition)                                         \
				frag_low = (at) + 1;                           \
			else                                                   \
				frag_high = (at);                              \
		}                                                              \
		(at) = frag_low;                                               \
	} while (0)

static inline uint64_t frag_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t frag_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t frag_gap_of(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* As qsort(), which must not get an array that is NULL, even of no elements. */
static inline void frag_sort(void *array, size_t count, size_t size,
			     int (*order)(const void *a, const void *b))
{
	if (count)
		qsort(array, count, size, order);
}
#define FRAG_SORT(array, count, order) frag_sort(array, count, sizeof(*(array)), order)

/* For qsort(): by a and b, and where these are equal by c and d. */
static inline int frag_order_two(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	return a != b ? (a < b ? -1 : 1) : c < d ? -1 : c > d;
}

/*
 * Replaces the borrowed *array by a copy of its first `used` elements that the caller owns,
 * with capacity for `spare` more. *array becomes NULL where both are 0. False: out of memory.
 */
bool frag_array_copy(void *array, uint64_t used, uint64_t spare, size_t size);

/* Memory for megabytes, with few page faults. */
#define FRAG_LARGE ((size_t)1 << 20)

/*
 * At least *size bytes, and in *size how many there are; from FRAG_LARGE on in
 * huge pages where the system has them, as each small one costs a fault, and a walk
 * through its tables where memory is used at random. For free().
 */
void *frag_huge_alloc(size_t *size);

/*
 * Copies to new memory what is freed next. huge: it is of frag_huge_alloc(), and is never in memory
 * twice, as what is copied is released, part by part.
 */
void frag_move(void *to, void *from, size_t bytes, bool huge);

#define FRAG_CHUNKS 26
#define FRAG_CHUNK_BITS 6       /* the first one has 2^6 elements */

/* Zeroed, it is empty. */
struct frag_chunks {
	char *chunk[FRAG_CHUNKS];
	uint32_t capacity;      /* elements */
};

/* Grows to at least `need` elements of `size` bytes, always the same size; new elements are not
 * set. False: out of memory. */
bool frag_chunks_grow(struct frag_chunks *c, uint64_t need, size_t size);
void frag_chunks_fini(struct frag_chunks *c);

/* Returns element i, which must be allocated. The highest bit of i + 2^6 selects the chunk. */
static inline void *frag_chunks_at(const struct frag_chunks *c, uint32_t i, size_t size)
{
	const uint32_t n = i + (1u << FRAG_CHUNK_BITS);
	const uint32_t k = 31 - (uint32_t)__builtin_clz(n);

	return c->chunk[k - FRAG_CHUNK_BITS] + (size_t)(n - (1u << k)) * size;
}

/* It stays at its address while the stream is open. */
struct frag_memory {
	FILE *f;                /* NULL: not open */
	char *text;             /* after the close: ends in a NUL, owned by the caller */
	size_t size;
	uint32_t capacity;
	bool failed;
};

/* False on out of memory. */
bool frag_memory_open(struct frag_memory *m);
/* The same; the text is NULL then. */
bool frag_memory_close(struct frag_memory *m);
