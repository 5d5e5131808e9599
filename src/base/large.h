/* large.h - memory for megabytes, with few page faults. */
#ifndef BASE_LARGE_H
#define BASE_LARGE_H

#include <stddef.h>

/*
 * At least *size bytes, and in *size how many there are; from 1 MiB on in huge
 * pages where the system has them, as each small one costs a fault. For free().
 */
void *frag_large_new(size_t *size);

#endif
