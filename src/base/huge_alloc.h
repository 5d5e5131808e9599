/* huge_alloc.h - memory for megabytes, with few page faults. */
#ifndef BASE_HUGE_ALLOC_H
#define BASE_HUGE_ALLOC_H

#include <stddef.h>

#define FRAG_LARGE ((size_t)1 << 20)

/*
 * At least *size bytes, and in *size how many there are; from FRAG_LARGE on in
 * huge pages where the system has them, as each small one costs a fault, and a walk
 * through its tables where memory is used at random. For free().
 */
void *frag_huge_alloc(size_t *size);

#endif
